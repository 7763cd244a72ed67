"""The list's hard cases: planted logits are what they say, on the CPU they are right, and each kind of defect shows."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import flashfit
import numpy as np
import pytest
from flashfit.bench import cases as case_list
from flashfit.bench.arrays import NumPyArrays
from flashfit.bench.cases import Case
from flashfit.bench.judge import Expected

Arguments = dict[str, Any]


def case(**given: Any) -> Case:
    asked: Arguments = {"dtype": "fp32", "head_dim": 32, "heads_q": 1, "heads_kv": 1, "softmax_scale": 32**-0.5}
    asked.update({"seqlen_q": 9, "seqlen_k": 80, **given})
    return Case(name="made", group="hard", stands_for="a test", work={"flop": 0, "exp": 0, "bytes": 0}, **asked)


def logits(c: Case, column: int) -> Any:
    inputs = NumPyArrays().make(c, 1)
    return np.outer(inputs.q[0, :, 0, column], inputs.k[0, :, 0, column]) * c.softmax_scale


def test_planted_logits_are_what_q_and_k_multiply_to() -> None:
    shifted = logits(case(logit_shift=-60.0, opposing_rows=True), 0)
    np.testing.assert_allclose(shifted[1::3], 60, rtol=1e-5)
    np.testing.assert_allclose(np.delete(shifted, slice(1, None, 3), 0), -60, rtol=1e-5)
    np.testing.assert_allclose(logits(case(logit_trend=40.0), 1)[0, [0, 79]], [-20, 20], rtol=1e-5)
    peaks = logits(case(logit_peak=11.0), 2)[0]
    np.testing.assert_allclose(peaks[[7, 68]], 11, rtol=1e-5)
    assert np.count_nonzero(peaks) == 2
    inputs = NumPyArrays().make(case(positive_v=True), 1)
    assert (inputs.v >= 0).all()
    assert (inputs.q < 0).any()


def ragged(**given: Any) -> Case:
    return case(seqlen_q=0, seqlen_k=0, lengths_q=(3, 5), lengths_k=(9, 4), spare_rows=6, **given)


def test_rows_after_the_last_sequence_must_stay_as_they_were() -> None:
    c, arrays = ragged(), NumPyArrays()
    inputs = arrays.make(c, 1)
    assert inputs.q.shape[0] == 8 + 6
    expected = Expected(c, arrays, inputs, 1)
    out = np.full((14, 1, 32), np.nan, np.float32)
    out[:8] = flashfit.attention(
        inputs.q[:8], inputs.k[:13], inputs.v[:13], cu_seqlens_q=inputs.cu_seqlens_q, cu_seqlens_k=inputs.cu_seqlens_k
    )
    assert expected.judge(out).message == ""
    out[9] = 0
    assert expected.judge(out).message == "rows after the last sequence were written"


def test_a_reference_that_is_no_number_bounds_nothing() -> None:
    c, arrays = case(), NumPyArrays()
    inputs = arrays.make(c, 1)
    inputs.q[0, 3] = np.nan
    verdict = Expected(c, arrays, inputs, 1).judge(flashfit.attention(inputs.q, inputs.k, inputs.v))
    assert verdict.message


@pytest.fixture(scope="module")
def hard() -> Any:
    pytest.importorskip("torch")
    return importlib.import_module("tools.gpu.hard")


@pytest.fixture(scope="module")
def some() -> list[Case]:
    """Small ones of each kind; spare rows are for GPUs, since a call on the CPU sees where sequences end."""
    listed = [c for c in case_list.listed() if c.group == "hard" and not c.spare_rows and c.work["flop"] < 2e7]
    return listed[::60]


def test_they_are_right_on_the_cpu(hard: Any, some: list[Case]) -> None:
    assert len(some) > 10
    for c in some:
        result = hard.attempt(hard.Expected(c, "cpu"), None)
        assert result.problems == [], f"{c.name}: {result.problems}"


Defect = Callable[[Any, Any], None]


def zero_low_rows(out: Any, lse: Any) -> None:
    """What rows gave whose logits all lay far below zero."""
    out.view(-1)[: out.numel() // 2] = 0


def shift_lse(out: Any, lse: Any) -> None:
    lse += 1


def one_ulp(out: Any, lse: Any) -> None:
    out.mul_(1 + 2.0**-7)


@pytest.mark.parametrize("defect", [zero_low_rows, shift_lse, one_ulp])
def test_each_defect_shows(hard: Any, monkeypatch: pytest.MonkeyPatch, defect: Defect) -> None:
    """`one_ulp` is within the bound, but a query that sees one key gives its value bit for bit."""
    right = flashfit.attention

    def wrong(*tensors: Any, **options: Any) -> Any:
        found = right(*tensors, **options)
        if isinstance(found, tuple):
            defect(*found)
        return found

    name = "each query sees one key" if defect is one_ulp else "rows whose every logit lies far below or above zero"
    c = next(c for c in case_list.listed() if c.stands_for == name and c.dtype == "bf16")
    assert hard.attempt(hard.Expected(c, "cpu"), None).problems == []
    monkeypatch.setattr(flashfit, "attention", wrong)
    assert hard.attempt(hard.Expected(c, "cpu"), None).problems != []


def test_an_image_that_serves_few_cases_is_named(hard: Any) -> None:
    image = hard.Candidate("fwd_one", "fp16", 64, "SASS")
    results = [hard.HardResult("a", image.name)] * 3 + [hard.HardResult("b", image.name, served=False)]
    assert hard.seldom_served(results, [image]) == ["fwd_one SASS served 3 cases"]
