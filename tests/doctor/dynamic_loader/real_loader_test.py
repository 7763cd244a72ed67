"""The loader's model against the machine's own loader, which says what it does when LD_DEBUG asks for it.

What the loader loads, in its order and under its own names for the files, is what the model must say: of programs of
this machine, of Python with extension modules, and of small libraries compiled here for each rule of the search.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.doctor.fetched import tool

MODEL = tool().with_name("dynamic_loader_list")
COMPILER = shutil.which("cc") or shutil.which("gcc")

pytestmark = pytest.mark.skipif(
    not Path("/lib64/ld-linux-x86-64.so.2").exists() and not Path("/lib/ld-linux-aarch64.so.1").exists(),
    reason="no glibc loader on this machine to compare with",
)


def model(*words: str | Path) -> dict[str, list[str]]:
    """The model's lines by their first word."""
    ran = subprocess.run([MODEL, *words], capture_output=True, text=True, check=True)
    lines: dict[str, list[str]] = {"object": [], "missing": [], "problem": []}
    for line in ran.stdout.splitlines():
        kind, rest = line.split(" ", 1)
        lines[kind].append(rest)
    return lines


def environment(**more: str) -> dict[str, str]:
    own = {k: v for k, v in os.environ.items() if not k.startswith("LD_")}
    return {**own, **more}


def debug(command: Sequence[str | Path], cwd: Path | None = None, **more: str) -> list[str]:
    """The loader's own account of a run, without the process's numbers."""
    ran = subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=environment(LD_DEBUG="libs,files", **more), check=False
    )
    return [m[1] for line in ran.stderr.splitlines() if (m := re.match(r"^\s*\d+:\t(.*)$", line))]


def loaded_and_opened(account: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Paths in the order of loading, and what was opened by name or path: (by, name)."""
    paths, opened = [], []
    tried = ""
    for line in account:
        if m := re.match(r"^\s+trying file=(.*)$", line):
            tried = m[1]
        elif m := re.match(r"^file=(.*) \[0\];  dynamically loaded by (.*) \[0\]$", line):
            opened.append((m[2], m[1]))
        elif m := re.match(r"^file=(.*) \[0\];  generating link map$", line):
            paths.append(m[1] if "/" in m[1] else tried)
    return paths, opened


def without_own(paths: list[str]) -> list[str]:
    """Without the loader, which loads no file for itself."""
    return [p for p in paths if "/ld-linux-" not in p]


def programs() -> list[str]:
    return [p for name in ("ls", "cmake", "git", "g++", "ninja", "perl") if (p := shutil.which(name))]


@pytest.mark.parametrize("program", programs())
def test_programs_of_this_machine(program: str) -> None:
    theirs, _ = loaded_and_opened(debug([program, "--version"]))
    ours = without_own(model(program)["object"])[1:]
    assert ours == theirs[: len(ours)], "a program may open more at run time, and only then"
    assert theirs


IMPORTS = "import ssl, ctypes, sqlite3, decimal, bz2, lzma, zlib, _ctypes, unicodedata"


@pytest.mark.parametrize("code", [IMPORTS, "import numpy.linalg, numpy.fft, numpy.random"])
def test_python_with_extension_modules(code: str) -> None:
    python = os.path.realpath(sys.executable)
    if subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"this Python cannot {code}")
    theirs, opened = loaded_and_opened(debug([sys.executable, "-c", code]))
    assert len(opened) > 5
    names = [f"{'' if by in (sys.executable, python) else by}={name}" for by, name in opened]
    ours = model(sys.executable, *names)
    assert without_own(ours["object"])[1:] == theirs
    assert not ours["missing"]
    assert not [p for p in ours["problem"] if not p.startswith("FF605")]


class Built:
    """Small libraries and programs, compiled here."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, path: str, *needs: Path, options: Sequence[str] = (), program: bool = False) -> Path:
        assert COMPILER is not None
        output = self.folder / path
        output.parent.mkdir(parents=True, exist_ok=True)
        source = output.with_suffix(".c")
        source.write_text("int main(void) { return 0; }\n" if program else f"int f{len(path)}(void) {{ return 1; }}\n")
        kind: list[str | Path] = [] if program else ["-shared", "-fPIC", f"-Wl,-soname,{output.name}"]
        links = ["-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined"]
        subprocess.run([COMPILER, *kind, source, "-o", output, *links, *needs, *options], check=True)
        return output


@pytest.fixture
def built(tmp_path: Path) -> Built:
    if COMPILER is None:
        pytest.skip("no C compiler to make libraries with")
    return Built(tmp_path)


RPATH = "-Wl,--disable-new-dtags,-rpath,"
RUNPATH = "-Wl,--enable-new-dtags,-rpath,"


def agree(program: Path, path: str = "", preload: str = "", cwd: Path | None = None) -> list[str]:
    """That the model and the loader agree on a program; the paths, in the order of loading."""
    words = ["--library-path", path, "--preload", preload, "--cwd", str(cwd or "/")]
    more = {k: v for k, v in (("LD_LIBRARY_PATH", path), ("LD_PRELOAD", preload)) if v}
    theirs, _ = loaded_and_opened(debug([program], cwd=cwd or Path("/"), **more))
    ours = model(*words, program)
    assert without_own(ours["object"])[1:] == theirs
    return theirs


def test_rpath_of_the_program_holds_for_all(built: Built, tmp_path: Path) -> None:
    deep = built("lib/libdeep.so")
    top = built("lib/libtop.so", deep)
    program = built("bin/app", top, options=[RPATH + "$ORIGIN/../lib"], program=True)
    hidden = tmp_path / "path"
    shutil.copytree(tmp_path / "lib", hidden)
    found = agree(program, path=str(hidden))
    assert [p for p in found if p.startswith(str(tmp_path))] == [
        f"{tmp_path}/bin/../lib/libtop.so",
        f"{tmp_path}/bin/../lib/libdeep.so",
    ]


def test_runpath_holds_for_its_own_alone_and_after_the_path(built: Built, tmp_path: Path) -> None:
    deep = built("lib/libdeep.so")
    top = built("lib/libtop.so", deep)
    program = built("bin/app", top, options=[RUNPATH + "${ORIGIN}/../lib"], program=True)
    assert model(program)["missing"] == ["libdeep.so libtop.so"]
    shutil.copytree(tmp_path / "lib", tmp_path / "path")
    found = agree(program, path=f"/nowhere:{tmp_path}/path/")
    assert f"{tmp_path}/path/libtop.so" in found


def test_a_library_with_runpath_takes_nobodys_rpath(built: Built, tmp_path: Path) -> None:
    deep = built("lib/libdeep.so")
    top = built("lib/libtop.so", deep, options=[RUNPATH + f"{tmp_path}/other"])
    program = built("bin/app", top, options=[RPATH + "$ORIGIN/../lib"], program=True)
    assert model(program)["missing"] == ["libdeep.so libtop.so"]
    ran = subprocess.run([program], capture_output=True, text=True, env=environment(), check=False)
    assert "libdeep.so: cannot open shared object file" in ran.stderr
    (tmp_path / "other").mkdir()
    shutil.copy(deep, tmp_path / "other")
    assert f"{tmp_path}/other/libdeep.so" in agree(program)


def test_breadth_first_and_each_once(built: Built, tmp_path: Path) -> None:
    a = built("lib/liba.so")
    b = built("lib/libb.so", a)
    c = built("lib/libc1.so", b, a)
    d = built("lib/libd.so", a, c)
    program = built("bin/app", d, c, options=[RPATH + "$ORIGIN/../lib"], program=True)
    found = [Path(p).name for p in agree(program)]
    assert [n for n in found if n != "libc.so.6"] == ["libd.so", "libc1.so", "liba.so", "libb.so"]


def test_preloads_links_and_relative_folders(built: Built, tmp_path: Path) -> None:
    a = built("lib/liba.so.1.2")
    program = built("bin/app", a, program=True)
    (tmp_path / "links").mkdir()
    (tmp_path / "links/liba.so.1.2").symlink_to("../lib/liba.so.1.2")
    pre = built("pre/libpre.so")
    found = agree(program, path="links::../nowhere", preload=f"{pre}:/nothing.so {a}", cwd=tmp_path)
    assert str(pre) in found
    assert str(a) in found, "the program's need is answered by the preloaded file"


def test_hard_links_are_one_library(built: Built, tmp_path: Path) -> None:
    a = built("lib/liba.so")
    b = built("lib/libb.so")
    program = built("bin/app", a, b, options=[RUNPATH + "$ORIGIN/../one"], program=True)
    (tmp_path / "one").mkdir()
    shutil.copy(a, tmp_path / "one/liba.so")
    os.link(tmp_path / "one/liba.so", tmp_path / "one/libb.so")
    found = agree(program)
    assert sum(p.startswith(str(tmp_path)) for p in found) == 1


@pytest.mark.parametrize("bad", ["", "GROUP ( libx.so.2 )\n" * 8])
def test_what_is_no_library_ends_the_search(built: Built, tmp_path: Path, bad: str) -> None:
    a = built("lib/liba.so")
    program = built("bin/app", a, options=[RUNPATH + "$ORIGIN/../lib"], program=True)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/liba.so").write_text(bad)
    ran = subprocess.run(
        [program], capture_output=True, text=True, env=environment(LD_LIBRARY_PATH=f"{tmp_path}/bad"), check=False
    )
    said = model("--library-path", f"{tmp_path}/bad", program)["problem"]
    reason = "file too short" if not bad else "invalid ELF header"
    assert reason in ran.stderr
    assert [p for p in said if p.startswith("FF602") and p.endswith(reason)]


def test_versions_by_a_version_script(built: Built, tmp_path: Path) -> None:
    script = tmp_path / "versions"
    script.write_text("V_1.0 { f*; }; V_2.0 { g*; } V_1.0;\n")
    new = built("lib/libv.so", options=[f"-Wl,--version-script={script}"])
    user = tmp_path / "user.c"
    assert COMPILER is not None
    function = f"f{len('lib/libv.so')}"
    user.write_text(f"int {function}(void); int main(void) {{ return {function}() - 1; }}\n")
    program = tmp_path / "user"
    subprocess.run([COMPILER, user, "-o", program, new, RUNPATH + "$ORIGIN/lib"], check=True)
    agree(program)
    assert not model(program)["problem"]
    script.write_text("V_0.9 { f*; };\n")
    built("lib/libv.so", options=[f"-Wl,--version-script={script}"])
    ran = subprocess.run([program], capture_output=True, text=True, env=environment(), check=False)
    assert "version `V_1.0' not found" in ran.stderr
    (said,) = model(program)["problem"]
    assert said == (
        f"FF603 {program} needs V_1.0, which {tmp_path}/lib/libv.so (found by DT_RUNPATH of user) lacks: "
        "it ends at V_0.9"
    )
