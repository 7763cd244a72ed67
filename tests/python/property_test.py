"""Any valid call of flashfit.attention is right, and writes nothing but its output."""

from __future__ import annotations

from typing import Any

import flashfit
import numpy as np
import pytest
from hypothesis import given, settings

from tests.python.compare import expect_right
from tests.python.problems import INPUTS, Problem, problems

# Weights, and their products with v, are summed in blocks of 64 keys (docs/numerics.md). Generated cases have few
# elements: naive() may be right by luck where each of those sums is rounded.
SUMS = 2 * 64
CHECKED = settings(max_examples=250, deadline=None, derandomize=True)


def result_of(problem: Problem) -> tuple[Any, Any]:
    """The call's out and lse (None where it was not asked for), as NumPy arrays."""
    answer = flashfit.attention(**problem.arguments)
    out, lse = answer if problem.arguments["return_lse"] else (answer, None)
    if "out" in problem.arguments:
        assert out is problem.arguments["out"]
    dtype = problem.arrays["q"].view.dtype
    if problem.package == "torch":
        if dtype.itemsize == 2:
            import torch

            out = out.view(torch.int16)
        return out.numpy().view(dtype), None if lse is None else lse.numpy()
    return out, lse


def check(problem: Problem) -> None:
    before = {name: problem.arrays[name].whole.copy() for name in INPUTS}
    out, lse = result_of(problem)
    q, k, v, options = problem.reference()
    assert out.dtype == q.dtype
    expect_right(out, lse, q, k, v, sums=SUMS, **options)
    for name in INPUTS:
        assert np.array_equal(problem.arrays[name].whole, before[name]), f"{name} was written to"
    if "out" in problem.arrays:
        assert problem.arrays["out"].only_view_was_written()


@CHECKED
@given(problems(["numpy"]))
def test_numpy(problem: Problem) -> None:
    check(problem)


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.mark.usefixtures("torch")
@CHECKED
@given(problems(["torch"]))
def test_torch(problem: Problem) -> None:
    check(problem)
