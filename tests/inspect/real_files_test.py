"""The doctor's readers against NVIDIA's own cuobjdump, entry by entry, on libraries of a real wheel.

Both are fetched from the package registry into the cache; without a network there is nothing to compare, and the test
says so.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CUOBJDUMP = "nvidia-cuda-cuobjdump==13.5.37"
# Ten cubins and one PTX a library, LZ4; CUDA 12.x of 2024.
WHEEL = "cupy-cuda12x==13.3.0"
LIBRARIES = [
    "cupy/random/_generator_api.cpython-311-x86_64-linux-gnu.so",
    "cupy/cuda/cub.cpython-311-x86_64-linux-gnu.so",
    "cupy_backends/cuda/libs/cusparse.cpython-311-x86_64-linux-gnu.so",
]


def tool() -> Path:
    library = os.environ.get("FLASHFIT_LIBRARY")
    build = Path(library).resolve().parents[1] if library else ROOT / "build"
    return build / "tests" / "inspect_list"


def cache() -> Path:
    folder = Path(os.environ.get("FLASHFIT_CACHE") or Path.home() / ".cache/flashfit") / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def fetch(requirement: str) -> Path:
    """The wheel for CPython 3.11 on x86-64 Linux, from the cache or the registry; skips where neither has it."""
    name = requirement.split("==")[0].replace("-", "_")
    if not (found := sorted(cache().glob(f"{name}-*.whl"))):
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--timeout=10"]
        where = ["--python-version=3.11", "--platform=manylinux2014_x86_64", f"--dest={cache()}", requirement]
        if subprocess.run([*pip, *where], capture_output=True, check=False).returncode != 0:
            pytest.skip(f"{requirement} cannot be fetched: no network?")
        found = sorted(cache().glob(f"{name}-*.whl"))
    return found[-1]


@pytest.fixture(scope="module")
def cuobjdump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cuobjdump")
    with zipfile.ZipFile(fetch(CUOBJDUMP)) as wheel:
        (member,) = (n for n in wheel.namelist() if n.endswith("bin/cuobjdump"))
        path = Path(wheel.extract(member, folder))
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("libraries")
    with zipfile.ZipFile(fetch(WHEEL)) as wheel:
        return {name: Path(wheel.extract(name, folder)) for name in LIBRARIES}


def lines(*command: str | Path) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


@pytest.mark.parametrize("name", LIBRARIES)
def test_entries_are_those_that_cuobjdump_lists(name: str, cuobjdump: Path, libraries: dict[str, Path]) -> None:
    theirs = Counter(
        ("elf" if match[2] == "cubin" else "ptx", match[1])
        for line in lines(cuobjdump, "-lelf", "-lptx", libraries[name])
        if (match := re.search(r"\.(sm_\w+)\.(cubin|ptx)$", line))
    )
    ours = Counter(
        (kind, target)
        for line in lines(tool(), libraries[name])
        if line.startswith("entry ")
        for kind, target in [line.split()[3:5]]
    )
    assert ours == theirs
    assert bool(ours) == ("libs/" not in name)


def test_kernels_have_the_resources_that_cuobjdump_prints(cuobjdump: Path, libraries: dict[str, Path]) -> None:
    usage = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+)")
    theirs = [
        tuple(map(int, m.groups()))
        for line in lines(cuobjdump, "-res-usage", libraries[LIBRARIES[0]])
        if (m := usage.search(line))
    ]
    own = re.compile(r"^kernel .* registers=(\d+) stack=(\d+) shared=(\d+)")
    ours = [
        tuple(map(int, m.groups()))
        for line in lines(tool(), "--images", libraries[LIBRARIES[0]])
        if (m := own.search(line))
    ]
    assert len(ours) > 100
    assert Counter(ours) == Counter(theirs)


def test_a_wheel_in_place_holds_what_its_libraries_do(libraries: dict[str, Path]) -> None:
    found = lines(tool(), fetch(WHEEL))
    assert not [line for line in found if line.startswith(("error", "doubtful"))]
    for name, path in libraries.items():
        inside = [line.split()[2:] for line in found if line.startswith("entry ") and f"!{name} " in line]
        alone = [line.split()[2:] for line in lines(tool(), path) if line.startswith("entry ")]
        assert inside == alone
