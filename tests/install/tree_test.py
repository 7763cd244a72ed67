"""The tree that `cmake --install` makes, moved to another place, as C and C++ users meet it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
C_EXAMPLES = sorted((ROOT / "examples").glob("*.c"))
CXX_EXAMPLES = sorted((ROOT / "examples").glob("*.cpp"))
#: As the header and the package have it.
MAJOR, MINOR = re.findall(r"\d+", (ROOT / "python/flashfit/_version.py").read_text())[:2]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def build_folder() -> Path:
    """The build whose library the other tests load."""
    library = os.environ.get("FLASHFIT_LIBRARY")
    return Path(library).resolve().parents[1] if library else ROOT / "build"


def run(*command: str | Path, **environment: str) -> str:
    result = subprocess.run(
        [str(c) for c in command], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f"{result.args}: {result.stdout[-2000:]}{result.stderr[-2000:]}"
    return result.stdout


def check_example(source: Path, program: Path, **environment: str) -> None:
    """Runs a built example; what each must print follows from its text."""
    if source.stem == "driver_memory":  # 77: it was built and started, but has no GPU to try
        wrapped = ("sh", "-c", '"$0"; status=$?; [ $status = 77 ] || exit $status', program)
        assert run(*wrapped, **environment).startswith(("no driver or no GPU here", "GPU and CPU differ"))
        return
    output = run(program, **environment)
    if source.stem == "hello":
        # softmax([1 / sqrt(2), 0]) weighs the values [1, 2] and [3, 4].
        assert output == "1.66048 2.66048\n"
    else:
        assert output.strip()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An install tree that was moved after its installation, so that a path of the first place leads nowhere."""
    folder = tmp_path_factory.mktemp("install")
    run("cmake", "--install", build_folder(), "--prefix", folder / "first")
    moved = folder / "moved elsewhere"
    (folder / "first").rename(moved)
    return moved


def check_headers(tree: Path, used: str) -> None:
    """dlpack.h is the tree's own, so that no system needs one."""
    used = used.replace("\\ ", " ")
    assert f"{tree.name}/include/flashfit/third_party/dlpack/dlpack.h" in used.replace("/lib/pkgconfig/../..", "")
    assert "/usr/include/dlpack" not in used


def libraries(tree: Path) -> Path:
    """lib, or lib64 where that is the system's custom."""
    return next(p for p in tree.glob("lib*") if p.is_dir())


def test_holds_what_users_need(tree: Path) -> None:
    lib = libraries(tree)
    expected = [
        tree / "bin/flashfit",
        tree / "include/flashfit/flashfit.h",
        tree / "include/flashfit/third_party/dlpack/dlpack.h",
        tree / "share/doc/flashfit/LICENSE",
        tree / "share/doc/flashfit/NOTICE",
        lib / "libflashfit.so",
        *(lib / "cmake/flashfit" / f"flashfit{f}.cmake" for f in ("Config", "ConfigVersion", "Targets")),
        lib / "pkgconfig/flashfit.pc",
    ]
    assert [p for p in expected if not p.exists()] == []
    for header in (ROOT / "include/flashfit").iterdir():
        assert (tree / "include/flashfit" / header.name).read_bytes() == header.read_bytes()


def test_no_file_names_the_place_it_was_built_or_installed_to(tree: Path) -> None:
    for file in [*tree.rglob("*.cmake"), *tree.rglob("*.pc")]:
        text = file.read_text()
        assert str(tree.parent) not in text, file
        assert str(ROOT) not in text, file


def test_the_command_runs(tree: Path) -> None:
    assert run(tree / "bin/flashfit", "--version").startswith("flashfit ")
    run(tree / "bin/flashfit", "images")


@pytest.mark.parametrize("standard", ["17", "20"])
def test_cmake_users(tree: Path, tmp_path: Path, standard: str) -> None:
    sources = [*C_EXAMPLES, *CXX_EXAMPLES]
    run(
        "cmake",
        *("-S", Path(__file__).parent / "consumer", "-B", tmp_path, "-G", "Ninja"),
        *(f"-DCMAKE_PREFIX_PATH={tree}", f"-DEXAMPLES={';'.join(map(str, sources))}"),
        *(
            f"-DWANTED={MAJOR}.{MINOR}",
            "-DCMAKE_C_STANDARD=99",
            f"-DCMAKE_CXX_STANDARD={standard}",
            "-DCMAKE_CXX_STANDARD_REQUIRED=ON",
        ),
    )
    run("cmake", "--build", tmp_path)
    check_headers(tree, run("ninja", "-C", tmp_path, "-t", "deps"))
    for source in sources:
        check_example(source, tmp_path / source.name.replace(".", "_"))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (f"{MAJOR}.{MINOR}", True),
        (f"{MAJOR}.{MINOR}.0", True),
        (f"{MAJOR}.{int(MINOR) - 1}", False),
        (f"{MAJOR}.{int(MINOR) + 1}", False),
        (f"{int(MAJOR) + 1}.{MINOR}", False),
    ],
)
def test_cmake_finds_only_versions_that_serve(tree: Path, tmp_path: Path, wanted: str, found: bool) -> None:
    lines = ["cmake_minimum_required(VERSION 3.22)", "project(wants LANGUAGES NONE)"]
    lines.append(f"find_package(flashfit {wanted} CONFIG REQUIRED)")
    (tmp_path / "CMakeLists.txt").write_text("\n".join(lines))
    command = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), f"-DCMAKE_PREFIX_PATH={tree}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode == 0) == found, result.stderr


@pytest.mark.parametrize(
    ("source", "standard"),
    [*((s, "c99") for s in C_EXAMPLES), *((s, f"c++{n}") for s in CXX_EXAMPLES for n in ("17", "20"))],
    ids=lambda x: x.name if isinstance(x, Path) else x,
)
def test_pkg_config_users(tree: Path, tmp_path: Path, source: Path, standard: str) -> None:
    assert shutil.which("pkg-config"), "pkg-config is missing (the Debian package of that name)"
    found = {"PKG_CONFIG_PATH": str(libraries(tree) / "pkgconfig")}
    # pkg-config escapes what a shell would split.
    flags = run("pkg-config", "--cflags", "--libs", "flashfit", **found).strip()
    compiler = os.environ.get("CC", "cc") if source.suffix == ".c" else os.environ.get("CXX", "c++")
    strict = " ".join([f"-std={standard}", *STRICT])
    run("sh", "-c", f"exec {compiler} {strict} -MMD -MF '{tmp_path}/used' '{source}' -o '{tmp_path}/program' {flags}")
    check_headers(tree, (tmp_path / "used").read_text())
    check_example(source, tmp_path / "program", LD_LIBRARY_PATH=str(libraries(tree)))
