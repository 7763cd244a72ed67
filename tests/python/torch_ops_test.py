"""torch.ops.flashfit: results, fakes and errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")
from flashfit import torch_ops  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

NAMES = ("attention", "attention_lse", "attention_out", "attention_lse_out")


def dense(dtype: str = "float16", seqlen: int = 5) -> tuple[Any, Any, Any]:
    generator = torch.Generator().manual_seed(7)
    shapes = ((2, seqlen, 4, 32), (2, seqlen + 2, 2, 32), (2, seqlen + 2, 2, 32))
    q, k, v = (torch.randn(s, generator=generator).to(getattr(torch, dtype)) for s in shapes)
    return q, k, v


def ragged() -> tuple[Any, Any, Any, Any, Any]:
    q, k, v = dense()
    cu_q, cu_k = (torch.tensor(c, dtype=torch.int32) for c in ([0, 4, 10], [0, 14, 14]))
    return q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1), cu_q, cu_k


def op(name: str) -> Any:
    return getattr(torch.ops.flashfit, name).default


def arguments(name: str, q: Any, k: Any, v: Any, *offsets: Any) -> tuple[Any, ...]:
    return (q, k, v, *([torch.zeros_like(q)] if "out" in name else []), *offsets)


@pytest.mark.parametrize("kind", ["dense", "bhsd", "ragged"])
def test_same_as_flashfit_attention(kind: str) -> None:
    q, k, v, *offsets = ragged() if kind == "ragged" else dense()
    options: dict[str, Any] = {"causal": True, "softmax_scale": 0.3}
    if kind == "bhsd":
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        options["layout"] = "bhsd"
    cu = dict(zip(("cu_seqlens_q", "cu_seqlens_k"), offsets))
    want, want_lse = flashfit.attention(q, k, v, **options, **cu, return_lse=True)
    assert not torch.equal(want, flashfit.attention(q, k, v, **{**options, "causal": False}, **cu))

    assert torch.equal(op("attention")(q, k, v, *offsets, **options), want)
    out, lse = op("attention_lse")(q, k, v, *offsets, **options)
    assert torch.equal(out, want)
    assert torch.equal(lse, want_lse)
    out = torch.zeros_like(q)
    assert op("attention_out")(q, k, v, out, *offsets, **options) is None
    assert torch.equal(out, want)
    out.zero_()
    assert torch.equal(op("attention_lse_out")(q, k, v, out, *offsets, **options), want_lse)
    assert torch.equal(out, want)

    assert torch.equal(torch_ops.call(q, k, v, **options, **cu), want)
    assert torch.equal(torch_ops.call(q, k, v, **options, **cu, return_lse=True)[1], want_lse)
    out.zero_()
    assert torch_ops.call(q, k, v, **options, **cu, out=out) is out
    assert torch.equal(out, want)
    found, lse = torch_ops.call(q, k, v, **options, **cu, out=out, return_lse=True)
    assert found is out
    assert torch.equal(lse, want_lse)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["dense", "packed", "bhsd", "ragged"])
def test_opcheck(name: str, kind: str) -> None:
    q, k, v, *offsets = ragged() if kind == "ragged" else dense()
    options: dict[str, Any] = {"causal": True}
    if kind == "packed":
        q, k, v = torch.randn(2, 5, 3, 4, 32).half().unbind(2)
    elif kind == "bhsd":
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        options["layout"] = "bhsd"
    checks = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    found = torch.library.opcheck(op(name), arguments(name, q, k, v, *offsets), options, test_utils=checks)
    assert found == dict.fromkeys(checks, "SUCCESS")


def strided() -> Iterator[tuple[str, Any]]:
    """q of shape (2, 3, 4, 8) in memory of every kind that a caller has."""
    plain = torch.randn(2, 3, 4, 8)
    yield "contiguous", plain
    yield "heads first", torch.randn(2, 4, 3, 8).transpose(1, 2)
    yield "packed", torch.randn(2, 3, 3, 4, 8)[:, :, 1]
    yield "every second row", torch.randn(2, 6, 4, 8)[:, ::2]
    yield "broadcast", torch.randn(1, 3, 1, 8).expand(2, 3, 4, 8)
    yield "wider rows", torch.randn(2, 3, 4, 16)[..., :8]
    yield "batch inside", torch.randn(3, 2, 4, 8).transpose(0, 1)
    yield "one row", torch.randn(2, 1, 4, 8)
    yield "no rows", torch.randn(2, 0, 4, 8)
    yield "no batch", torch.randn(0, 3, 4, 8)


@pytest.mark.parametrize(("kind", "q"), [pytest.param(*each, id=each[0]) for each in strided()])
def test_fakes_are_like_results(kind: str, q: Any) -> None:
    q = torch.empty_strided(q.shape, q.stride(), dtype=torch.float16).fill_(1)  # lse is of another dtype
    k = v = torch.randn(q.shape[0], 5, 2, 8).half()
    real = op("attention_lse")(q, k, v)
    with FakeTensorMode() as mode:
        fake = op("attention_lse")(*(mode.from_tensor(x) for x in (q, k, v)))
    for mine, its in zip(real, fake):
        assert (its.shape, its.stride(), its.dtype, its.device) == (mine.shape, mine.stride(), mine.dtype, mine.device)


def wrong() -> Iterator[tuple[str, dict[str, Any]]]:
    q, k, v = dense()
    rq, rk, rv, cu_q, cu_k = ragged()
    packed = {"q": rq, "k": rk, "v": rv, "cu_seqlens_q": cu_q, "cu_seqlens_k": cu_k}
    yield "q: 3 dimensions; accepted: 4, ", {"q": q[0]}
    yield "q: 4 dimensions; accepted: 3, ", {**packed, "q": q}
    yield "k: 3 dimensions; accepted: 4, ", {"k": k[0]}
    yield "q: dtype is ", {"q": q.double()}
    yield "k: dtype is ", {"k": k.bfloat16()}
    yield "k: shape is (2, 7, 2, 16); accepted: head_dim 32", {"k": k[..., :16]}
    yield "k: shape is (1, 7, 2, 32); accepted: batch 2", {"k": k[:1]}
    yield "k: 3 heads; accepted: a divisor of q's 4", {"k": torch.ones(2, 7, 3, 32).half()}
    yield "v: shape is ", {"v": v[:, :3]}
    yield 'layout: "sbhd"; accepted: "bshd", "bhsd"', {"layout": "sbhd"}
    yield "cu_seqlens_k: None while the other is given; ", {**packed, "cu_seqlens_k": None}
    yield "cu_seqlens_q: dtype is ", {**packed, "cu_seqlens_q": cu_q.long()}
    yield "cu_seqlens_k: ", {**packed, "cu_seqlens_k": cu_k[:2]}
    yield "cu_seqlens_q: ", {**packed, "cu_seqlens_q": cu_q[:0]}
    yield "softmax_scale: -1", {"softmax_scale": -1.0}


@pytest.mark.parametrize(("words", "given"), [pytest.param(*each, id=each[0]) for each in wrong()])
@pytest.mark.parametrize("fake", [False, True])
def test_wrong_arguments(words: str, given: dict[str, Any], fake: bool) -> None:
    q, k, v = dense()
    values = {"q": q, "k": k, "v": v, **given}
    mode = FakeTensorMode()
    if fake:
        values = {name: mode.from_tensor(x) if isinstance(x, torch.Tensor) else x for name, x in values.items()}
    with pytest.raises(flashfit.InvalidArgument) as caught:
        op("attention")(**values)
    assert str(caught.value).replace("'", '"').startswith(words.replace("'", '"'))
    assert "\n" not in str(caught.value)


def test_wrong_out() -> None:
    q, k, v = dense()
    for out, words in ((q[:1].clone(), "out: shape is "), (q.float(), "out: dtype is ")):
        with pytest.raises(flashfit.InvalidArgument, match=f"^{words}"):
            op("attention_out")(q, k, v, out)
        with FakeTensorMode() as mode, pytest.raises(flashfit.InvalidArgument, match=f"^{words}"):
            op("attention_out")(*(mode.from_tensor(x) for x in (q, k, v, out)))


def test_call_refuses_what_operators_do_not_take() -> None:
    q, k, v = dense()

    def refused(error: type[Exception], *tensors: Any, **options: Any) -> str:
        with pytest.raises(error) as caught:
            torch_ops.call(*tensors, **options)
        return str(caught.value)

    assert refused(flashfit.InvalidType, q, k, v.numpy()) == "v: numpy.ndarray; accepted: a torch tensor, as q"
    assert refused(flashfit.InvalidArgument, q, k.to_sparse(), v) == (
        "k: layout is torch.sparse_coo; accepted: torch.strided"
    )
    for name in ("stream", "variant"):
        assert refused(flashfit.InvalidArgument, q, k, v, **{name: "x"}).startswith(f"{name}: ")
    assert refused(flashfit.InvalidType, q, k, v, causal=1) == "causal: 1; accepted: True, False"
    assert refused(flashfit.InvalidType, q, k, v, softmax_scale="x").startswith("softmax_scale: 'x'; ")
    assert refused(flashfit.InvalidArgument, q, k, v, cu_seqlens_q=[0, 1], cu_seqlens_k=[0, 1]).startswith("q: 4 dim")
    assert refused(flashfit.InvalidArgument, q[0], k[0], v[0], cu_seqlens_q=[0, 9], cu_seqlens_k=[0, 7]).startswith(
        "cu_seqlens_q: ends with 9"
    )


def test_call_takes_lists_of_offsets() -> None:
    q, k, v, cu_q, cu_k = ragged()
    want = torch_ops.call(q, k, v, cu_seqlens_q=cu_q, cu_seqlens_k=cu_k)
    assert torch.equal(torch_ops.call(q, k, v, cu_seqlens_q=cu_q.tolist(), cu_seqlens_k=cu_k.numpy()), want)


def test_views_and_tensors_without_memory() -> None:
    q, k, v = dense("float32")
    negated = torch.complex(v, v).conj().imag
    assert negated.is_neg()
    assert torch.equal(op("attention")(q, k, negated), op("attention")(q, k, -v))
    with pytest.raises(flashfit.InvalidArgument, match=r"^q: dtype is "):
        op("attention")(torch.complex(q, q).conj(), k, v)
    out, lse = op("attention_lse")(*(x.to("meta") for x in (q, k, v)))
    assert (out.device.type, out.shape, lse.shape) == ("meta", q.shape, (2, 4, 5))
    with pytest.raises(flashfit.InvalidArgument, match=r"^k: device is meta; accepted: cpu, where q is"):
        op("attention")(q.to("cpu"), k.to("meta"), v)
    emptied = q.clone()
    emptied.untyped_storage().resize_(0)
    with pytest.raises(flashfit.InvalidArgument, match=r"^q: data is NULL"):
        op("attention")(emptied, k, v)
    with pytest.raises(NotImplementedError, match=r"flashfit::attention.*SparseCPU"):
        op("attention")(q, k.to_sparse(), v)


def test_out_is_seen_to_change() -> None:
    """A backward that saved `out` has to notice that it was written."""
    q, k, v = dense("float32")
    weight = torch.ones_like(q).requires_grad_()
    out = torch.zeros_like(q)
    loss = (weight * out).sum()
    op("attention_out")(q, k, v, out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_profiler_names_the_operator() -> None:
    q, k, v = dense()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        torch_ops.call(q, k, v)
    assert "flashfit::attention" in {event.key for event in profile.key_averages()}
