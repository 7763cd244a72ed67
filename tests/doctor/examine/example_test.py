"""examples/doctor as it is built: the doctor from C++, on wheels made by tests/doctor/made/make.cpp."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.doctor.fetched import tool
from tests.doctor_command import APEX, NEW_ABI


def fleet(made: Path, *words: str) -> subprocess.CompletedProcess[str]:
    program = tool().parents[1] / "examples/fleet"
    return subprocess.run([program, *words], cwd=made, capture_output=True, text=True, check=False, timeout=60)


def test_each_file_is_judged_for_each_gpu(made: Path) -> None:
    ran = fleet(made, APEX, NEW_ABI, "--", "L40", "sm_90")
    lines = ran.stdout.splitlines()
    assert ran.returncode == 1
    assert lines[:4] == [
        f"{APEX}: misfit",
        "  fused_layer_norm_cuda.cpython-311-x86_64-linux-gnu.so on L40: nothing for 0 of 1 containers",
        "  fused_layer_norm_cuda.cpython-311-x86_64-linux-gnu.so on sm_90: machine code for 1 of 1 containers",
        "  FF101 misfit SASS 9.0a, no PTX. L40 is 8.9; 9.0a runs only on 9.0",
    ]
    assert f"{NEW_ABI}: fits" in lines
    assert fleet(made, NEW_ABI, "--", "L40", "sm_90").returncode == 0


def test_what_is_wrong_is_said_in_one_line(made: Path) -> None:
    ran = fleet(made, NEW_ABI, "--", "L40X")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert "'L40X': not known; did you mean" in ran.stderr
    assert fleet(made, NEW_ABI).stderr == "usage: fleet FILE... -- GPU...\n"
    ran = fleet(made, "absent.whl", "--", "L40")
    assert ran.returncode == 2
    assert "FF903" in ran.stdout
