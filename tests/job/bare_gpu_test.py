"""The main job on a GPU without PyTorch, with the fake driver: its kernels compute nothing, or here the CPU does."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from tests.job.fake_driver import with_fake_driver
from tools.job import bare_gpu

# One window list: the others want gigabytes.
FEW = """
import ctypes, sys
import flashfit, numpy as np
from tools.job import cases
load = cases.load
cases.load = lambda group: load(group)[-2:] if group == "ragged" else load(group)
"""
# The fake's memory is the host's: the CPU backend stands in for the kernels.
ON_THE_CPU = """
def host(x):
    if not hasattr(x, '__cuda_array_interface__'):
        return x
    i = x.__cuda_array_interface__
    count = int(np.prod(i['shape'])) * int(i['typestr'][2:])
    return np.frombuffer((ctypes.c_char * count).from_address(i['data'][0]), i['typestr']).reshape(i['shape'])
right = flashfit.attention
def attention(*tensors, stream=None, **options):
    return right(*map(host, tensors), **{name: host(x) for name, x in options.items()})
flashfit.attention = attention
"""


def run(prelude: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    argv = ["main_job.py", "--without-torch", *arguments]
    code = f"{prelude}\nimport runpy\nsys.argv = {argv!r}\nrunpy.run_path('tools/main_job.py', run_name='__main__')"
    return with_fake_driver(code, FAKE_CUDA_GPUS="NVIDIA H200:90", **environment)


def test_shapes_are_held_to_fp64_and_timed(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done = run(FEW + ON_THE_CPU, "--only", "shapes", "--json", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(file.read_text())
    assert len(report["shapes"]) == 7 + 2
    assert all(
        len(shape["seconds"]["flashfit"]) == bare_gpu.ROUNDS and shape["tflops"] > 0 for shape in report["shapes"]
    )
    assert {check["backend"] for check in report["checks"]} == {"NVIDIA H200"}
    assert len(report["checks"]) == 7 + 2 * 2
    assert "== 3." not in done.stdout


def test_what_is_not_written_fails_and_is_not_timed(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done = run(FEW, "--only", "shapes", "--json", str(file))
    assert done.returncode == 1, done.stderr
    assert "FAILED: B1 S512 H8 D64 fp16 full: 262144 elements were not written" in done.stdout
    report = json.loads(file.read_text())
    assert not any("seconds" in shape for shape in report["shapes"])
    assert not any(check["passed"] for check in report["checks"])


def test_one_wrong_element_fails_and_is_not_timed(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    wrong = """
def wrong(*tensors, **options):
    attention(*tensors, **options)
    host(options['out']).reshape(-1)[3] += 0.05
flashfit.attention = wrong
"""
    done = run(FEW + ON_THE_CPU + wrong, "--only", "shapes", "--json", str(file))
    assert done.returncode == 1
    assert (
        "FAILED: SeedVR2 1 frame 720x1280, 16 shifted windows H20 D128 fp16 full, head 0 of 149 tokens" in done.stdout
    )
    right = {shape["case"]: "seconds" in shape for shape in json.loads(file.read_text())["shapes"]}
    assert right["SeedVR2 1 frame 720x1280, 16 shifted windows H20 D128 fp16 full"] is False


def test_a_failing_call_is_a_failed_check() -> None:
    done = run(FEW, "--only", "shapes", FAKE_CUDA_FAIL="cuLaunchKernelEx:700")
    assert done.returncode == 1
    assert "FAILED: B1 S512 H8 D64 fp16 full: " in done.stdout
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in done.stdout


FEW_SENTENCES = """
from tools.job import sentences
sentences.of_docs = lambda root: ['A few sentences are enough.', 'They are of two lengths, this one is longer.']
"""


def test_the_model_runs_on_the_gpu_too(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done = run(FEW + FEW_SENTENCES + ON_THE_CPU, "--only", "model", "--json", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    backends = [r["backend"] for r in json.loads(file.read_text())["model"]["runs"]]
    assert backends == ["NumPy", "CPU", "CPU", "NVIDIA H200"]


def test_a_model_that_fails_on_the_gpu_is_a_failed_check() -> None:
    done = run(FEW + FEW_SENTENCES, "--only", "model", FAKE_CUDA_FAIL="cuLaunchKernelEx:700")
    assert done.returncode == 1
    assert "FAILED: MiniLM fp16: cuLaunchKernelEx: CUDA_ERROR_ILLEGAL_ADDRESS" in done.stdout
    assert "by MiniLM fp16 on the CPU" in done.stdout


def test_of_windows_the_longest_and_the_shortest_are_held() -> None:
    case = next(c for c in bare_gpu.cases() if "1 frame 720x1280, 16 shifted" in c.label)
    lengths = case.lengths_q or ()
    copied: list[tuple[int, int]] = []

    class Rows:
        def rows(self, start: int, stop: int) -> Any:
            copied.append((start, stop))
            return np.zeros((stop - start, case.heads, case.head_dim))

    for _, copy in bare_gpu.parts(case):
        x: Any = Rows()
        held = copy(x)
        start, stop = copied[-1]
        assert held.shape == (1, stop - start, 1, 128)
    ends = np.cumsum(lengths).tolist()
    assert [stop - start for start, stop in copied] == [max(lengths), min(lengths)]
    assert all(start in [0, *ends] and stop in ends for start, stop in copied)


def test_no_two_rows_of_a_sequence_are_alike() -> None:
    for case in bare_gpu.cases():
        if case.lengths_q:
            assert max(case.lengths_q) * case.heads * case.head_dim < bare_gpu.DRAWN
    assert all(bare_gpu.DRAWN % d for d in range(2, int(bare_gpu.DRAWN**0.5) + 1))
