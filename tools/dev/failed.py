"""Prints the tests that failed and how each ended, from JUnit files of ctest and pytest, as far as they are there."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

LINES = 6  # of each test, its last ones


def how_it_ended(case: ElementTree.Element) -> str | None:
    """What a failed test said; None of one that passed or was skipped."""
    for kind in ("failure", "error"):
        if (said := case.find(kind)) is not None:
            return said.text or case.findtext("system-out") or said.get("message", "")
    return None


def main() -> None:
    for path in map(Path, sys.argv[1:]):
        if not path.exists():
            continue
        for case in ElementTree.parse(path).iter("testcase"):
            said = how_it_ended(case)
            if said is None:
                continue
            print(f"failed: {case.get('classname', '')} {case.get('name', '').split('  # ')[0]}  ({path})")
            for line in said.strip().splitlines()[-LINES:]:
                print(f"    {line}")


if __name__ == "__main__":
    main()
