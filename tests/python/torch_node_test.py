"""Gradients by PyTorch's own node around flashfit's forward: which calls get one, that its backward is given what it
needs, and that PyTorch's own calls of the same operators stay PyTorch's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")
from flashfit import _torch_node  # noqa: E402
from flashfit._binding import binding  # noqa: E402
from flashfit.integrations import sdpa  # noqa: E402

pytestmark = pytest.mark.skipif(binding().native is None, reason="without the native module nothing is plain quickly")
attend: Any = torch.nn.functional.scaled_dot_product_attention
NODE = "ScaledDotProductFlashAttentionForCpuBackward0"


def tensors(*, rows: int = 9, keys: int = 9, heads_kv: int = 4, head_dim: int = 16, dtype: Any = None) -> list[Any]:
    """q, k, v of "bhsd" that need gradients."""
    sizes = (4, rows), (heads_kv, keys), (heads_kv, keys)
    made = [
        torch.randn(2, heads, n, head_dim, generator=torch.Generator().manual_seed(i))
        for i, (heads, n) in enumerate(sizes)
    ]
    return [x.to(dtype or torch.float32).requires_grad_() for x in made]


def ours(q: Any, k: Any, v: Any, **options: Any) -> Any:
    return flashfit.attention(q, k, v, layout="bhsd", **options)


def gradients(out: Any, x: list[Any]) -> list[Any]:
    """Of a sum whose weights differ."""
    weights = torch.linspace(-1, 1, out.numel(), dtype=torch.float64).view(out.shape)
    return [out.detach(), *torch.autograd.grad(out, x, weights.to(out.dtype))]


def error(found: Any, exact: Any) -> float:
    return float((found.double() - exact).norm() / exact.norm())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}, {"is_causal": True, "scale": 0.3}])
def test_results_and_gradients_are_as_near_to_fp64_as_pytorchs(options: dict[str, Any], dtype: str) -> None:
    x = tensors(dtype=getattr(torch, dtype))
    exact_x = [each.detach().double().requires_grad_() for each in x]
    exact = gradients(attend(*exact_x, **options), exact_x)
    pytorchs = gradients(attend(*x, **options), x)
    out = ours(*x, causal="is_causal" in options, softmax_scale=options.get("scale"))
    assert out.grad_fn.name() == NODE
    for found, own, want in zip(gradients(out, x), pytorchs, exact):
        assert error(found, want) <= 2 * error(own, want) + 1e-7
    with sdpa.installed():
        for _ in range(3):  # the first call decides, the others go the way that was kept
            again = attend(*x, **options)
            assert again.grad_fn.name() == NODE
            assert torch.equal(again, out)


@pytest.mark.parametrize("sizes", [{"heads_kv": 2}, {"keys": 12}, {"heads_kv": 2, "rows": 5}])
def test_what_pytorchs_backward_for_the_cpu_lacks_goes_the_other_way(sizes: dict[str, int]) -> None:
    x = tensors(**sizes)
    assert "Node" in ours(*x, causal=True).grad_fn.name()
    assert "Node" in ours(*x, causal=True, batch_invariant=True).grad_fn.name()
    assert "Node" in ours(*x, causal=True, window=(3, 0)).grad_fn.name()


@pytest.fixture
def backward_for_gpus() -> Iterator[list[tuple[Any, ...]]]:
    """What the nodes of the operators for GPUs ask PyTorch's backward, which CPUs lack."""
    asked: list[tuple[Any, ...]] = []

    def backward(grad: Any, q: Any, k: Any, v: Any, *others: Any, **options: Any) -> tuple[Any, Any, Any]:
        asked.append((grad, q, k, v, *others, options.get("scale")))
        return torch.ones_like(q), torch.ones_like(k), torch.ones_like(v)

    library = torch.library.Library("aten", "IMPL")
    for name in ("_flash_attention_backward", "_scaled_dot_product_flash_attention_backward"):
        library.impl(name, backward, "CPU")
    yield asked
    library._destroy()


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
@pytest.mark.parametrize(("causal", "scale"), [(False, None), (True, 0.3)])
def test_the_nodes_for_gpus_give_their_backward_what_it_reads(
    layout: Any, causal: bool, scale: Any, backward_for_gpus: list[tuple[Any, ...]]
) -> None:
    dense = layout == "bhsd"
    x = tensors(keys=9 if causal else 12, heads_kv=2)
    if not dense:
        x = [each.detach().transpose(1, 2).contiguous().requires_grad_() for each in x]
    operator = _torch_node._ON_GPU if dense else _torch_node._ON_GPU_ROWS_FIRST
    form: Any = _torch_node._dense if dense else _torch_node._rows_first
    node = partial(form, operator.redispatch(), 0.25)
    out = node(*x, causal, scale)
    with torch.no_grad():
        want, lse = flashfit.attention(*x, causal=causal, softmax_scale=scale, layout=layout, return_lse=True)
    assert torch.equal(out, want)
    given = torch.autograd.grad(out.sum(), x)
    assert all(bool((each == 1).all()) and each.shape == of.shape for each, of in zip(given, x))
    (asked,) = backward_for_gpus
    _, *saved = asked[:6]
    assert all(torch.equal(each, of) for each, of in zip(saved, (*x, out, lse)))
    longest = 9, 9 if causal else 12
    assert asked[6:12] == (None, None, *longest, 0.0, causal)
    assert asked[-1] == scale


def test_pytorchs_own_calls_of_the_operator_stay_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tensors()
    ours(*x)

    def never(*_: Any) -> None:
        raise AssertionError("flashfit's forward was asked")

    monkeypatch.setattr(_torch_node, "_attend", never)
    with pytest.raises(AssertionError, match="flashfit's forward"):
        ours(*x)
    assert attend(*x).grad_fn.name() == NODE
    with torch.no_grad():
        attend(*x)


def test_refusals_stay_in_one_line_and_gradients_stay_on() -> None:
    x = tensors()
    ours(*x, causal=True)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"causal": 1}, "causal: 1"),
        ({"softmax_scale": -1.0}, "softmax_scale: -1"),
        ({"softmax_scale": "x"}, "softmax_scale: str"),
    ]
    for options, words in wrong:
        with pytest.raises(flashfit.FlashfitError, match=words) as caught:
            ours(*x, **options)
        assert "\n" not in str(caught.value)
    with pytest.raises(flashfit.FlashfitError, match="layout"):
        flashfit.attention(*x, layout=["bhsd"])  # type: ignore[call-overload]
    with pytest.raises(flashfit.FlashfitError, match="dtype"):
        ours(*tensors(dtype=torch.float64))
    with pytest.raises(flashfit.FlashfitError, match="dtype"):
        ours(x[0], x[1].detach().half(), x[2])
    assert torch.is_grad_enabled()


def test_there_is_no_second_derivative() -> None:
    x = tensors()
    (first,) = torch.autograd.grad(ours(*x).sum(), x[:1], create_graph=True)
    with pytest.raises(RuntimeError, match="not implemented"):
        first.sum().backward()


def test_another_release_with_other_arguments_has_no_such_node() -> None:
    name = "_scaled_dot_product_flash_attention_for_cpu"
    for arguments, results in (("query key value bias", 2), ("query key value", 3)):
        assert _torch_node._Operator(name, _torch_node._on_cpu, arguments, results).redispatch() is None
    assert _torch_node._Operator("_no_such_operator", _torch_node._on_cpu, "", 2).redispatch() is None


def test_gradients_in_threads_and_hooks_of_what_is_saved() -> None:
    x = tensors()
    want = gradients(ours(*x), x)
    found: list[list[Any]] = []
    threads = [
        threading.Thread(target=lambda: found.extend(gradients(ours(*x), x) for _ in range(20))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert all(torch.equal(a, b) for each in found for a, b in zip(each, want))
    packed: list[Any] = []

    def pack(t: Any) -> Any:
        packed.append(t)
        return t.clone()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        out = ours(*x)
    assert all(torch.equal(a, b) for a, b in zip(gradients(out, x), want))
    assert len(packed) == 5  # q, k, v, out, lse
