"""flashfit.attention on NumPy arrays, against the fp64 reference."""

from __future__ import annotations

import threading
from typing import Any

import flashfit
import ml_dtypes
import numpy as np
import pytest
from flashfit import reference

from tests.python.compare import expect_right

DTYPES = ["float16", "float32", "bfloat16"]


def dtype_of(name: str) -> Any:
    """The NumPy dtype; bfloat16 is ml_dtypes'."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def normal(seed: int, shape: tuple[int, ...], dtype: Any = np.float16) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def inputs(q_shape: tuple[int, ...], k_shape: tuple[int, ...], dtype: Any = np.float16) -> tuple[Any, Any, Any]:
    return normal(1, q_shape, dtype), normal(2, k_shape, dtype), normal(3, k_shape, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("sq", "sk", "heads", "kv", "dim"), [(65, 65, 4, 4, 64), (33, 70, 6, 2, 32), (70, 33, 2, 1, 128)]
)
def test_dense(dtype: str, causal: bool, sq: int, sk: int, heads: int, kv: int, dim: int) -> None:
    q, k, v = inputs((2, sq, heads, dim), (2, sk, kv, dim), dtype_of(dtype))
    out, lse = flashfit.attention(q, k, v, causal=causal, return_lse=True)
    assert out.dtype == q.dtype
    expect_right(out, lse, q, k, v, causal=causal)


def test_heads_first_is_the_same() -> None:
    q, k, v = inputs((2, 33, 4, 32), (2, 50, 2, 32))
    out, lse = flashfit.attention(q, k, v, causal=True, return_lse=True)
    swapped = [np.ascontiguousarray(x.swapaxes(1, 2)) for x in (q, k, v)]
    other, other_lse = flashfit.attention(*swapped, causal=True, layout="bhsd", return_lse=True)
    assert other.shape == (2, 4, 33, 32)
    np.testing.assert_array_equal(other.swapaxes(1, 2), out)
    np.testing.assert_array_equal(other_lse, lse)


@pytest.mark.parametrize("kind", ["list", "int32", "int64"])
@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
def test_variable_length(kind: str, layout: str) -> None:
    cu_q, cu_k = [0, 5, 5, 45, 46], [0, 9, 12, 40, 40]
    q, k, v = inputs((46, 4, 32), (40, 2, 32))
    options: Any = {"cu_seqlens_q": cu_q, "cu_seqlens_k": cu_k, "layout": layout, "causal": True}
    if layout == "bhsd":
        q, k, v = (np.ascontiguousarray(x.swapaxes(0, 1)) for x in (q, k, v))
    given_cu = (
        options
        if kind == "list"
        else {**options, "cu_seqlens_q": np.array(cu_q, kind), "cu_seqlens_k": np.array(cu_k, kind)}
    )
    out, lse = flashfit.attention(q, k, v, **given_cu, return_lse=True)
    expect_right(out, lse, q, k, v, **options)


def test_softmax_scale_and_out() -> None:
    q, k, v = inputs((1, 20, 2, 32), (1, 20, 2, 32))
    out = np.empty((1, 20, 2, 40), np.float16)[..., :32]
    result = flashfit.attention(q, k, v, softmax_scale=0.5, out=out)
    assert result is out
    expect_right(out, None, q, k, v, softmax_scale=0.5)


def test_no_keys_and_no_rows() -> None:
    q, k, v = inputs((2, 3, 4, 8), (2, 0, 2, 8))
    out, lse = flashfit.attention(q, k, v, return_lse=True)
    assert not out.any()
    assert np.isneginf(lse).all()
    assert flashfit.attention(q[:, :0], k, v).shape == (2, 0, 4, 8)
    assert flashfit.attention(q[:0], k[:0], v[:0]).shape == (0, 3, 4, 8)


def test_nan_reaches_only_those_who_see_it() -> None:
    q, k, v = inputs((1, 16, 1, 32), (1, 16, 1, 32), np.float32)
    clean = flashfit.attention(q, k, v, causal=True)
    k[0, 9], v[0, 9] = np.nan, np.inf
    out = flashfit.attention(q, k, v, causal=True)
    np.testing.assert_array_equal(out[0, :9], clean[0, :9])
    assert np.isnan(out[0, 9:]).all()


def test_a_sink_that_outweighs_all_keys_hides_no_nan() -> None:
    """As the reference has it, and a GPU: a weight of 0 times NaN is NaN, and what an infinite sink leaves is NaN."""
    q, k, v = inputs((1, 4, 2, 32), (1, 16, 2, 32), np.float32)
    v[0, 9, 0] = np.nan
    for sinks in ([1e4, -np.inf], [np.inf, 1e4]):
        out, lse = flashfit.attention(q, k, v, sinks=sinks, return_lse=True)
        want, want_lse = reference.attention(q, k, v, sinks=sinks)
        np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(lse, want_lse, rtol=1e-5)
        assert np.isnan(out[:, :, 0]).all()
        assert np.isfinite(out[:, :, 1]).all()


def test_lists_may_hold_numpys_numbers() -> None:
    q, k, v = inputs((1, 4, 2, 32), (1, 16, 2, 32))
    sinks = np.array([0.5, -np.inf], np.float32)
    want = flashfit.attention(q, k, v, sinks=sinks, alibi_slopes=sinks[:1].repeat(2))
    for dtype in (np.float16, np.float32, np.float64):
        mine = flashfit.attention(q, k, v, sinks=list(sinks.astype(dtype)), alibi_slopes=[dtype(0.5), np.float64(0.5)])
        np.testing.assert_array_equal(mine, want)


def test_threads_do_not_share() -> None:
    problems_by_thread = [inputs((1, 10 + i, 2, 32), (1, 20 + i, 2, 32)) for i in range(8)]
    wanted = [flashfit.attention(*p) for p in problems_by_thread]
    wrong: list[int] = []

    def work(i: int) -> None:
        for _ in range(50):
            if not np.array_equal(flashfit.attention(*problems_by_thread[i]), wanted[i]):
                wrong.append(i)
            with pytest.raises(flashfit.InvalidArgument, match=rf"^softmax_scale: -{i + 1};"):
                flashfit.attention(*problems_by_thread[i], softmax_scale=-(i + 1))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
