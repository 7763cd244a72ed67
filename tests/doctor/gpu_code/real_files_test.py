"""The doctor's readers against NVIDIA's own cuobjdump, entry by entry, on libraries of a real wheel.

Both are fetched from the package registry into the cache; without a network there is nothing to compare, and the test
says so.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from tests.doctor.fetched import CUOBJDUMP_13, Wheel, fetch, fetch_cuobjdump, lines, tool

# Ten cubins and one PTX a library, LZ4; CUDA 12.x of 2024.
WHEEL = Wheel("cupy-cuda12x==13.3.0", ("manylinux2014_x86_64",), megabytes=91)
LIBRARIES = [
    "cupy/random/_generator_api.cpython-311-x86_64-linux-gnu.so",
    "cupy/cuda/cub.cpython-311-x86_64-linux-gnu.so",
    "cupy_backends/cuda/libs/cusparse.cpython-311-x86_64-linux-gnu.so",
]


@pytest.fixture(scope="module")
def cuobjdump() -> Path:
    return fetch_cuobjdump(CUOBJDUMP_13)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("libraries")
    with zipfile.ZipFile(fetch(WHEEL)) as wheel:
        return {name: Path(wheel.extract(name, folder)) for name in LIBRARIES}


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
