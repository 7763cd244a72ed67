"""A CUDA runtime linked into a library is told by its texts: NVIDIA's own libcudart_static, linked here."""

from __future__ import annotations

import platform
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.doctor.fetched import Wheel, fetch
from tests.doctor_command import PLACE, judged

X86 = ("manylinux2014_x86_64", "manylinux_2_17_x86_64")
RUNTIMES = [
    (Wheel("nvidia-cuda-runtime-cu12==12.9.79", X86, megabytes=4), "12", "525.60.13"),
    (Wheel("nvidia-cuda-runtime==13.0.96", X86, megabytes=3), "13", "580.65.06"),
]
PROGRAM = "int cudaMalloc(void **, unsigned long);\nint take(void **p) { return cudaMalloc(p, 4); }\n"


@pytest.mark.parametrize(("wheel", "major", "driver"), RUNTIMES, ids=[r[1] for r in RUNTIMES])
def test_a_runtime_that_was_linked_in_is_found(wheel: Wheel, major: str, driver: str, tmp_path: Path) -> None:
    if shutil.which("cc") is None or platform.machine() != "x86_64":
        pytest.skip("no compiler for x86-64 here")
    with zipfile.ZipFile(fetch(wheel)) as content:
        (member,) = (n for n in content.namelist() if n.endswith("libcudart_static.a"))
        archive = content.extract(member, tmp_path)
    source, library = tmp_path / "take.c", tmp_path / "libtake.so"
    source.write_text(PROGRAM)
    # Without symbols, as wheels have it.
    subprocess.run(["cc", "-shared", "-fPIC", "-s", "-o", library, source, archive, "-ldl", "-lrt"], check=True)
    status, report = judged(library, "--gpu", "A100", "--driver", "450", *PLACE)
    (target,) = report["targets"]
    (binary,) = target["binaries"]
    assert (binary["cudart"], [n for n in binary["needed"] if "cudart" in n]) == (major, [])
    assert (status, [p["code"] for p in target["problems"]]) == (1, ["FF105"])
    assert target["problems"][0]["message"] == (
        f"cudart {major} needs driver {driver} or later; yours is for CUDA 11.0 (it is linked in)"
    )
    assert judged(library, "--gpu", "A100", "--driver", driver, *PLACE)[0] == 0
