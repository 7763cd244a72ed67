"""How a result is held to the fp64 reference: at most twice the error of a plain computation in the same dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
from flashfit import reference

EPSILON = float(np.finfo(np.float32).eps)


def half_ulp(values: Any, dtype: Any) -> float:
    """Half the distance between neighbours of dtype at the largest value: the error that no result can avoid."""
    top = float(np.max(np.abs(values), initial=0.0))
    mantissa = {"float32": 23, "float16": 10, "bfloat16": 7}[np.dtype(dtype).name]
    return float(2.0 ** (np.floor(np.log2(top)) - mantissa - 1)) if top else 0.0


def unavoidable(q: Any, k: Any, options: dict[str, Any]) -> float:
    """The rounding of fp32 scores: epsilon times the largest there could be, by Cauchy and Schwarz; with options."""
    lengths = [np.max(np.linalg.norm(x.astype(np.float64), axis=-1), initial=0.0) for x in (q, k)]
    largest = lengths[0] * lengths[1] * (options.get("softmax_scale") or q.shape[-1] ** -0.5)
    largest += 4 * float(options.get("softcap") or 0)  # tanh is right to a few roundings
    if options.get("alibi_slopes") is not None:
        rows = sum(q.shape[:-1]) + sum(k.shape[:-1])  # more than any distance
        largest += float(np.max(np.abs(options["alibi_slopes"]), initial=0.0)) * rows
    bias = np.asarray(options.get("bias") if options.get("bias") is not None else 0, np.float64)
    largest += float(np.max(np.abs(bias), where=np.isfinite(bias), initial=0.0))
    return float(EPSILON * largest)


def expect_right(out: Any, lse: Any, q: Any, k: Any, v: Any, *, sums: int = 1, **options: Any) -> None:
    """Compares NumPy arrays; lse may be None. `sums`: how many roundings of partial sums naive() may be lucky in."""
    want, want_lse = reference.attention(q, k, v, **options)
    fair, _ = reference.naive(q, k, v, **options)
    assert out.shape == want.shape
    error = np.max(np.abs(out.astype(np.float64) - want), initial=0.0)
    bound = 2 * np.max(np.abs(fair.astype(np.float64) - want), initial=0.0) + half_ulp(want, q.dtype)
    # What naive() can be lucky in where elements are few: sums, and the roundings of scores.
    bound += (sums * EPSILON / 2 + unavoidable(q, k, options)) * np.max(np.abs(v.astype(np.float64)), initial=0.0)
    assert error <= bound, f"error {error:.3g} > {bound:.3g}"
    if lse is not None:
        assert lse.dtype == np.float32
        assert lse.shape == want_lse.shape
        empty = np.isneginf(want_lse)
        assert np.array_equal(np.isneginf(lse), empty)
        difference = np.abs(lse[~empty] - want_lse[~empty])
        largest = np.max(np.abs(want_lse[~empty]), initial=0.0)
        assert np.max(difference, initial=0.0) <= 4 * EPSILON * (1 + largest) + unavoidable(q, k, options)


def expect_routed(weights: Any, ids: Any, logits: Any, top_k: int, **options: Any) -> None:
    """Compares NumPy arrays of flashfit.moe_route: ids exactly; weights within twice the error of the same computation
    in fp32, each as a part of itself, and a floor of the roundings that none can avoid."""
    want, want_ids = reference.route(logits, top_k, **options)
    fair, _ = reference.route(logits, top_k, work=np.float32, **options)
    assert (weights.dtype, ids.dtype) == (np.float32, np.int32)
    np.testing.assert_array_equal(ids, want_ids)
    np.testing.assert_array_equal(np.isnan(weights), np.isnan(want))
    x = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):
        below = x.max(axis=1, initial=-np.inf, keepdims=True) - np.take_along_axis(x, want_ids, axis=1)
        error, its = np.abs(weights - want), np.abs(fair - want)
        # The difference of logits and its product with log2(e) are rounded, relative to themselves; the exponential is
        # right to 1.5 units in the last place; the last steps of the sum and the quotient are rounded.
        floor = want * EPSILON / 2 * (6 + 2 * below)
        normal = float(np.finfo(np.float32).tiny)
        wrong = error > 2 * its + floor + normal
    assert not wrong.any(), f"weights off by {error[wrong]}, allowed {(2 * its + floor)[wrong]}, of {want[wrong]}"
