"""Prints the tests that took longest, from the file that `ctest --output-junit` writes."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree

SHOWN = 8


def main() -> None:
    cases = ElementTree.parse(sys.argv[1]).iter("testcase")
    times = sorted(((float(case.get("time", "0")), case.get("name", "")) for case in cases), reverse=True)
    for seconds, name in times[:SHOWN]:
        print(f"{seconds:7.1f} s  {name.split('  # ')[0]}")


if __name__ == "__main__":
    main()
