"""The table of PyTorch's releases (src/doctor/knowledge/torch_releases.cpp) against the package index and its wheels.

With FLASHFIT_TEST_WHEELS=all: that is where a release which the table lacks is noticed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections import Counter

import pytest

from tests.doctor.fetched import LARGE, Wheel, fetch, lines, tool

X86 = ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux1_x86_64")


def table() -> dict[str, dict[str, str]]:
    """By minor version: last (patch), python ("10-14"), cuda ("12080") and targets, of the package index's build."""
    rows = (line.split(maxsplit=5) for line in lines(tool(), "--torch"))
    return {
        r[1].rpartition(".")[0]: dict(zip(("last", "python", "cuda", "targets"), [r[1], *r[2:4], r[5]])) for r in rows
    }


def test_the_newest_release_of_the_package_index_is_in_the_table() -> None:
    if not LARGE:
        pytest.skip("asks the package index: FLASHFIT_TEST_WHEELS=all")
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", "torch", "--python-version=3.12", "--only-binary=:all:"],
        capture_output=True,
        text=True,
        check=False,
    )
    versions = re.findall(r"(\d+\.\d+)\.\d+(?=[,\s])", asked.stdout.partition("Available versions:")[2])
    if not versions:
        pytest.skip("the package index does not answer")
    missing = {v for v in versions if v.startswith("2.")} - set(table())
    assert not missing, "add a row of each to src/doctor/knowledge/torch_releases.cpp"


@pytest.mark.parametrize("version", ["2.4.1", "2.6.0", "2.8.0", "2.9.1", "2.11.0", "2.13.0", "2.15.0"])
def test_a_wheel_is_what_the_table_says(version: str) -> None:
    path = fetch(Wheel(f"torch=={version}", X86, megabytes=900, large=True))
    row = table()[version.rpartition(".")[0]]
    with zipfile.ZipFile(path) as wheel:
        text = wheel.read("torch/version.py").decode()
    major, minor = re.search(r"cuda[^=]*= '(\d+)\.(\d+)'", text).groups()  # type: ignore[union-attr]
    assert row["cuda"] == f"{int(major) * 1000 + int(minor) * 10}"
    containers, found = set(), Counter[tuple[str, str]]()
    for line in lines(tool(), "--facts", path):
        _, member, container, kind, target = line.split()
        if member == "torch/lib/libtorch_cuda.so":
            containers.add(container)
            found[kind, f"{target[3:-1]}.{target[-1]}"] += 1
    # A few sources are compiled for one GPU alone.
    usual = {entry for entry, count in found.items() if count > len(containers) / 2}
    targets = row["targets"].split()
    sass = {("elf", t.removesuffix("+PTX")) for t in targets}
    assert usual == sass | {("ptx", t.removesuffix("+PTX")) for t in targets if t.endswith("+PTX")}
