"""GPU memory through the driver alone, with the fake driver."""

from __future__ import annotations

import pytest

from tests.job.fake_driver import with_fake_driver

START = """
import ctypes, gc, numpy as np, flashfit
from tools.job.cuda_array import CudaArray, timed
fake = ctypes.CDLL("libcuda.so.1")
"""


def prints(code: str, kind: str = "whole", **environment: str) -> str:
    """The last line that the code prints or fails with."""
    done = with_fake_driver(START + code, kind, **environment)
    return (done.stdout + done.stderr).strip().splitlines()[-1]


@pytest.mark.parametrize(
    "array", ["np.arange(60, dtype='f2').reshape(3, 4, 5)", "np.arange(60.)[::-2]", "np.empty((0, 3))"]
)
def test_what_is_copied_there_comes_back(array: str) -> None:
    code = f"x = {array}; y = CudaArray.of(x).numpy(); print(y.dtype == x.dtype, np.array_equal(x, y))"
    assert prints(code) == "True True"


@pytest.mark.parametrize("shape", [(7, 9), (2, 2), (1, 5), (31, 4), (0, 3)])
def test_repeated_values(shape: tuple[int, int]) -> None:
    code = (
        f"x = np.arange(5, dtype='f2'); print((CudaArray.repeating({shape}, x).numpy() == np.resize(x, {shape})).all())"
    )
    assert prints(code) == "True"


def test_rows() -> None:
    code = "x = np.arange(60.).reshape(5, 3, 4); print((CudaArray.of(x).rows(2, 4) == x[2:4]).all())"
    assert prints(code) == "True"


def test_poison_is_nan() -> None:
    assert prints("print(np.isnan(CudaArray.poisoned((3, 5), 'f2').numpy()).all())") == "True"


def test_memory_is_freed_with_the_object() -> None:
    code = """
x = CudaArray((1000,), 'f2')
before = fake.fake_cuda_allocations()
del x
gc.collect()
print(before, fake.fake_cuda_allocations())
"""
    assert prints(code) == "1 0"


def test_flashfit_reads_it() -> None:
    code = """
q, out = CudaArray.of(np.ones((1, 16, 2, 64), 'f2')), CudaArray.poisoned((1, 16, 2, 64), 'f2')
flashfit.attention(q, q, q, out=out)
print(fake.fake_cuda_launches())
"""
    assert prints(code) == "1"


DECODE = """
q, out = CudaArray.of(np.ones((1, 1, 2, 64), 'f2')), CudaArray.poisoned((1, 1, 2, 64), 'f2')
k, made = CudaArray.of(np.ones((1, 8192, 2, 64), 'f2')), CudaArray.workspace()
"""


def test_one_query_of_many_keys_is_cut_into_parts_that_lie_in_the_workspace() -> None:
    code = """
before = fake.fake_cuda_allocations()
for _ in range(2):
    flashfit.attention(q, k, k, out=out, workspace=made)
print(fake.fake_cuda_launches(), fake.fake_cuda_allocations() - before)
"""
    assert prints(DECODE + code) == "4 1"  # parts and what combines them, twice; one piece of memory


def test_without_a_workspace_the_call_says_what_it_wants() -> None:
    code = """
try:
    flashfit.attention(q, k, k, out=out)
except flashfit.InvalidArgument as error:
    print(error, fake.fake_cuda_launches())
"""
    words = prints(DECODE + code)
    assert words.startswith("workspace: None; accepted: an object with __cuda_array_interface__ of ")
    assert words.endswith(" 0")


def test_no_refusal_is_logged_of_a_call_that_gets_its_workspace() -> None:
    done = with_fake_driver(START + DECODE + "flashfit.attention(q, k, k, out=out, workspace=made)", FLASHFIT_LOG="1")
    assert done.returncode == 0
    assert "B workspace" in done.stderr
    assert "refused" not in done.stderr


def test_times_are_the_events_shared_by_the_calls() -> None:
    # The fake's events are 1 ms apart: more than a sample needs, so one call a graph.
    code = "calls = []; print(timed(calls.append, 3), len(calls), len(set(calls)), calls[0] != 0)"
    assert prints(code) == "[0.001, 0.001, 0.001] 5 1 True"


def test_an_error_names_the_call_and_the_code() -> None:
    words = prints("CudaArray((2**45,), 'f2')")
    assert words == "flashfit._errors.CudaError: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2)"
    words = prints("CudaArray((1,), 'f2')", FAKE_CUDA_FAIL="cuInit:802")
    assert words == "flashfit._errors.CudaError: cuInit: CUDA_ERROR_SYSTEM_NOT_READY (802)"


def test_no_driver_is_said() -> None:
    words = prints("CudaArray((1,), 'f2')".join(["fake = None; ", ""]), kind="damaged")
    assert "libcuda.so.1" in words
