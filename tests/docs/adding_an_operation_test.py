"""docs/adding-an-operation.md lists every file that the router, the second operation, touches: no more and no fewer."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/adding-an-operation.md"
# What is of the router by its name, or names what is.
OF_ROUTER = re.compile(r"(^|[/_])routes?([._/-]|$)|kernels/moe(?!/experts)")
NAMES_ROUTER = re.compile(
    r"moe[._/]+route|RouteProblem|RouteCall|RouteConfig|RouteData|emulated_route|route_kernel_variants|route_checks"
    r"|fake_route|_route\b|mutants_route|route_ptx|logit_order|kernels/moe(?!/experts)|routing\.md|route\.cpp|\broute\b.*-inl|route_test|explain_route|flashfit_moe\b"
)
KINDS = (".cpp", ".hpp", ".cuh", ".h", ".c", ".py", ".txt", ".md", ".json", ".in")


def touched(tree: Mapping[str, str]) -> set[str]:
    """The files that are of the router or name it."""
    return {
        path for path, text in tree.items() if path != PAGE and (OF_ROUTER.search(path) or NAMES_ROUTER.search(text))
    }


def listed(page: str) -> set[str]:
    """The paths in the table's code spans."""
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    return {span for row in rows for span in re.findall(r"`([^`]+)`", row)}


def differences(tree: Mapping[str, str], page: str) -> list[str]:
    """What the page lacks, and what it lists in vain."""
    are, said = touched(tree), listed(page)
    return [f"not listed: {p}" for p in sorted(are - said)] + [
        f"does not name the router: {p}" for p in sorted(said - are)
    ]


def test_the_page_lists_what_the_router_touched() -> None:
    paths = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    tree = {
        p: (ROOT / p).read_text(encoding="utf-8")
        for p in paths
        if p.endswith(KINDS)
        and (ROOT / p).is_file()
        and not p.startswith(("bench/results/", "data/", "docs/speed/", "src/doctor", "tests/doctor", "tests/dev"))
        and p != Path(__file__).relative_to(ROOT).as_posix()
    }
    assert differences(tree, tree[PAGE]) == []


def test_an_option_touches_about_as_many_files_as_the_page_says() -> None:
    said = re.search(r"some (\d+) more files of `src`, `python` and `include`", (ROOT / PAGE).read_text("utf-8"))
    naming = subprocess.run(
        ["git", "grep", "-l", "softcap", "--", "src", "python", "include"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    named_before = ("flashfit.h", "score.cuh", "options-inl.hpp", "reference/attention.cpp")
    more = [path for path in naming if not path.endswith(named_before)]
    assert said is not None
    assert abs(len(more) - int(said[1])) <= 5, f"{len(more)} files name softcap beside those that the page names first"


@pytest.mark.parametrize(
    ("tree", "page", "said"),
    [
        ({"src/kernels/moe/route/a.hpp": ""}, "", "not listed: src/kernels/moe/route/a.hpp"),
        ({"src/cli/a.cpp": "RouteProblem p;"}, "| x | `src/b.cpp` |", "not listed: src/cli/a.cpp"),
        ({"src/b.cpp": ""}, "| x | `src/b.cpp` |", "does not name the router: src/b.cpp"),
    ],
)
def test_a_difference_is_found(tree: dict[str, str], page: str, said: str) -> None:
    assert said in differences(tree, page)
