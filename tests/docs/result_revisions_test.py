"""The files of bench/results name commits that git has, but for those that docs/results.md lists."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def named(document: Any) -> Iterator[str]:
    """The revisions at the head of a result file, without the word that says that files had changed."""
    for part in (document, document.get("made", {})):
        yield from (str(part[key]).split("-")[0] for key in ("revision", "git") if key in part)


def is_in_history(revision: str) -> bool:
    return git("merge-base", "--is-ancestor", revision, "HEAD").returncode == 0


def listed() -> dict[str, str]:
    """The files of the page's table, with the first letters of the commit that each names."""
    section = (ROOT / "docs" / "results.md").read_text(encoding="utf-8").partition("not in the history")[2]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    return {file: re.findall(r"`(\w+)`", row[2])[0] for row in rows for file in re.findall(r"`([^`]+)`", row[1])}


@pytest.fixture(scope="module")
def unknown() -> dict[str, str]:
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("this clone has no history to look in")
    found = {}
    for path in sorted(RESULTS.rglob("*.json")):
        for revision in named(json.loads(path.read_text(encoding="utf-8"))):
            if not is_in_history(revision):
                found[path.relative_to(RESULTS).as_posix()] = revision
    return found


def test_the_page_lists_the_files_whose_revision_git_does_not_have(unknown: dict[str, str]) -> None:
    assert {file: revision[:7] for file, revision in unknown.items()} == listed()


def test_the_commits_that_brought_them_are_there(unknown: dict[str, str]) -> None:
    section = (ROOT / "docs" / "results.md").read_text(encoding="utf-8").partition("not in the history")[2]
    brought = re.findall(r"\| `(\w+)` \|$", section, re.M)
    assert len(brought) >= 1
    assert all(is_in_history(each) for each in brought)
