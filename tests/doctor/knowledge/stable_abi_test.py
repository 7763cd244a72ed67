"""The table of the stable ABI against the list that this Python brings of its own (test.test_stable_abi_ctypes)."""

from __future__ import annotations

import ast
import re
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def table() -> dict[str, int]:
    """Name -> the minor version of Python 3 that brought it."""
    names: dict[str, int] = {}
    minor = 0
    for line in (ROOT / "src/doctor/knowledge/stable_abi_names.cpp").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"\s*\{(\d+),", line):
            minor = int(match[1])
        for text in re.findall(r'"([^"]+ )"', line):
            names.update(dict.fromkeys(text.split(), minor))
    return names


def own_names() -> set[str]:
    """All that this Python's own test looks for on any platform."""
    path = Path(sysconfig.get_path("stdlib"), "test/test_stable_abi_ctypes.py")
    if not path.exists():
        pytest.skip(f"this Python comes without {path.name}")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assigned = [n.value for n in ast.walk(tree) if isinstance(n, (ast.Assign, ast.AugAssign))]
    return {
        constant.value
        for value in assigned
        if isinstance(value, ast.Tuple)
        for constant in value.elts
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
    }


def test_the_table_holds_what_this_python_promises() -> None:
    ours, theirs = table(), own_names()
    here = sys.version_info.minor
    assert len(theirs) > 700
    assert {name for name in theirs if ours.get(name, 99) > here} == set()
    # Builds that trace references have other names for these two, so that Pythons before 3.13 do not look for them.
    renamed = {"PyModule_Create2", "PyModule_FromDefAndSpec2"}
    assert {name for name, minor in ours.items() if minor <= here} - theirs <= renamed
