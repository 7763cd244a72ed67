"""Gradients of attention, which come from PyTorch's flash backward: held to fp64, at most twice as wrong as PyTorch's
own; and what is refused."""

from __future__ import annotations

import re
from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")
from flashfit import _torch_gradients, flash_attn, torch_ops  # noqa: E402
from flashfit._gradients import ON_CPU, ON_GPU, Problem, misfit_of, operator_of  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

B, H, KV, D = 2, 4, 2, 32
DTYPES = ["float32", "float16", "bfloat16"]
# Of torch 2.15 in every compiled function.
pytestmark = pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0")


def normal(*shape: int, seed: int = 0, dtype: str = "float32") -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).to(getattr(torch, dtype))


def inputs(rows: int, keys: int, dtype: str, head_dim: int = D) -> tuple[Any, Any, Any, Any]:
    """q, k, v and the gradient of out, "bshd"."""
    sizes = ((rows, H), (keys, KV), (keys, KV), (rows, H))
    q, k, v, grad = (normal(B, n, h, head_dim, seed=i, dtype=dtype) for i, (n, h) in enumerate(sizes))
    return q, k, v, grad


SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])
SINKS = torch.tensor([0.3, -1.0, 2.0, 0.0])


def bias_of(rows: int, keys: int) -> Any:
    """Some keys hidden, all keys of one row too."""
    bias = normal(B, H, rows, keys, seed=9)
    bias[bias > 1] = -torch.inf
    bias[0, 0, 1] = -torch.inf
    return bias


def scores_added(rows: int, keys: int, options: dict[str, Any]) -> Any:
    """All that is added to the scores, fp64 [batch, heads, rows, keys]; -inf hides a key."""
    lengths = options.get("seqused_k")
    there = torch.full((B,), keys) if lengths is None else lengths.long()
    there = there.view(B, 1, 1, 1)
    distance = torch.arange(rows).view(-1, 1) + there - rows - torch.arange(keys)
    left, right = options.get("window") or (None, None)
    seen = torch.arange(keys) < there
    seen = seen & (distance <= (keys + rows if left is None else left))
    seen = seen & (distance >= (0 if options.get("causal") else -(keys + rows) if right is None else -right))
    added = torch.zeros(B, H, rows, keys, dtype=torch.float64)
    if options.get("alibi_slopes") is not None:
        added = added - options["alibi_slopes"].double().view(1, H, 1, 1) * distance.abs()
    bias = options.get("bias")
    if bias is not None:
        added = added + (torch.where(bias, 0.0, -torch.inf) if bias.dtype == torch.bool else bias.double())
    return torch.where(seen, added, -torch.inf)


def exact(tensors: tuple[Any, ...], grad: Any, added: Any, sinks: Any = None) -> list[Any]:
    """The gradients of q, k, v and the sinks in fp64, by autograd of the plain formula; "bhsd"."""
    wanted = [x.detach().double().requires_grad_() for x in (*tensors, *([] if sinks is None else [sinks]))]
    q, k, v, *sink = wanted
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + added
    if sink:
        scores = torch.cat([scores, sink[0].view(1, -1, 1, 1).expand(*scores.shape[:3], 1)], -1)
    dead = torch.isinf(scores).all(-1, keepdim=True)
    weights = scores.masked_fill(dead, 0).softmax(-1).masked_fill(dead, 0)
    (weights[..., : k.shape[2]] @ v).backward(grad.double())
    return [x.grad for x in wanted]


def of_torch(tensors: tuple[Any, ...], grad: Any, added: Any) -> list[Any]:
    """PyTorch's own gradients in the same dtype; "bhsd"."""
    q, k, v = (x.detach().clone().requires_grad_() for x in tensors)
    several = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    out = torch.nn.functional.scaled_dot_product_attention(q, *several, attn_mask=added.to(q.dtype))
    return list(torch.autograd.grad(out, (q, k, v), grad))


def error(x: Any, want: Any) -> float:
    assert torch.isfinite(x).all()
    return float((x.double() - want).norm())


def expect_right(found: Any, tensors: tuple[Any, ...], grad: Any, added: Any) -> None:
    """found, tensors and grad as "bhsd"."""
    for mine, its, want in zip(found, of_torch(tensors, grad, added), exact(tensors, grad, added)):
        floor = 2.0**-23 * float(want.norm())
        assert error(mine, want) <= 2 * error(its, want) + floor
        assert float(want.norm()) > 0


CASES: dict[str, tuple[int, int, dict[str, Any]]] = {
    "full": (24, 24, {}),
    "full, more keys": (7, 30, {}),
    "causal": (24, 24, {"causal": True}),
    "causal, more keys": (9, 24, {"causal": True}),
    "causal, rows that see no key": (24, 9, {"causal": True}),
    "window": (24, 24, {"window": (5, 3)}),
    "causal window": (20, 24, {"causal": True, "window": (6, None)}),
    "slopes": (24, 24, {"causal": True, "alibi_slopes": SLOPES}),
    "bias": (12, 20, {"bias": bias_of(12, 20)}),
    "bool bias": (12, 20, {"bias": bias_of(12, 20)[:1, :1] > -1}),
    "lengths": (12, 20, {"causal": True, "seqused_k": torch.tensor([13, 20], dtype=torch.int32)}),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
@pytest.mark.parametrize("name", CASES)
def test_dense(name: str, layout: Any, dtype: str) -> None:
    rows, keys, options = CASES[name]
    given = inputs(rows, keys, dtype)
    heads_first = tuple(x.transpose(1, 2) for x in given)
    q, k, v, grad = heads_first if layout == "bhsd" else given
    q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
    out = flashfit.attention(q, k, v, layout=layout, **options)
    with torch.no_grad():
        assert torch.equal(out, flashfit.attention(q, k, v, layout=layout, **options))
    found = torch.autograd.grad(out, (q, k, v), grad)
    if layout == "bshd":
        found = tuple(x.transpose(1, 2) for x in found)
    expect_right(found, heads_first[:3], heads_first[3], scores_added(rows, keys, options))


def test_a_transposed_bias_is_given_to_pytorch_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch 2.4 does not look at the stride of the keys: its gradients were wrong by their own size."""
    seen: list[Any] = []
    own = _torch_gradients._by_cpu

    def by_cpu(grad: Any, q: Any, k: Any, v: Any, out: Any, lse: Any, mask: Any, scale: float) -> Any:
        seen.append(mask[1].stride())
        return own(grad, q, k, v, out, lse, mask, scale)

    monkeypatch.setattr(_torch_gradients, "_by_cpu", by_cpu)
    q, k, v, grad = (x.transpose(1, 2) for x in inputs(12, 20, "float32"))
    bias = normal(20, 12, seed=9).T
    q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
    out = flashfit.attention(q, k, v, layout="bhsd", bias=bias)
    found = torch.autograd.grad(out, (q, k, v), grad)
    assert [strides[-2:] for strides in seen] == [(20, 1)]
    expect_right(found, (q, k, v), grad, scores_added(12, 20, {"bias": bias}))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("slopes", [None, SLOPES])
def test_variable_lengths(causal: bool, slopes: Any) -> None:
    starts_q, starts_k = [0, 9, 9, 24], [0, 7, 12, 30]
    q, k, v, grad = (x[0] for x in inputs(24, 30, "float16"))
    q, k, v = (x.requires_grad_() for x in (q, k, v))
    cu_q, cu_k = (torch.tensor(x, dtype=torch.int32) for x in (starts_q, starts_k))
    out = flashfit.attention(q, k, v, causal=causal, alibi_slopes=slopes, cu_seqlens_q=cu_q, cu_seqlens_k=cu_k)
    dq, dk, dv = torch.autograd.grad(out, (q, k, v), grad)
    for i in range(3):
        rows, keys = slice(starts_q[i], starts_q[i + 1]), slice(starts_k[i], starts_k[i + 1])
        if rows.start == rows.stop:  # nothing looks at these keys
            assert not dk[keys].any()
            assert not dv[keys].any()
            continue
        tensors = tuple(x.detach()[None].transpose(1, 2) for x in (q[rows], k[keys], v[keys]))
        added = scores_added(rows.stop - rows.start, keys.stop - keys.start, {"causal": causal, "alibi_slopes": slopes})
        found = tuple(x[None].transpose(1, 2) for x in (dq[rows], dk[keys], dv[keys]))
        expect_right(found, tensors, grad[rows][None].transpose(1, 2), added[:1])


@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
def test_sinks(layout: Any) -> None:
    q, k, v, grad = (x.transpose(1, 2) for x in inputs(12, 12, "float32"))
    wanted = [x.detach().requires_grad_() for x in (q, k, v, SINKS)]
    view = wanted[:3] if layout == "bhsd" else [x.transpose(1, 2) for x in wanted[:3]]
    out = flashfit.attention(*view, sinks=wanted[3], causal=True, layout=layout)
    found = torch.autograd.grad(out, wanted, grad if layout == "bhsd" else grad.transpose(1, 2))
    want = exact((q, k, v), grad, scores_added(12, 12, {"causal": True}), SINKS)
    for mine, its in zip(found, want):
        torch.testing.assert_close(mine.double(), its, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("options", [{"causal": True}, {"seqused_k": [0, 3]}, {}])
def test_a_sink_that_counts_nothing_has_no_gradient(options: dict[str, Any]) -> None:
    """A sink of -inf, as padded heads have it, of rows that see no key: their LSE is -inf, too."""
    q, k, v, grad = inputs(5, 3 if options else 0, "float32")
    sinks = torch.full((H,), -torch.inf, requires_grad=True)
    flashfit.attention(q, k, v, sinks=sinks, **options).backward(grad)
    assert torch.equal(sinks.grad, torch.zeros(H))


def test_lse_has_no_gradient() -> None:
    q, k, v, _ = inputs(5, 5, "float32")
    out, lse = flashfit.attention(q.requires_grad_(), k, v, return_lse=True)
    assert out.requires_grad
    assert not lse.requires_grad


def test_only_what_needs_them_gets_gradients() -> None:
    q, k, v, grad = inputs(5, 5, "float32")
    flashfit.attention(q, k.requires_grad_(), v).backward(grad)
    assert (q.grad, v.grad) == (None, None)
    assert k.grad.abs().max() > 0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled(dtype: str, dynamic: bool) -> None:
    def loss(q: Any, k: Any, v: Any) -> Any:
        return flashfit.attention(q * 2, k, v, causal=True).square().sum()

    def gradients(function: Any, rows: int) -> Any:
        q, k, v, _ = inputs(rows, rows, dtype)
        tensors = [x.requires_grad_() for x in (q, k, v)]
        return torch.autograd.grad(function(*tensors), tensors)

    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for rows in (9, 11):
        for mine, its in zip(gradients(compiled, rows), gradients(loss, rows)):
            torch.testing.assert_close(mine, its)


def test_autocast() -> None:
    q, k, v, grad = (x.requires_grad_() for x in inputs(9, 9, "float32"))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = flashfit.attention(q, k, v)
    assert out.dtype == torch.bfloat16
    found = torch.autograd.grad(out, (q, k, v), grad.bfloat16())
    low = [x.detach().bfloat16().requires_grad_() for x in (q, k, v)]
    for mine, its in zip(found, torch.autograd.grad(flashfit.attention(*low), low, grad.bfloat16())):
        assert torch.equal(mine, its.float())


@pytest.mark.parametrize("name", ["attention", "attention_lse"])
@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
def test_opcheck(name: str, layout: str) -> None:
    q, k, v, _ = inputs(5, 7, "float32")
    if layout == "bhsd":
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    sinks = SINKS.clone().requires_grad_()
    for tensors in ((), (None, None, None, sinks)):
        given = tuple(x.detach().requires_grad_() for x in (q, k, v))
        op = getattr(torch.ops.flashfit, name).default
        torch.library.opcheck(op, (*given, *tensors), {"causal": True, "layout": layout})


@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
def test_the_operator_gives_the_strides_that_a_trace_saw(layout: Any) -> None:
    q, k, v, grad = inputs(5, 7, "float32")
    out, lse = flashfit.attention(q, k, v, return_lse=True)
    tensors = [x.transpose(1, 2) if layout == "bhsd" else x for x in (grad, q, k, v, out)]
    found = torch.ops.flashfit.attention_backward(*tensors, lse, layout=layout)
    assert [x.stride() for x in found[:3]] == [torch.empty_like(x).stride() for x in tensors[1:4]]


class Watch(TorchDispatchMode):  # type: ignore[misc]
    """A mode that changes nothing and keeps the names of flashfit's operators that ran."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if "flashfit" in str(function):
            self.ran.append(str(function))
        return function(*args, **(kwargs or {}))


SHORT_WAY: dict[str, dict[str, Any]] = {
    "full": {},
    "return_lse": {"return_lse": True},
    "scale and window": {"softmax_scale": 0.3, "window": (3, 2)},
    "bias": {"bias": bias_of(9, 9)},
    "sinks": {"sinks": SINKS},
    "variable lengths": {name: torch.tensor([0, 4, 9], dtype=torch.int32) for name in ("cu_seqlens_q", "cu_seqlens_k")},
    "lengths as lists": {"cu_seqlens_q": [0, 4, 9], "cu_seqlens_k": [0, 4, 9]},
}


@pytest.mark.parametrize("name", SHORT_WAY)
def test_the_short_way_of_plain_tensors_gives_what_the_operators_do(name: str) -> None:
    """A mode sees operators, and so sends a call their way."""
    options = SHORT_WAY[name]
    q, k, v, grad = inputs(9, 9, "float32")
    if "cu_seqlens_q" in options:
        q, k, v, grad = (x[0] for x in (q, k, v, grad))
    tensors = [x.requires_grad_() for x in (q, k, v)]
    found: list[Any] = []
    for mode in (None, Watch()):
        with mode or torch.enable_grad():
            result: Any = flashfit.attention(*tensors, **options)
            out, *lse = result if isinstance(result, tuple) else (result,)
            found.append([out, *lse, *torch.autograd.grad(out, tensors, grad)])
        if mode is not None:
            assert mode.ran == ["flashfit.attention_lse.default", "flashfit.attention_backward.default"]
    for mine, its in zip(*found):
        assert torch.equal(mine, its)
    assert not any(x.requires_grad for x in found[0][1:])


def test_a_tensor_that_changed_before_its_backward_is_noticed() -> None:
    q, k, v, grad = inputs(9, 9, "float32")
    bias = bias_of(9, 9)
    out = flashfit.attention(q.requires_grad_(), k, v, bias=bias)
    bias.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward(grad)


def test_hooks_see_what_is_saved_and_checkpoints_compute_it_again() -> None:
    q, k, v, grad = inputs(9, 9, "float32")
    q.requires_grad_()
    want = torch.autograd.grad(flashfit.attention(q, k, v), q, grad)[0]
    packed: list[Any] = []

    def pack(x: Any) -> Any:
        packed.append(x)
        return x.clone()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        out = flashfit.attention(q, k, v)
    assert len(packed) == 5
    assert torch.equal(torch.autograd.grad(out, q, grad)[0], want)
    out = torch.utils.checkpoint.checkpoint(flashfit.attention, q, k, v, use_reentrant=False)
    assert torch.equal(torch.autograd.grad(out, q, grad)[0], want)


def test_the_operator_refuses_what_a_kernel_would_read_past_the_end_of() -> None:
    q = normal(2, 8, 4, 16)
    k = normal(2, 8, 2, 16, seed=1)
    out, lse = torch.ops.flashfit.attention_lse(q, k, k)
    right = {"grad_out": q, "q": q, "k": k, "v": k, "out": out, "lse": lse}
    assert torch.ops.flashfit.attention_backward(*right.values())[0].shape == q.shape
    for name, wrong in (("grad_out", q[:1]), ("out", out[..., :3]), ("lse", lse[:, :, :7])):
        shapes = (re.escape(str(tuple(x.shape))) for x in (wrong, right[name]))
        words = "^{}: shape is {}; accepted: {}$".format(name, *shapes)
        with pytest.raises(flashfit.InvalidArgument, match=words):
            torch.ops.flashfit.attention_backward(*{**right, name: wrong}.values())
    for name in ("grad_out", "out", "lse"):
        with pytest.raises(flashfit.InvalidArgument, match=f"^{name}: .*float64.*; accepted: torch.float32"):
            torch.ops.flashfit.attention_backward(*{**right, name: right[name].double()}.values())


def test_the_operator_refuses_what_the_forward_refuses() -> None:
    def int32(*values: int) -> Any:
        return torch.tensor(values, dtype=torch.int32)

    q, k, v = normal(2, 5, 4, 8), normal(2, 7, 2, 8, seed=1), normal(2, 7, 2, 8, seed=2)
    packed = q[0], k[0, :5], v[0, :5]
    whole = {"cu_seqlens_q": int32(0, 5), "cu_seqlens_k": int32(0, 5)}
    wrong: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((q, k[:, :3], v), {}, "v: shape is"),
        ((q, k, v[:, :3]), {}, "v: shape is"),
        ((q, k[:1], v[:1]), {}, "k: shape is"),
        ((q, normal(2, 7, 3, 8), normal(2, 7, 3, 8)), {}, "k: 3 heads"),
        ((q, k, v), {"alibi_slopes": torch.ones(1)}, "alibi_slopes: shape is"),
        ((q, k, v), {"sinks": torch.ones(3)}, "sinks: shape is"),
        ((q, k, v), {"bias": torch.ones(6, 7)}, "bias: shape is"),
        ((q, k, v), {"seqused_k": int32(99, -5)}, "seqused_k: 99 at .0.; accepted: 0 to 7, the keys"),
        ((q, k, v), {"seqused_k": int32(7, -5)}, "seqused_k: -5 at .1."),
        ((q, k, v), {"window_left": -5}, "window: its left is -5"),
        ((q, k, v), {"softmax_scale": -1.0}, "softmax_scale: -1"),
        ((q, k, v), {"softmax_scale": float("inf")}, "softmax_scale: inf"),
        ((q, torch.zeros(()).expand(k.shape), v), {}, "k: strides are .0, 0, 0, 0.; accepted: 1 in the last"),
        ((q, k, v.mT.contiguous().mT), {}, "v: strides are"),
        ((q, k, normal(2, 7, 2, 16)), {}, "v: "),
        ((q, k, v), {"sinks": torch.ones(4, device="meta")}, "sinks: device is meta"),
        (packed, {**whole, "cu_seqlens_q": int32(5, 0)}, "cu_seqlens_q: starts with 5"),
        (packed, {**whole, "cu_seqlens_k": int32(0, 99)}, "cu_seqlens_k: ends with 99"),
        (packed, {**whole, "cu_seqlens_q": int32(0, 5).long()}, "cu_seqlens_q: dtype is torch.int64"),
        (packed, {**whole, "seqused_k": int32(6)}, "seqused_k: 6 at .0.; accepted: 0 to 5, the keys"),
    ]
    out, lse = torch.ops.flashfit.attention_lse(q, k, v)
    with pytest.raises(flashfit.InvalidArgument, match=r"^lse: torch.float32 on meta; accepted"):
        torch.ops.flashfit.attention_backward(out, q, k, v, out, lse.to("meta"))
    for tensors, options, words in wrong:
        out = torch.zeros(*tensors[0].shape[:-1], tensors[2].shape[-1])
        lse = torch.zeros([4, 5] if out.dim() == 3 else [2, 4, 5])
        with pytest.raises(flashfit.InvalidArgument, match=f"^{words}"):
            torch.ops.flashfit.attention_backward(out, *tensors, out, lse, **options)


def test_what_a_transform_left_behind_is_the_tensor_in_it() -> None:
    leaked: list[Any] = []
    q, k, v, grad = inputs(9, 9, "float32")

    def leak(x: Any) -> Any:
        leaked.append(x)
        return x.sum()

    torch.func.grad(leak)(q)
    k.requires_grad_()
    found, want = (torch.autograd.grad(flashfit.attention(x, k, v), k, grad)[0] for x in (leaked[0], q))
    assert torch.equal(found, want)


def test_opcheck_of_the_backward() -> None:
    q, k, v, grad = inputs(5, 7, "float32")
    out, lse = flashfit.attention(q, k, v, return_lse=True, sinks=SINKS)
    op = torch.ops.flashfit.attention_backward.default
    torch.library.opcheck(op, (grad, q, k, v, out, lse))
    torch.library.opcheck(op, (grad, q, k, v, out, lse, None, None, None, SINKS), {"window_left": 3})


def test_a_training_step_learns() -> None:
    torch.manual_seed(0)
    block = torch.nn.Linear(16, 48)
    x, want = torch.randn(2, 6, 16), torch.randn(2, 6, 16)
    optimizer = torch.optim.SGD(block.parameters(), 0.5)
    losses = []
    for _ in range(20):
        q, k, v = block(x).unflatten(-1, (3, 2, 8)).unbind(2)
        loss = (flashfit.attention(q, k, v, causal=True).flatten(2) - want).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]


def test_functions_of_flash_attention_ask_for_determinism() -> None:
    q, k, v, grad = inputs(9, 9, "bfloat16")
    q, k, v = (x.requires_grad_() for x in (q, k, v))
    want = torch.autograd.grad(flashfit.attention(q, k, v, causal=True), (q, k, v), grad)
    cu = torch.tensor([0, 9, 18], dtype=torch.int32)
    asked: list[bool] = []

    class WatchOptions(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if "attention_backward" in str(function):
                asked.append(bool((kwargs or {}).get("deterministic")))
            return function(*args, **(kwargs or {}))

    for deterministic in (False, True):
        dense = flash_attn.flash_attn_func(q, k, v, causal=True, deterministic=deterministic)
        rows: Any = [x.flatten(0, 1) for x in (q, k, v)]
        ragged: Any = flash_attn.flash_attn_varlen_func(
            rows[0], rows[1], rows[2], cu, cu, 9, 9, causal=True, deterministic=deterministic
        )
        for out in (dense, ragged.unflatten(0, (2, 9))):
            with WatchOptions():
                found = torch.autograd.grad(out, (q, k, v), grad)
            for mine, its in zip(found, want):
                assert torch.equal(mine, its)
    assert asked == [False, False, True, True]


def test_determinism_is_asked_of_pytorch_and_given_back() -> None:
    def state() -> tuple[bool, bool]:
        return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()

    for before in ((False, False), (True, True), (True, False)):
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        try:
            with _torch_gradients._deterministic(False):
                assert state() == before
            with _torch_gradients._deterministic(True):
                assert state() == (True, False)
            assert state() == before
        finally:
            torch.use_deterministic_algorithms(False)


def test_what_pytorch_takes() -> None:
    on_cpu, on_gpu = Problem(None, 64, 64), Problem((9, 0), 64, 64)
    assert operator_of(on_cpu) == ON_CPU
    assert operator_of(on_gpu) == ON_GPU
    taken = (
        on_cpu,
        on_cpu._replace(head_dim=512, head_dim_v=512, has_alibi=True, has_bias=True, has_seqused=True),
        on_gpu,
        on_gpu._replace(head_dim=256, head_dim_v=256),
        on_gpu._replace(capability=(8, 9), head_dim=256, head_dim_v=256),
        on_gpu._replace(capability=(9, 0), head_dim=208, head_dim_v=208),
    )
    assert [misfit_of(problem) for problem in taken] == [None] * len(taken)
    misfits = {
        "softcap": on_cpu._replace(softcap=30.0),
        "v": on_cpu._replace(head_dim_v=32),
        "alibi_slopes": on_gpu._replace(has_alibi=True),
        "bias": on_gpu._replace(has_bias=True),
        "seqused_k": on_gpu._replace(has_seqused=True),
    }
    for name, problem in misfits.items():
        found = misfit_of(problem)
        assert found is not None
        assert found.name == name
    for problem in (
        on_gpu._replace(capability=(7, 5)),
        on_gpu._replace(head_dim=264, head_dim_v=264),
        on_gpu._replace(capability=(8, 9), head_dim=208, head_dim_v=208),
    ):
        found = misfit_of(problem)
        assert found is not None
        assert found.name == "q"


def test_explain_says_whose_backward_runs() -> None:
    for gpu, head_dim, by in (("H100", 64, ON_GPU), ("T4", 64, None), ("H100", 512, None)):
        (found,) = flashfit.explain(gpu, head_dim=head_dim)
        assert found["backward"]["by"] == by
        assert (by is None) == ("reason" in found["backward"])


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "softcap": (
        {"softcap": 30.0},
        "softcap: 30 in a call that needs gradients, which come from PyTorch's flash attention; accepted: None, or a "
        "call under torch.no_grad()",
    ),
    "bias": (
        {"bias": torch.zeros(9, 9, requires_grad=True)},
        "bias: requires grad, and flashfit has no gradient of it; accepted: tensors without, or a call under "
        "torch.no_grad()",
    ),
    "out": (
        {"out": torch.zeros(B, 9, H, D)},
        "q: requires grad in a call with out=, which has no backward; accepted: out=None, or torch.no_grad()",
    ),
    "variant": (
        {"variant": "any"},
        "q: requires grad in a call with stream, variant or workspace; accepted: None of them, or a call under "
        "torch.no_grad()",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_at_the_forward(name: str) -> None:
    options, words = REFUSED[name]
    q, k, v, _ = inputs(9, 9, "float32")
    q.requires_grad_()
    with pytest.raises(flashfit.InvalidArgument) as caught:
        flashfit.attention(q, k, v, **options)
    assert str(caught.value) == words


def test_a_value_of_another_head_dim_is_refused() -> None:
    q, k, v, _ = inputs(9, 9, "float32")
    with pytest.raises(flashfit.InvalidArgument, match=r"^v: head_dim 16 in a call that needs gradients.* 32, as q"):
        flashfit.attention(q.requires_grad_(), k, v[..., :16])


def test_no_second_derivative() -> None:
    q, k, v, grad = inputs(5, 5, "float32")
    q.requires_grad_()
    out = torch_ops.call(q, k, v)
    with pytest.raises(flashfit.InvalidArgument, match=r"^\w+: requires grad, and flashfit has no second derivative"):
        torch.autograd.grad(out, q, grad.requires_grad_(), create_graph=True)
