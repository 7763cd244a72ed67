"""Gradients, autocast, vmap and other transforms, modes and subclasses of tensors around flashfit's operators."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")
from flashfit import torch_ops  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

# Of torch 2.15 in every compiled function.
pytestmark = pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0")

ENTRIES = [flashfit.attention, torch_ops.call]


def dense(dtype: str = "float32") -> tuple[Any, Any, Any]:
    generator = torch.Generator().manual_seed(7)
    shapes = ((2, 5, 4, 32), (2, 7, 2, 32), (2, 7, 2, 32))
    q, k, v = (torch.randn(s, generator=generator).to(getattr(torch, dtype)) for s in shapes)
    return q, k, v


@pytest.mark.parametrize("attend", [*ENTRIES, torch.ops.flashfit.attention.default])
@pytest.mark.parametrize("which", ["q", "k", "v"])
@pytest.mark.parametrize("fake", [False, True])
def test_results_have_a_history_where_it_is_needed(attend: Any, which: str, fake: bool) -> None:
    tensors = dict(zip("qkv", dense()))
    tensors[which].requires_grad_()
    mode: Any = FakeTensorMode() if fake else nullcontext()
    with mode:
        if fake:
            tensors = {name: mode.from_tensor(x) for name, x in tensors.items()}
        with torch.no_grad():  # first, so that a cached answer would show
            assert not attend(*tensors.values()).requires_grad
        out = attend(*tensors.values())
        assert out.requires_grad
        (grad,) = torch.autograd.grad(out.sum(), tensors[which])
        assert grad.shape == tensors[which].shape


def test_gradients_of_out_are_refused() -> None:
    q, k, v = dense()
    out = torch.zeros_like(q).requires_grad_()
    for name in ("attention_out", "attention_lse_out"):
        with pytest.raises(flashfit.InvalidArgument, match=r"^out: requires grad"):
            getattr(torch.ops.flashfit, name)(q, k, v, out)
    with torch.no_grad():
        torch.ops.flashfit.attention_out(q, k, v, out)
    assert torch.equal(out, flashfit.attention(q, k, v))


@pytest.mark.filterwarnings("ignore:.torch.jit")  # of torch's own derivatives
@pytest.mark.parametrize("attend", ENTRIES)
def test_transforms_that_differentiate_are_refused(attend: Any) -> None:
    q, k, v = dense()

    def loss(q: Any) -> Any:
        return attend(q, k, v).sum()

    derivatives: tuple[Callable[[], Any], ...] = (
        lambda: torch.func.grad(loss)(q),
        lambda: torch.vmap(torch.func.grad(loss))(q[None]),
        lambda: torch.func.grad(lambda q: torch.vmap(loss)(q[None]).sum())(q),
        lambda: torch.func.vjp(loss, q),
    )
    for differentiate in derivatives:
        with pytest.raises(flashfit.InvalidArgument, match=r"^q: requires grad"):
            differentiate()
    with pytest.raises(flashfit.InvalidArgument, match=r"^q: has a tangent"):
        torch.func.jvp(loss, (q,), (q,))
    # What does not depend on the variable is computed, however deep.
    assert torch.equal(torch.func.grad(lambda x: (x * attend(q, k, v)).sum())(q), flashfit.attention(q, k, v))


@pytest.mark.filterwarnings("ignore:.torch.jit")  # of torch's own derivatives
@pytest.mark.parametrize("attend", [torch_ops.call, torch.ops.flashfit.attention.default])
def test_forward_mode_is_refused(attend: Any) -> None:
    q, k, v = dense()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(q, torch.ones_like(q))
        with pytest.raises(flashfit.InvalidArgument, match=r"^v: has a tangent.*; accepted: tensors without$"):
            attend(k, k, forward_ad.make_dual(v, v))
        with torch.no_grad(), pytest.raises(flashfit.InvalidArgument, match=r"^q: has a tangent"):
            attend(dual, k, v)
        assert torch.equal(attend(q, k, v), flashfit.attention(q, k, v))


@pytest.mark.parametrize("attend", ENTRIES)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_autocast_casts_as_sdpa_does(attend: Any, dtype: str) -> None:
    low = getattr(torch, dtype)
    q, k, v = dense()
    want, want_lse = flashfit.attention(q.to(low), k.to(low), v.to(low), return_lse=True)
    out = torch.zeros_like(want)
    with torch.autocast("cpu", dtype=low):
        # Inputs of several dtypes become one, as in F.scaled_dot_product_attention.
        sdpa = torch.nn.functional.scaled_dot_product_attention(q, q.to(low), q)
        found, lse = attend(q, k.to(low), v, return_lse=True)
        attend(q, k, v, out=out)
        with pytest.raises(flashfit.InvalidArgument, match=r"^q: dtype is .*64"):
            attend(q.double(), k.double(), v.double())
        with torch.autocast("cpu", enabled=False):
            assert attend(q, k, v).dtype == torch.float32
    assert (found.dtype, lse.dtype) == (sdpa.dtype, torch.float32)
    assert torch.equal(found, want)
    assert torch.equal(lse, want_lse)
    assert torch.equal(out, want)


def test_autocast_in_a_compiled_function() -> None:
    q, k, v = dense()

    def autocast(q: Any, k: Any, v: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return flashfit.attention(q, k, v)

    compiled = torch.compile(autocast, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(q, k, v), flashfit.attention(*(x.bfloat16() for x in (q, k, v))))


@pytest.mark.parametrize("attend", ENTRIES)
@pytest.mark.parametrize("in_dims", [(0, None, None), (0, 0, 0), (1, None, 0), (None, 1, 2)])
def test_vmap(attend: Any, in_dims: tuple[Any, ...]) -> None:
    inputs = [
        x if d is None else torch.stack([x, x * 2, x - 1]).movedim(0, d) for x, d in zip(dense("float16"), in_dims)
    ]
    mapped = torch.vmap(lambda q, k, v: attend(q, k, v, causal=True, return_lse=True), in_dims=in_dims)(*inputs)
    for i in range(3):
        each = [x if d is None else x.select(d, i) for x, d in zip(inputs, in_dims)]
        want = flashfit.attention(*each, causal=True, return_lse=True)
        for mine, its in zip(mapped, want):
            assert torch.equal(mine[i], its)


@pytest.mark.parametrize("cu_dim", [None, 0])
def test_vmap_of_variable_lengths(cu_dim: int | None) -> None:
    q, k, v = (torch.stack([x.flatten(0, 1), x.flatten(0, 1) * 2]) for x in dense("float16"))
    cu_q = torch.tensor([[0, 4, 10], [0, 9, 10]], dtype=torch.int32)
    cu_k = torch.tensor([[0, 3, 14], [0, 8, 14]], dtype=torch.int32)
    if cu_dim is None:
        cu_q, cu_k = cu_q[0], cu_k[0]

    def packed(q: Any, k: Any, v: Any, cu_q: Any, cu_k: Any) -> Any:
        return flashfit.attention(q, k, v, cu_seqlens_q=cu_q, cu_seqlens_k=cu_k, return_lse=True)

    mapped = torch.vmap(packed, in_dims=(0, 0, 0, cu_dim, cu_dim))(q, k, v, cu_q, cu_k)
    for i in range(2):
        cu = (cu_q, cu_k) if cu_dim is None else (cu_q[i], cu_k[i])
        for mine, its in zip(mapped, packed(q[i], k[i], v[i], *cu)):
            assert torch.equal(mine[i], its)


def test_vmap_of_no_elements_is_refused_in_words() -> None:
    q, k, v = dense()
    for options in ({}, {"sinks": torch.zeros(q.shape[-2])}):
        with pytest.raises(flashfit.InvalidArgument, match=r"^vmap: the mapped dimension has size 0; accepted: 1 or"):
            torch.vmap(lambda q, options=options: flashfit.attention(q, k, v, **options))(q.new_empty(0, *q.shape))


def test_vmap_twice() -> None:
    x = torch.randn(2, 3, 1, 5, 2, 32).half()
    mapped = torch.vmap(torch.vmap(lambda x: flashfit.attention(x, x, x)))(x)
    assert torch.equal(mapped.flatten(0, 2), flashfit.attention(*[x.flatten(0, 2)] * 3))


def test_functionalize() -> None:
    q, k, v = dense()
    want = flashfit.attention(q, k, v)
    assert torch.equal(torch.func.functionalize(lambda q: flashfit.attention(q, k, v))(q), want)
    # torch does not do it for operators that write, but for those of ATen; torch.compile does.
    with pytest.raises(RuntimeError, match="flashfit::attention_out"):
        torch.func.functionalize(lambda q: flashfit.attention(q, k, v, out=torch.zeros_like(q)))(q)


def test_symbolic_tracing_is_refused_in_words() -> None:
    """A torch.fx.Proxy answers to every name, also to those that make an array of a stranger."""
    with pytest.raises(flashfit.InvalidType, match=r"^q: a torch.fx.Proxy, .* accepted: an array; torch.fx.wrap"):
        torch.fx.symbolic_trace(lambda q: flashfit.attention(q, q, q))


def test_dispatch_modes_see_the_operator() -> None:
    seen: list[str] = []

    class Watch(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    q, k, v = dense()
    with Watch():
        out = flashfit.attention(q, k, v)
    assert "flashfit.attention.default" in seen
    assert torch.equal(out, flashfit.attention(q, k, v))


def test_parameters_and_subclasses() -> None:
    q, k, v = dense()
    want = flashfit.attention(q, k, v)
    assert torch.equal(torch_ops.call(torch.nn.Parameter(q, requires_grad=False), k, v), want)

    class Named(torch.Tensor):  # type: ignore[misc]
        pass

    out = torch_ops.call(q.as_subclass(Named), k, v)
    assert isinstance(out, Named)
    assert torch.equal(out.as_subclass(torch.Tensor), want)

    nested = torch.nested.nested_tensor([q[0], q[1]], layout=torch.jagged)
    with pytest.raises(flashfit.InvalidArgument, match=r"^q: layout is torch.jagged; accepted: torch.strided$"):
        flashfit.attention(nested, k, v)
    with pytest.raises((NotImplementedError, RuntimeError), match=r"flashfit.*attention"):
        torch.ops.flashfit.attention(nested, k, v)


def test_inference_mode() -> None:
    with torch.inference_mode():
        q, k, v = dense()
        out, blank = torch.zeros_like(q), torch.zeros_like(q)
        torch.ops.flashfit.attention_out(q, k, v, out)
        assert torch.equal(out, torch_ops.call(q, k, v))
    # Inference tensors outside, beside one that autograd could know.
    assert torch.equal(torch.ops.flashfit.attention(q, k, v.clone()), out)
    torch.ops.flashfit.attention_out(q.clone(), k, v, blank)
    assert torch.equal(blank, out)
