"""What ./dev says to a wrong word, without building anything."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def dev(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(ROOT / "dev"), *arguments], cwd=folder, capture_output=True, text=True, check=False)


def test_help_lists_every_verb() -> None:
    known = re.findall(
        r"^  ([a-z]+)(?: \| [-a-z |]+)?\)", (ROOT / "dev").read_text().split("case $verb in")[1], re.MULTILINE
    )
    listed = re.findall(r"^  ([a-z]+) ", dev("help").stdout, re.MULTILINE)
    assert sorted(known) == sorted(listed)
    verbs = {"run", "test", "build", "wheel", "matrix", "lint", "images", "fuzz", "charts", "gpu", "clean", "help"}
    assert set(listed) == verbs


def test_help_lists_every_target_of_the_doctor() -> None:
    targets = {path.stem.removesuffix("_fuzz") for path in (ROOT / "tests").glob("*/fuzz/*_fuzz.cpp")}
    (listed,) = re.findall(r"each for SECS of processor time: ([^;]*), or\s+all;", dev("help").stdout)
    assert set(re.split(r",\s+", listed)) == targets


def test_no_verb_is_help() -> None:
    assert dev().stdout == dev("help").stdout == dev("--help").stdout


def test_from_any_folder(tmp_path: Path) -> None:
    assert dev("help", folder=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["tset"], 2, "dev: 'tset' is not a verb; ./dev help lists them"),
        (["build", "--target", "9.0"], 1, "dev: build: '--target' is not an option; see ./dev help"),
        (["build", "--targets"], 1, "dev: --targets needs a list such as 8.9,9.0"),
        (
            ["build", "--nvrtc", "no/such.so"],
            1,
            "dev: --nvrtc needs the path of a libnvrtc.so; 'no/such.so' is not there",
        ),
        (["images", "all"], 1, "dev: images: 'all' is not an option; see ./dev help"),
        (["wheel", "--tests"], 1, "dev: wheel: '--tests' is not an option; see ./dev help"),
        (["matrix", "3.12"], 1, "dev: matrix: '3.12' is not an option; see ./dev help"),
        (["matrix", "--seconds"], 1, "dev: matrix: '--seconds' is not an option; see ./dev help"),
        (["test", "--fast"], 1, "dev: test: '--fast' is not an option; see ./dev help"),
        (["fuzz", "long"], 1, "dev: fuzz: 'long' is not a number of seconds"),
        (["fuzz", "60", "zap"], 1, "dev: fuzz: 'zap' is not a target; see ./dev help"),
        (["fuzz", "60", "zip", "c_api"], 1, "dev: fuzz: c_api runs alone"),
        (["lint", "src"], 1, "dev: lint: 'src' is not an option; see ./dev help"),
    ],
)
def test_a_wrong_word_is_one_clear_line(arguments: list[str], status: int, message: str) -> None:
    result = dev(*arguments)
    assert (result.returncode, result.stderr.strip()) == (status, message)


def test_gpu_says_what_it_lacks_and_sets_nothing_up(tmp_path: Path) -> None:
    shutil.copy(ROOT / "dev", tmp_path)
    result = subprocess.run([str(tmp_path / "dev"), "gpu"], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("dev: build/lib/libflashfit.so is missing: run ./dev build first")
    assert [p.name for p in tmp_path.iterdir()] == ["dev"]


def test_gpu_hands_its_arguments_to_the_system_python(tmp_path: Path) -> None:
    shutil.copy(ROOT / "dev", tmp_path)
    (tmp_path / "build/lib").mkdir(parents=True)
    (tmp_path / "build/lib/libflashfit.so").touch()
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/gpu_check.py").write_text("import os, sys\nprint(sys.argv[1:], os.environ['PYTHONPATH'])\n")
    result = subprocess.run([str(tmp_path / "dev"), "gpu", "--out", "a b"], capture_output=True, text=True, check=False)
    assert result.stdout == "['--out', 'a b'] python\n", result.stderr


def test_clean_removes_what_was_made_and_nothing_else(tmp_path: Path) -> None:
    shutil.copy(ROOT / "dev", tmp_path)
    for made in ("build", "build-asan", "dist", ".venv", ".mypy_cache", "src", "out"):
        (tmp_path / made).mkdir()
    subprocess.run([str(tmp_path / "dev"), "clean"], check=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dev", "out", "src"]


def test_an_old_python_is_named(tmp_path: Path) -> None:
    for name in ("dev", "requirements/run.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name, body in {
        "tools/dev/system.sh": "exit 0",
        "bin/python3": 'case "$1" in -c) exit 1 ;; *) echo Python 3.8.1 ;; esac',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    result = subprocess.run(
        [str(tmp_path / "dev"), "build"],
        env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert result.stderr == f"dev: {tmp_path}/bin/python3 is Python 3.8.1; Python 3.9 or newer is needed\n"


def executable(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_ccache_that_comes_later_configures_nothing_anew(tmp_path: Path) -> None:
    """What was compiled without ccache stays: ninja compiles anew when a command changes."""
    shutil.copy(ROOT / "dev", tmp_path)
    for stub in ("tools/dev/system.sh", "tools/dev/isal.sh", "bin/c++"):
        executable(tmp_path / stub, "exit 0")
    executable(
        tmp_path / "bin/cmake",
        f'case $1 in -S) echo "$@" >>{tmp_path}/configured; mkdir -p build/lib; touch build/build.ninja ;; esac',
    )
    (tmp_path / "nvrtc.so").touch()
    (without := tmp_path / "without").mkdir()
    for tool in ("bash", "env", "dirname", "readlink", "nproc", "realpath", "cat", "mkdir", "touch", "git", "sed"):
        (without / tool).symlink_to(shutil.which(tool) or "")
    for path in (f"{tmp_path}/bin:{without}", f"{tmp_path}/bin:{without}:{tmp_path}/later"):
        executable(tmp_path / "later/ccache", "exit 0")
        subprocess.run(
            [str(tmp_path / "dev"), "build", "--nvrtc", "nvrtc.so"],
            cwd=tmp_path,
            env={"PATH": path, "HOME": str(tmp_path)},
            check=True,
        )
    (configured,) = (tmp_path / "configured").read_text().splitlines()
    assert "-DCMAKE_CXX_COMPILER_LAUNCHER=" in configured


@pytest.mark.parametrize("there", [False, True])
def test_compiles_through_ccache_where_it_is_there(tmp_path: Path, there: bool) -> None:
    for tool in ("sh", "env", "dirname"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "")
    if there:
        executable(tmp_path / "ccache", 'echo "ccache $CCACHE_DIR $CCACHE_BASEDIR: $@"')
    executable(tmp_path / "c++", 'echo "c++ $@"')
    said = subprocess.run(
        [str(ROOT / "tools/dev/compile.sh"), "/store", "c++", "-c", "a b.cpp"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said == (f"ccache /store {ROOT}: c++ -c a b.cpp\n" if there else "c++ -c a b.cpp\n")
