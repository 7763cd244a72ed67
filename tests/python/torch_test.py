"""flashfit.attention on torch tensors: its error is at most twice PyTorch's. numpy_test.py needs no torch."""

from __future__ import annotations

from typing import Any

import flashfit
import numpy as np
import pytest
from flashfit import reference

torch: Any = pytest.importorskip("torch")

DTYPES = ["float16", "bfloat16", "float32"]
SHAPES = [(65, 65, 4, 4, 64), (33, 70, 6, 2, 32), (70, 33, 2, 1, 128)]


def tensors(q_shape: tuple[int, ...], k_shape: tuple[int, ...], dtype: str = "float16") -> list[Any]:
    generator = torch.Generator().manual_seed(7)
    return [torch.randn(s, generator=generator).to(getattr(torch, dtype)) for s in (q_shape, k_shape, k_shape)]


def exact(x: Any) -> Any:
    return x.double().numpy()


def by_torch(q: Any, k: Any, v: Any, causal: bool) -> Any:
    """PyTorch's unfused attention in the tensors' dtype, [batch, seqlen, heads, head_dim]."""
    group = q.shape[2] // k.shape[2]
    q, k, v = q.transpose(1, 2), *(x.transpose(1, 2).repeat_interleave(group, 1) for x in (k, v))
    seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool)
    seen = seen.tril(k.shape[2] - q.shape[2]) if causal else seen
    scores = (q @ k.transpose(2, 3) * q.shape[-1] ** -0.5).masked_fill(~seen, float("-inf"))
    return (scores.softmax(-1).nan_to_num(0) @ v).transpose(1, 2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("sq", "sk", "heads", "kv", "dim"), [(65, 65, 4, 4, 64), (33, 70, 6, 2, 32), (70, 33, 2, 1, 128)]
)
def test_error_is_at_most_twice_that_of_pytorch(
    dtype: str, causal: bool, sq: int, sk: int, heads: int, kv: int, dim: int
) -> None:
    q, k, v = tensors((2, sq, heads, dim), (2, sk, kv, dim), dtype)
    out, lse = flashfit.attention(q, k, v, causal=causal, return_lse=True)
    assert (out.dtype, lse.dtype, out.shape) == (q.dtype, torch.float32, q.shape)
    want, want_lse = reference.attention(exact(q), exact(k), exact(v), causal=causal)
    bound = 2 * np.abs(exact(by_torch(q, k, v, causal)) - want).max()
    assert np.abs(exact(out) - want).max() <= bound
    np.testing.assert_allclose(lse.numpy(), want_lse, rtol=1e-5, atol=1e-5)


def test_same_as_numpy_in_every_layout() -> None:
    q, k, v = tensors((2, 20, 4, 32), (2, 30, 2, 32))
    want = flashfit.attention(q.numpy(), k.numpy(), v.numpy(), causal=True)
    assert np.array_equal(flashfit.attention(q, k, v, causal=True).numpy(), want)
    swapped = [x.transpose(1, 2) for x in (q, k, v)]
    out = torch.empty_like(swapped[0])
    assert flashfit.attention(*swapped, causal=True, layout="bhsd", out=out) is out
    assert np.array_equal(out.transpose(1, 2).numpy(), want)


def test_slices_of_packed_qkv() -> None:
    packed = torch.randn(2, 20, 3, 4, 32).half()
    q, k, v = packed.unbind(2)
    want = flashfit.attention(q.contiguous(), k.contiguous(), v.contiguous())
    assert torch.equal(flashfit.attention(q, k, v), want)


@pytest.mark.parametrize("kind", ["list", "numpy", "torch"])
def test_variable_length(kind: str) -> None:
    q, k, v = tensors((9, 4, 32), (12, 2, 32))
    cu: list[Any] = [[0, 4, 9], [0, 12, 12]]
    if kind != "list":
        cu = [np.array(c, np.int64) if kind == "numpy" else torch.tensor(c, dtype=torch.int32) for c in cu]
    out, lse = flashfit.attention(q, k, v, cu_seqlens_q=cu[0], cu_seqlens_k=cu[1], return_lse=True)
    assert torch.equal(out[:4], flashfit.attention(q[None, :4], k[None], v[None])[0])
    assert not out[4:].any()
    assert torch.isneginf(lse[:, 4:]).all()


def refused(q: Any, k: Any, v: Any, **options: Any) -> str:
    with pytest.raises(flashfit.InvalidArgument) as caught:
        flashfit.attention(q, k, v, **options)
    return str(caught.value)


def test_gradients() -> None:
    q, k, v = tensors((1, 4, 2, 32), (1, 4, 2, 32))
    want = flashfit.attention(q, k, v)
    k.requires_grad_()
    assert torch.equal(flashfit.attention(q, k, v), want)
    assert flashfit.attention(q, k, v).requires_grad
    with torch.no_grad():
        assert torch.equal(flashfit.attention(q, k, v), want)
    with torch.inference_mode():
        assert torch.equal(flashfit.attention(q, k, v), want)


def test_tensors_whose_memory_is_not_their_value() -> None:
    q, k, v = tensors((1, 4, 2, 32), (1, 4, 2, 32), "float32")
    assert refused(q.to("meta"), k, v) == "k: device is cpu; accepted: meta, where q is"
    assert refused(q, k.to_sparse(), v) == "k: layout is torch.sparse_coo; accepted: torch.strided"
    negative = torch.complex(v, v).conj().imag
    assert negative.is_neg()
    assert torch.equal(flashfit.attention(q, k, negative), flashfit.attention(q, k, -v))


def test_other_wrong_tensors() -> None:
    q, k, v = tensors((1, 4, 2, 32), (1, 4, 2, 32))
    assert refused(q.double(), k, v).startswith("q: dtype is fp64 on cpu; ")
    assert refused(q.to(torch.float8_e4m3fn), k, v).startswith(
        "q: dtype is torch.float8_e4m3fn; accepted: torch.float16"
    )
    assert refused(q, k.bfloat16(), v) == "k: dtype is bf16; accepted: fp16, as q"
    assert refused(torch.ones(1, 4, 2, 64).half()[..., ::2], k, v).startswith("q: strides are ")
    with pytest.raises(TypeError, match=r"^v: numpy\.ndarray; accepted: a torch tensor, as q$"):
        flashfit.attention(q, k, v.numpy())
    with pytest.raises(TypeError, match=r"^cu_seqlens_k: a torch tensor; accepted: a list or a NumPy array, as q is"):
        flashfit.attention(*(x[0].numpy() for x in (q, k, v)), cu_seqlens_q=[0, 4], cu_seqlens_k=torch.tensor([0, 4]))
    bools = torch.tensor([False, True])
    words = "cu_seqlens_q: dtype is bool; accepted: int32"
    assert refused(q[0], k[0], v[0], cu_seqlens_q=bools, cu_seqlens_k=bools) == words
    cu = torch.tensor([0, 4], dtype=torch.int64)
    assert (
        refused(q[0], k[0], v[0], cu_seqlens_q=cu, cu_seqlens_k=cu) == "cu_seqlens_q: dtype is int64; accepted: int32"
    )


@pytest.mark.parametrize("options", [{}, {"return_lse": True}, {"softmax_scale": 0.5}])
def test_writing_to_out_is_a_change_of_it(options: Any) -> None:
    q, k, v = tensors((1, 4, 2, 32), (1, 4, 2, 32))
    out, weight = torch.ones_like(q), torch.ones_like(q, requires_grad=True)
    product = weight * out
    before = out._version
    flashfit.attention(q, k, v, out=out, **options)
    assert out._version > before
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_parameters_and_subclasses() -> None:
    q, k, v = tensors((1, 4, 2, 32), (1, 4, 2, 32))
    parameter = torch.nn.Parameter(q, requires_grad=False)
    assert torch.equal(flashfit.attention(parameter, k, v), flashfit.attention(q, k, v))
