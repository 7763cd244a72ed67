"""What a Python script of tests/ or tools/ may read of this repository, as a digest; verdicts.py has the rule."""

from __future__ import annotations

import ast
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def digest_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


#: What of a program says only from which commit it was made: the text of src/measure/revision.hpp, and the linker's
#: hash of the whole file.
COMMIT = re.compile(rb"[0-9a-f]{40}(?:-dirty|\0{6})\0{18}|(?<=\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0).{20}", re.DOTALL)


@cache
def digest_of_program(file: Path) -> str:
    """Of all that a program or a library does: a commit alone makes it no other."""
    return hashlib.sha256(COMMIT.sub(b"", file.read_bytes())).hexdigest()


@cache
def digest_below(path: Path) -> str:
    """Of a file, or of all files below a folder and their names. What Python compiled is nobody's data."""
    if path.is_file():
        return digest_of(path)
    files = sorted(f for f in path.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
    return hashlib.sha256("".join(f"{f.relative_to(path)} {digest_of(f)}\n" for f in files).encode()).hexdigest()


def key_of(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


SOURCES = {".py", ".cpp", ".hpp", ".cuh", ".h", ".c", ".pyc"}


@cache
def common() -> str:
    """What every Python test may read: the package, and the data of tests."""
    data = (f for f in (ROOT / "tests").rglob("*") if f.is_file() and f.suffix not in SOURCES)
    return key_of([digest_below(ROOT / "python"), *(f"{f.relative_to(ROOT)} {digest_of(f)}" for f in sorted(data))])


@cache
def scripts_by_name() -> dict[str, list[Path]]:
    files: dict[str, list[Path]] = defaultdict(list)
    for folder in ("tests", "tools"):
        for file in (ROOT / folder).rglob("*.py"):
            files[file.name].append(file)
    return files


@cache
def led_to(script: Path) -> frozenset[Path]:
    """The files of tests/ and tools/ that a script imports or names."""
    text = script.read_text(encoding="utf-8")
    modules: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            modules |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                folder = script.parents[node.level - 1].relative_to(ROOT)
                module = ".".join([*folder.parts, *([module] if module else [])])
            modules |= {module, *(f"{module}.{name.name}" for name in node.names)}
    # Scripts of tools/ find their modules there.
    candidates = (base / f"{m.replace('.', '/')}.py" for m in modules for base in (ROOT, ROOT / "tools"))
    found = {c for c in candidates if c.is_file() and not c.is_relative_to(ROOT / "python")}
    named = set(re.findall(r"\w+\.py\b", text)) & set(scripts_by_name())
    return frozenset(found.union(*(scripts_by_name()[name] for name in named)) - {script})


def reached(script: Path, by_pytest: bool = True) -> list[Path]:
    """The script, what it leads to, and so on."""
    found: set[Path] = set()
    left = [script, *([ROOT / "tests/conftest.py"] if by_pytest else [])]
    while left:
        file = left.pop()
        if file not in found:
            found.add(file)
            left += led_to(file)
    return sorted(found)


def named_in(text: str, programs: set[str]) -> set[Path]:
    """The files and folders of the repository that a text names; what is made there is none."""
    made = {p.name for pattern in (".*", "build*", "dist", "out") for p in ROOT.glob(pattern)} - {".ci", ".clang-tidy"}
    found = set()
    for name in set(re.findall(r"""["'/](\.?\w[\w.+-]*(?:/\w[\w.+-]*)*)""", text)):
        top, _, below = name.partition("/")
        if top in made or below in programs or not (ROOT / top).exists():
            continue
        path = ROOT / name
        while not path.exists():
            path = path.parent
        found.add(path)
    return found - {ROOT / "python"}


#: A script that does so reads what it does not name.
WALKS_ALL = re.compile(r"os\.walk\(ROOT\b|\bROOT\.(?:r?glob|iterdir)\(|ls-files")


def programs_named(text: str, build: Path) -> list[str]:
    """What Python tests call: libraries, commands, and the test programs that a text names."""
    files = [*build.glob("lib/*.so"), *build.glob("bin/*")]
    files += [f for f in build.glob("tests/*") if re.search(rf"\b{re.escape(f.name)}\b", text)]
    return [f"{f.relative_to(build)} {digest_of_program(f)}" for f in sorted(files) if f.is_file()]


def reach_of(script: Path, build: Path, tests_package: bool = True) -> str:
    """A digest of what a Python script may read; "" where that is the whole repository.

    One that does not test the package reads nothing of it, of what was built, or of the data of tests, but by name.
    """
    files = reached(script, by_pytest=tests_package)
    text = "".join(f.read_text(encoding="utf-8") for f in files)
    if WALKS_ALL.search(text):
        return ""
    parts = [f"{f.relative_to(ROOT)} {digest_of(f)}" for f in files]
    programs = {f.name for f in build.glob("tests/*")}
    parts += [f"{p.relative_to(ROOT)} {digest_below(p)}" for p in sorted(named_in(text, programs))]
    if tests_package:
        parts += [common(), *programs_named(text, build)]
    return key_of(parts)
