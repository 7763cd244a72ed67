"""examples/doctor as it is built: the doctor from C++, on wheels made by tests/inspect/make.cpp."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.inspect.fetched import tool

APEX = "apex-0.1-cp311-cp311-linux_x86_64.whl"
FLASH = "flash_attn-2.8.3+cu12torch2.7cxx11abiTRUE-cp311-cp311-linux_x86_64.whl"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    subprocess.run([tool().with_name("inspect_make"), folder], check=True)
    return folder


def fleet(made: Path, *words: str) -> subprocess.CompletedProcess[str]:
    program = tool().parents[1] / "examples/fleet"
    return subprocess.run([program, *words], cwd=made, capture_output=True, text=True, check=False, timeout=60)


def test_each_file_is_judged_for_each_gpu(made: Path) -> None:
    ran = fleet(made, APEX, FLASH, "--", "L40", "sm_90")
    lines = ran.stdout.splitlines()
    assert ran.returncode == 1
    assert lines[:4] == [
        f"{APEX}: misfit",
        "  fused_layer_norm_cuda.cpython-311-x86_64-linux-gnu.so on L40: nothing for 0 of 1 containers",
        "  fused_layer_norm_cuda.cpython-311-x86_64-linux-gnu.so on sm_90: machine code for 1 of 1 containers",
        "  FF101 misfit SASS 9.0a, no PTX. L40 is 8.9; 9.0a runs only on 9.0",
    ]
    assert f"{FLASH}: fits" in lines
    assert fleet(made, FLASH, "--", "L40", "sm_90").returncode == 0


def test_what_is_wrong_is_said_in_one_line(made: Path) -> None:
    ran = fleet(made, FLASH, "--", "L40X")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert "'L40X': not known; did you mean" in ran.stderr
    assert fleet(made, FLASH).stderr == "usage: fleet FILE... -- GPU...\n"
    ran = fleet(made, "absent.whl", "--", "L40")
    assert ran.returncode == 2
    assert "FF903" in ran.stdout
