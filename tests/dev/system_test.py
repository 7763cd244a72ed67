"""tools/dev/system.sh on machines of every kind, each played by a folder with its commands, files and os-release."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools/dev/system.sh"
TRIPLET = f"{platform.machine()}-linux-gnu"


@dataclass(frozen=True)
class Package:
    purpose: str
    name: str
    words: list[str]  # what shows that it is there: see the table's head

    def __str__(self) -> str:
        return self.name


def table() -> list[Package]:
    lines = (SCRIPT.parent / "system_packages.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return [Package(purpose, name, words) for purpose, name, *words in rows]


PACKAGES = table()
NEEDED = {
    "run": "run",
    "test": "test",
    "test-debian": "test",
    "fuzz": "fuzz",
    "aarch64": "aarch64",
}  # what asks for a purpose
WITH_FILES = [p for p in PACKAGES if p.words[0].split(":")[0] in ("header", "library", "cmake", "file")]
WITH_COMMANDS = [p for p in PACKAGES if p.words[0].startswith("command:")]


def path_of(word: str) -> str:
    """Where Debian has the file of a word."""
    kind, _, file = word.partition(":")
    folder = {"header": "usr/include", "library": f"usr/lib/{TRIPLET}", "cmake": "usr/share/cmake", "file": ""}[kind]
    return str(Path(folder, file.partition("=")[0].replace("MACHINE", platform.machine())))


class Machine:
    """A folder that stands for a machine; its apt-get notes what it was asked for."""

    def __init__(self, root: Path, system: str) -> None:
        self.root = root
        self.bin = root / "bin"
        self.bin.mkdir()
        (root / "etc").mkdir()
        name, version = system.split()
        (root / "etc/os-release").write_text(f'ID={name}\nVERSION_ID="{version}"\n')
        for tool in ("bash", "env", "uname", "grep", "sed"):
            (self.bin / tool).symlink_to(shutil.which(tool) or "")
        for package in PACKAGES:
            for word in package.words:
                self.has(word)
        self.command("python3", "exit 0")
        self.user(0)

    def has(self, word: str) -> None:
        kind, _, what = word.partition(":")
        if kind == "command":
            self.command(what, "exit 0")
        elif kind != "python":
            self.file(path_of(word), f"{what.partition('=')[2]}(")

    def command(self, name: str, body: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{body}\n")
        (self.bin / name).chmod(0o755)

    def file(self, path: str, text: str = "") -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def lacks(self, *words: str) -> None:
        for word in words:
            (self.root / path_of(word)).unlink()

    def user(self, number: int) -> None:
        self.command("id", f"echo {number}")

    def apt(self, effect: str = "exit 0") -> None:
        self.command("apt-get", f'echo "$@" >>{self.root}/apt.log\ncase $1 in install) {effect} ;; esac')

    def apt_brings(self, word: str) -> None:
        text = f"{word.partition('=')[2]}("
        self.apt(f'printf "%s" "{text}" >{self.root / path_of(word)}')

    @property
    def apt_log(self) -> str:
        log = self.root / "apt.log"
        return log.read_text() if log.exists() else ""

    def run(self, needs: str = "run", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.bin / "bash"), str(SCRIPT), needs, str(self.root)],
            env={"PATH": str(self.bin), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def missing(self, needs: str) -> str:
        """The packages named to someone who may not install them."""
        self.user(1000)
        result = self.run(needs)
        said = r"dev: .* neither root nor sudo is here; as root: apt-get update && apt-get install (.*)\n"
        found = re.fullmatch(said, result.stderr)
        assert found or (result.returncode, result.stderr) == (0, ""), result.stderr
        return found[1] if found else ""


@pytest.fixture
def debian(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "debian 12")


@pytest.mark.parametrize("needs", ["run", "test", "fuzz", "aarch64"])
def test_is_silent_where_nothing_is_missing(debian: Machine, needs: str) -> None:
    result = debian.run(needs)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


FILES = [(p, word) for p in WITH_FILES for word in p.words]


@pytest.mark.parametrize(("package", "word"), FILES, ids=str)
def test_installs_what_is_missing_and_nothing_else(debian: Machine, package: Package, word: str) -> None:
    debian.lacks(word)
    debian.apt_brings(word)
    result = debian.run(NEEDED[package.purpose])
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"dev: installs system packages: {package}\n"
    assert debian.apt_log.splitlines()[-1].endswith(f"--no-install-recommends {package}")


@pytest.mark.parametrize(("package", "word"), FILES, ids=str)
def test_a_file_of_that_name_elsewhere_is_another_package_s(debian: Machine, package: Package, word: str) -> None:
    """As nettle's sha2.h, or a library for another processor."""
    debian.lacks(word)
    path = Path(path_of(word))
    for folder in (path.parent / "decoy", Path("usr/include/decoy"), Path("usr/lib/decoy"), Path("opt/lib")):
        debian.file(str(folder / path.name), f"{word.partition('=')[2]}(")
    assert debian.missing(NEEDED[package.purpose]) == package.name


@pytest.mark.parametrize(("package", "word"), [f for f in FILES if "=" in f[1]], ids=str)
def test_a_header_without_what_is_called_is_another_library_s(debian: Machine, package: Package, word: str) -> None:
    called = word.partition("=")[2]
    debian.file(path_of(word), f"void {called}_of_another(); void own_{called}();")
    assert debian.missing(NEEDED[package.purpose]) == package.name


@pytest.mark.parametrize(
    ("file", "text", "missing"),
    [
        ("sha2.h", "void sha256_init();", "libmd-dev without header:sha2.h=SHA256Init"),
        (
            "nlohmann/json.hpp",
            "#define NLOHMANN_JSON_VERSION_MAJOR 3\n#define NLOHMANN_JSON_VERSION_MINOR 7\n",
            "nlohmann-json3-dev without header:nlohmann/json.hpp=cbor_tag_handler_t",
        ),
    ],
    ids=["another library's", "an older version's"],
)
def test_a_header_that_hides_the_package_s_own_is_named(debian: Machine, file: str, text: str, missing: str) -> None:
    debian.file(f"usr/local/include/{file}", text)
    debian.apt()
    result = debian.run()
    assert result.returncode == 1
    assert result.stderr == f"dev: still missing after apt-get installed them: {missing}\n"


@pytest.mark.parametrize("word", ["header:zstd.h=ZSTD_compress2", "library:libzstd.a", "cmake:fmt/fmt-config.cmake"])
def test_every_folder_that_the_compiler_and_cmake_look_into_counts(debian: Machine, word: str) -> None:
    debian.lacks(word)
    kind, _, file = word.partition("=")[0].partition(":")
    folders = {
        "header": ("usr/local/include", f"usr/include/{TRIPLET}"),
        "library": ("usr/local/lib", "usr/lib", "usr/lib64"),
        "cmake": ("usr/local/lib/cmake", f"usr/lib/{TRIPLET}/cmake"),
    }[kind]
    for folder in folders:
        debian.file(f"{folder}/{file}", "ZSTD_compress2(")
        assert debian.missing("run") == ""
        (debian.root / folder / file).unlink()
    assert debian.missing("run") != ""


@pytest.mark.parametrize("package", WITH_COMMANDS, ids=str)
def test_commands_count_too(debian: Machine, package: Package) -> None:
    (debian.bin / package.words[0].partition(":")[2]).unlink()
    missing = debian.missing(NEEDED[package.purpose]).split()
    assert package.name in missing
    assert set(missing) <= {package.name, "python3-venv", "python3-dev"}


@pytest.mark.parametrize("package", [p for p in PACKAGES if p.purpose != "run"], ids=str)
def test_the_build_needs_nothing_of_the_tests(debian: Machine, package: Package) -> None:
    for word in package.words:
        if word.startswith("command:"):
            (debian.bin / word.partition(":")[2]).unlink()
        else:
            debian.lacks(word)
    assert debian.missing("run") == ""
    assert debian.missing(NEEDED[package.purpose]) == package.name


def test_a_browser_is_needed_where_it_is_a_package(tmp_path: Path) -> None:
    for folder, system, missing in (("a", "debian 12", "chromium-headless-shell"), ("b", "ubuntu 24.04", "")):
        (tmp_path / folder).mkdir()
        machine = Machine(tmp_path / folder, system)
        (machine.bin / "chromium-headless-shell").unlink()
        assert machine.missing("test") == missing


@pytest.mark.parametrize(("asked", "package"), [("Python.h", "python3-dev"), ("ensurepip", "python3-venv")])
def test_parts_of_the_python_in_use_count(debian: Machine, asked: str, package: str) -> None:
    debian.command("python3", f'case "$2" in *{asked}*) exit 1 ;; esac')
    assert debian.missing("run") == package


def test_without_rights_it_names_the_packages_and_stops(debian: Machine) -> None:
    debian.lacks("library:libzstd.a", "header:fmt/format.h")
    debian.apt()
    debian.user(1000)
    result = debian.run()
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "as root: apt-get update && apt-get install libfmt-dev libzstd-dev\n" in result.stderr
    assert debian.apt_log == ""


def test_sudo_that_asks_for_a_password_is_no_right_where_nobody_can_answer(debian: Machine) -> None:
    debian.lacks("library:libzstd.a")
    debian.user(1000)
    debian.command("sudo", "exit 1")
    result = debian.run()
    assert result.returncode == 1
    assert "neither root nor sudo" in result.stderr


def test_sudo_is_used(debian: Machine) -> None:
    debian.lacks("library:libzstd.a")
    debian.user(1000)
    debian.command("sudo", f'case $1 in -n) exit 0 ;; esac; echo sudo >>{debian.root}/apt.log; exec "$@"')
    debian.apt_brings("library:libzstd.a")
    assert debian.run().returncode == 0
    assert debian.apt_log.splitlines()[0::2] == ["sudo", "sudo"]


@pytest.mark.parametrize("system", ["fedora 41", "debian 11", "ubuntu 20.04"])
def test_other_systems_name_the_packages_and_stop(tmp_path: Path, system: str) -> None:
    machine = Machine(tmp_path, system)
    machine.apt()
    machine.lacks("library:libzstd.a")
    result = machine.run()
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "libzstd-dev (" in result.stderr
    assert system in result.stderr
    assert machine.apt_log == ""


def test_other_systems_with_all_they_need_are_served(tmp_path: Path) -> None:
    assert Machine(tmp_path, "fedora 41").run("test").returncode == 0


@pytest.mark.parametrize("system", ["debian 12", "ubuntu 22.04", "ubuntu 24.04"])
def test_a_failing_apt_get_is_named(tmp_path: Path, system: str) -> None:
    machine = Machine(tmp_path, system)
    machine.lacks("library:libzstd.a")
    machine.apt("echo 'E: no such package' >&2; exit 100")
    result = machine.run()
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("dev: apt-get could not install: libzstd-dev")


def test_a_compiler_that_the_user_chose_counts(debian: Machine) -> None:
    (debian.bin / "c++").unlink()
    debian.command("clang++", "exit 0")
    assert debian.run(CXX=os.fspath(debian.bin / "clang++")).returncode == 0


#: What find_package looks for without a file of the package's own, by modules of CMake.
BY_MODULE = {
    "Threads": [],
    "Python3": ["python:headers"],
    "Boost": ["library:libboost_context.a"],
    "GTest": ["library:libgtest.a", "library:libgmock.a"],
    "ZLIB": ["library:libz.a"],
}


def test_the_table_holds_what_cmake_looks_for() -> None:
    """CMake's own files say what is linked; whatever they require stands in the table, in those words."""
    shown = [word.partition("=")[0] for package in PACKAGES for word in package.words]
    wanted: set[str] = set()
    folders = ("src", "tests", "cmake", "examples", "bench")
    files = [ROOT / "CMakeLists.txt", *(f for d in folders for f in (ROOT / d).rglob("CMakeLists.txt"))]
    files += [*(ROOT / "cmake").glob("*.cmake")]
    for file in files:
        if file.is_relative_to(ROOT / "tests/install/consumer"):  # a project of its own, which looks for flashfit
            continue
        text = file.read_text(encoding="utf-8")
        wanted |= {f"library:{name}" for name in re.findall(r"find_library\(\w+ NAMES (lib\w+\.a) REQUIRED\)", text)}
        wanted |= {f"header:{name}" for name in re.findall(r"find_path\(\w+ (\S+) REQUIRED", text)}
        wanted |= {f"file:{d[1:]}/{f}" for f, d in re.findall(r"find_file\(\w+ (\S+) PATHS (\S+) NO_DEFAULT", text)}
        for name in re.findall(r"^ *find_package\(([\w-]+)", text, re.MULTILINE):
            of_its_own = [f"cmake:{name}/{name}{ending}" for ending in ("Config.cmake", "-config.cmake")]
            wanted |= set(BY_MODULE[name] if name in BY_MODULE else [w for w in of_its_own if w in shown] or of_its_own)
    assert len(wanted) > 15, "the patterns above no longer fit CMake's files"
    assert sorted(wanted - set(shown)) == []
    libraries = {w for w in shown if w.startswith(("library:", "cmake:"))}
    assert sorted(libraries - wanted - {"library:libgtest_main.a"}) == [], "nobody looks for these any more"
