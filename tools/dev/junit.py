"""The JUnit files of ctest, pytest, ./dev matrix and ./dev lint: which tests failed, were skipped, took long."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

LAST_LINES = 6  # of what a failed test said
#: How GoogleTest introduces the reason of a skip.
GOOGLETEST_SKIP = re.compile(r": Skipped\n(.+)")
#: How a test or a check says that it did not try all that it has.
LEFT_OUT = "left out for time"
LEFT_OUT_LINE = re.compile(rf"^({LEFT_OUT}: .+)", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """A test: `outcome` is passed, failed or skipped; `said` is its output, or the reason of the skip."""

    group: str
    name: str
    outcome: str
    said: str
    seconds: float


def why_skipped(case: ElementTree.Element, skipped: ElementTree.Element) -> str:
    """In one line."""
    message = skipped.get("message") or ""
    if message.startswith("SKIP_"):  # ctest's way to say that the test itself said so
        output = case.findtext("system-out") or ""
        found = GOOGLETEST_SKIP.search(output) or LEFT_OUT_LINE.search(output)
        message = found[1] if found else "the test says that it cannot run here"
    return message.strip().partition("\n")[0]


def read(path: Path) -> Iterator[Case]:
    """The tests of a file; none where it is not there."""
    if not path.exists():
        return
    for case in ElementTree.parse(path).iter("testcase"):
        outcome, said = "passed", ""
        if (skipped := case.find("skipped")) is not None:
            outcome, said = "skipped", why_skipped(case, skipped)
        for kind in ("failure", "error"):
            if (failure := case.find(kind)) is not None:
                outcome = "failed"
                said = failure.text or case.findtext("system-out") or failure.get("message") or ""
        name = case.get("name", "").split("  # ")[0]
        yield Case(case.get("classname", ""), name, outcome, said, float(case.get("time") or 0))


def write(path: Path, cases: Iterable[Case]) -> None:
    """A file as read() takes it."""
    suite = ElementTree.Element("testsuite")
    for c in cases:
        case = ElementTree.SubElement(suite, "testcase", classname=c.group, name=c.name, time=str(c.seconds))
        if c.outcome == "skipped":
            ElementTree.SubElement(case, "skipped", message=c.said)
        elif c.outcome == "failed":
            ElementTree.SubElement(case, "failure", message=c.said)
    ElementTree.ElementTree(suite).write(path)


def failures(path: Path) -> Iterator[str]:
    """A line for each test that failed, then the last ones that it said."""
    for case in read(path):
        if case.outcome == "failed":
            yield f"failed: {case.group} {case.name}  ({path})"
            yield from (f"    {line}" for line in case.said.strip().splitlines()[-LAST_LINES:])


def skips(paths: Iterable[Path]) -> list[tuple[int, str]]:
    """How many tests were skipped for each reason, most first."""
    reasons = Counter(case.said for path in paths for case in read(path) if case.outcome == "skipped")
    return [(count, reason) for reason, count in reasons.most_common()]


def slowest(path: Path, shown: int = 8) -> Iterator[str]:
    """A line for each of the tests that took longest."""
    for case in sorted(read(path), key=lambda c: -c.seconds)[:shown]:
        yield f"{case.seconds:7.1f} s  {case.name}"
