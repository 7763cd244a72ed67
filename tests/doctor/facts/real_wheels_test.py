"""What the doctor finds in wheels of many makers, ages and platforms, against NVIDIA's own cuobjdump, entry by entry.

The doctor reads the wheel in place; cuobjdump gets each member on its own. No version of cuobjdump reads them all, and
none reads Windows' libraries: of those it gets each container, cut out by its magic here.
"""

from __future__ import annotations

import re
import struct
import subprocess
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.doctor.fetched import CUOBJDUMP_12, CUOBJDUMP_13, Wheel, fetch, fetch_cuobjdump, lines, tool

X86_OLD = ("manylinux2014_x86_64", "manylinux1_x86_64", "manylinux_2_17_x86_64")
X86 = ("manylinux_2_28_x86_64", "manylinux_2_24_x86_64")
ARM = ("manylinux2014_aarch64", "manylinux_2_24_aarch64")
RAPIDS_ARM = ("manylinux_2_28_aarch64", "manylinux_2_26_aarch64")
WINDOWS = ("win_amd64",)
MAGIC = b"\x50\xed\x55\xba"


@dataclass(frozen=True)
class Case:
    """A wheel, how cuobjdump reads it, and what it is in the list for."""

    wheel: Wheel
    why: str
    entries: int  #: in all: a reader that finds nothing agrees with another that finds nothing
    cuobjdump: Wheel = CUOBJDUMP_13
    unread: tuple[str, ...] = ()  #: members that this cuobjdump cannot read, though the doctor can


CASES = [
    Case(Wheel("torchvision==0.24.1", X86, megabytes=8), "PyTorch's, of 2025; a library of NVIDIA's vendored", 195),
    Case(Wheel("torchao==0.14.1", X86, megabytes=7), "9.0a and 10.0a; modules of abi3 and of one Python", 23),
    Case(Wheel("jax-cuda12-plugin==0.6.2", ARM, megabytes=16), "Google's, for aarch64; 5.0 to 12.0", 32),
    Case(Wheel("jax-cuda11-plugin==0.4.23", X86_OLD, megabytes=12), "CUDA 11.8, of 2023", 12),
    Case(Wheel("ctranslate2==4.6.0", WINDOWS, megabytes=20), "OpenNMT's, for Windows; PTX beside SASS", 192),
    Case(Wheel("nvidia-nvjpeg-cu12==12.4.0.76", WINDOWS, megabytes=5), "NVIDIA's own, for Windows", 175),
    Case(
        Wheel("bitsandbytes==0.46.0", ARM, megabytes=26),
        "for aarch64; one library for each CUDA",
        102,
        unread=tuple(f"bitsandbytes/libbitsandbytes_cuda{v}.so" for v in (120, 121, 122)),
    ),
    Case(Wheel("cupy-cuda12x==13.3.0", X86_OLD, megabytes=91), "Preferred Networks', of 2024; all LZ4", 33),
    Case(Wheel("faiss-gpu-cu12==1.14.1.post1", X86_OLD, megabytes=48), "FAISS, of 2026; a library beside it", 364),
    Case(
        Wheel("libraft-cu12==26.10.0", RAPIDS_ARM, megabytes=26),
        "RAPIDS', for aarch64; 10.0f, and 12.0a beside 12.0",
        108,
    ),
    Case(Wheel("warp-lang==1.4.2", WINDOWS, megabytes=56), "NVIDIA's, for Windows; PTX beside SASS", 10),
    Case(
        Wheel("torchaudio==2.2.0", X86_OLD, megabytes=4),
        "CUDA 12.1, whose cubins 13.x does not read",
        48,
        cuobjdump=CUOBJDUMP_12,
    ),
    Case(Wheel("bitsandbytes==0.46.0", ARM, megabytes=26), "all of it by the older tool", 102, cuobjdump=CUOBJDUMP_12),
    Case(
        Wheel("gpu4pyscf-cuda12x==1.9.0", X86_OLD, megabytes=99, large=True),
        "PySCF's, of 2026; eleven libraries, six of them linked with -rdc",
        414,
    ),
    Case(
        Wheel("spconv-cu120==2.3.6", X86_OLD, megabytes=76, large=True),
        "sparse convolutions, of 2023; 606 containers of CUDA 12.0 in one module",
        4077,
        cuobjdump=CUOBJDUMP_12,
    ),
    Case(
        Wheel("bitsandbytes==0.45.0", WINDOWS, megabytes=69, large=True),
        "for Windows; CUDA 11.7 to 12.6",
        279,
        cuobjdump=CUOBJDUMP_12,
    ),
]


def listed(cuobjdump: Path, file: Path) -> Counter[tuple[str, str]]:
    """Kind and target of each entry that cuobjdump lists; relocatable code as well."""
    done = subprocess.run([cuobjdump, "-lelf", "-lptx", "-all", file], capture_output=True, text=True, check=False)
    assert "fatal" not in done.stderr, done.stderr.strip()
    found = re.findall(r"\.(sm_\w+)\.(cubin|ptx)$", done.stdout, re.MULTILINE)
    return Counter(("elf" if kind == "cubin" else "ptx", target) for target, kind in found)


def containers(data: bytes) -> list[bytes]:
    """Every container of a file, found by its magic, version and header length."""
    found, at = [], data.find(MAGIC)
    while at >= 0:
        size = 4
        if struct.unpack_from("<HH", data, at + 4) == (1, 16):
            size = 16 + struct.unpack_from("<Q", data, at + 8)[0]
            found.append(data[at : at + size])
        at = data.find(MAGIC, at + size)
    return found


def theirs(cuobjdump: Path, data: bytes, folder: Path) -> Counter[tuple[str, str]]:
    pieces = containers(data) if data.startswith(b"MZ") else [data]
    total: Counter[tuple[str, str]] = Counter()
    for piece in pieces:
        file = folder / "piece"
        file.write_bytes(piece)
        total += listed(cuobjdump, file)
    return total


@pytest.mark.parametrize("case", CASES, ids=[f"{c.wheel.requirement}-{c.cuobjdump.requirement}" for c in CASES])
def test_entries_are_those_that_cuobjdump_lists(case: Case, tmp_path: Path) -> None:
    cuobjdump, path = fetch_cuobjdump(case.cuobjdump), fetch(case.wheel)
    found = lines(tool(), "--facts", path)
    assert not [line for line in found if not line.startswith("entry ")]
    ours: dict[str, Counter[tuple[str, str]]] = {}
    for line in found:
        _, member, _, kind, target = line.split()
        # No cuobjdump shows that machine code is a family's.
        ours.setdefault(member, Counter())[kind, target.removesuffix("f") if kind == "elf" else target] += 1
    assert sum(sum(entries.values()) for entries in ours.values()) == case.entries
    with zipfile.ZipFile(path) as wheel:
        for member in wheel.namelist():
            if re.search(r"\.(so|dll|pyd)($|\.)", member) and member not in case.unread:
                assert ours.get(member, Counter()) == theirs(cuobjdump, wheel.read(member), tmp_path), member
    assert set(case.unread) <= set(ours)
