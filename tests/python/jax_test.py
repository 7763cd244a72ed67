"""flashfit.attention on JAX arrays, outside of jit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flashfit
import numpy as np
import pytest
from flashfit import reference

from tests.python.compare import expect_right

jax: Any = pytest.importorskip("jax")
jnp: Any = jax.numpy


def arrays(dtype: str = "float32") -> list[Any]:
    shapes = [(2, 33, 4, 32), (2, 40, 2, 32), (2, 40, 2, 32)]
    return [jax.random.normal(jax.random.key(i), shape, dtype) for i, shape in enumerate(shapes)]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_dense(dtype: str) -> None:
    q, k, v = arrays(dtype)
    out, lse = flashfit.attention(q, k, v, causal=True, return_lse=True)
    assert isinstance(out, jax.Array)
    assert (out.dtype, lse.dtype, out.device) == (q.dtype, np.float32, q.device)
    expect_right(*[np.asarray(x) for x in (out, lse, q, k, v)], causal=True)


def test_each_result_is_a_new_array() -> None:
    q, k, v = arrays()
    first = flashfit.attention(q, k, v)
    kept = np.array(first)
    second = flashfit.attention(2 * q, k, v)
    assert first.unsafe_buffer_pointer() != second.unsafe_buffer_pointer()
    np.testing.assert_array_equal(first, kept)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("kind", [list, np.array, jnp.array])
def test_variable_length(kind: Any) -> None:
    q, k, v = [x.reshape(-1, *x.shape[2:]) for x in arrays()]
    cu_q, cu_k = kind([0, 16, 66]), kind([0, 70, 80])
    out = flashfit.attention(q, k, v, cu_seqlens_q=cu_q, cu_seqlens_k=cu_k)
    for (a, b), (c, d) in zip(((0, 16), (16, 66)), ((0, 70), (70, 80))):
        exact, _ = reference.attention(*[np.asarray(x)[None].astype(np.float64) for x in (q[a:b], k[c:d], v[c:d])])
        np.testing.assert_allclose(out[a:b], exact[0], atol=1e-5)


def test_what_waits_to_be_computed_is_waited_for() -> None:
    q, k, v = [x + sum(jnp.ones(x.shape) for _ in range(20)) for x in arrays()]
    np.testing.assert_array_equal(flashfit.attention(q, k, v), flashfit.attention(*[np.asarray(x) for x in (q, k, v)]))


def test_refusals() -> None:
    q, k, v = arrays()
    cases: tuple[tuple[Callable[[], Any], str], ...] = (
        (lambda: jax.jit(flashfit.attention)(q, k, v), "q: traced by JAX, without memory; accepted: arrays outside of"),
        (lambda: jax.vmap(flashfit.attention)(q, k, v), "q: traced by JAX, without memory; accepted: arrays outside"),
        (lambda: flashfit.attention(q, k, v, out=q), "out: a JAX array, which never changes; accepted: None"),
        (lambda: flashfit.attention(q, np.asarray(k), v), "k: numpy.ndarray; accepted: a JAX array, as q"),
        (lambda: flashfit.attention(q.astype("int8"), k, v), "q: dtype is int8 on cpu; accepted: fp16, bf16"),
    )
    for call, words in cases:
        with pytest.raises(flashfit.FlashfitError) as caught:
            call()
        assert str(caught.value).startswith(words)
