"""The compiled module for free-threaded Pythons looks into no object and asks for nothing that abi3t lacks."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from flashfit._library import library

ROOT = Path(__file__).resolve().parents[2]

#: Names of Python.h that read or write an object's memory, which differs in free-threaded Pythons.
LOOKS_INSIDE = re.compile(
    r"\b(Py_(TYPE|IS_TYPE|SET_TYPE|SIZE|SET_SIZE|REFCNT|X?INCREF|X?DECREF|X?NewRef|CLEAR|SETREF)"
    r"|Py(Tuple|List|Dict|Unicode|Bytes|Long|Float|Type|Bool|Capsule)_Check(Exact)?|PyObject_HEAD_INIT)\b"
)


def inside(code: str) -> list[str]:
    """Names in code, not in comments, that look into an object."""
    return [match[0] for match in LOOKS_INSIDE.finditer(re.sub(r"//.*", "", code))]


def test_no_object_is_looked_into() -> None:
    assert inside("replace(x, y);  // as Py_CLEAR does\nPy_NewRef(x); PyTuple_CheckExact(x);") == [
        "Py_NewRef",
        "PyTuple_CheckExact",
    ]
    sources = sorted((ROOT / "src/runtime/python").glob("*.[ch]pp"))
    assert len(sources) > 5

    found = {source.name: names for source in sources if (names := inside(source.read_text("utf-8")))}
    # The one place is of the form for ordinary Pythons.
    assert found == {"object.hpp": ["Py_TYPE"]}


def symbols(which: str, module: Path) -> set[str]:
    command = ["nm", "--dynamic", f"--{which}", str(module)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def test_the_file_is_made_for_free_threaded_pythons() -> None:
    module = library().path.parent / "_flashfit_native.abi3t.so"
    if not module.is_file():
        pytest.skip("this library has no compiled module for free-threaded Pythons beside it")
    assert {s for s in symbols("defined-only", module) if "Py" in s} == {"PyModExport__flashfit_native"}
    asked = {s for s in symbols("undefined-only", module) if re.match("_?Py", s)}
    assert asked >= {"PyObject_Type", "Py_GetConstantBorrowed", "Py_IncRef", "Py_DecRef"}
    # Objects of Python's own are asked for by functions, for their layout is not the file's to know.
    assert not {s for s in asked if s.startswith("_Py_") and s.endswith("Struct")}
    assert "PyModuleDef_Init" not in asked
