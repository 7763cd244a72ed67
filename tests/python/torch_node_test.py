"""Gradients by PyTorch's own node around flashfit's forward: which calls get one, that its backward is given what it
needs, and that PyTorch's own calls of the same operators stay PyTorch's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")
from flashfit import _torch, _torch_attention, _torch_node, _torch_shim  # noqa: E402
from flashfit._binding import binding  # noqa: E402
from flashfit._torch_shim import shim  # noqa: E402
from flashfit.integrations import sdpa  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402

from tests.integrations.fresh_python import python  # noqa: E402
from tests.integrations.watching import Watching  # noqa: E402

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
    longest = 9, 9 if causal else 12
    rest: tuple[Any, ...] = (None, None, *longest, 0.0, causal, False)
    if dense:
        rest = (0.0, True) if causal else ()
    ways = operator.ways()
    assert ways is not None
    out = _torch_node._node(ways, 0.25, rest)(x[0], x[1], x[2], scale)
    with torch.no_grad():
        want, lse = flashfit.attention(*x, causal=causal, softmax_scale=scale, layout=layout, return_lse=True)
    assert torch.equal(out, want)
    given = torch.autograd.grad(out.sum(), x)
    assert all(bool((each == 1).all()) and each.shape == of.shape for each, of in zip(given, x))
    (asked,) = backward_for_gpus
    _, *saved = asked[:6]
    assert all(torch.equal(each, of) for each, of in zip(saved, (*x, out, lse)))
    assert asked[6:12] == (None, None, *longest, 0.0, causal)
    assert asked[-1] == scale


def test_pytorchs_own_calls_of_the_operator_stay_its_own() -> None:
    """Rounding tells whose a result is."""
    x = tensors(rows=70, keys=300)
    own = attend(*x)
    mine = ours(*x)
    assert not torch.equal(own, mine)
    assert torch.equal(attend(*x), own)
    assert attend(*x).grad_fn.name() == mine.grad_fn.name() == NODE
    with torch.no_grad():
        assert torch.equal(attend(*x), own)


def laid_out(x: Any, how: str) -> Any:
    """The same numbers, otherwise in memory."""
    x = x.detach()
    made = {
        "dense": lambda: x.contiguous(),
        "rows first": lambda: x.transpose(1, 2).contiguous().transpose(1, 2),
        "of packed heads": lambda: torch.cat([x, x, x], 1)[:, : x.shape[1]],
        "of packed rows": lambda: torch.cat([x.transpose(1, 2)] * 3, 2)[:, :, : x.shape[1]].transpose(1, 2),
        "one row, of an odd stride": lambda: x[:, :, :1].as_strided((*x.shape[:2], 1, x.shape[3]), (96, 24, 7, 1)),
        "with gaps": lambda: torch.cat([x, x], 3)[..., : x.shape[3]],
    }[how]()
    return made.requires_grad_()


with_shim = pytest.mark.skipif(shim() is None, reason="this torch has no stable C interface")


@with_shim
@pytest.mark.parametrize(
    "how", ["dense", "rows first", "of packed heads", "of packed rows", "one row, of an odd stride", "with gaps"]
)
@pytest.mark.parametrize("operator", ["_ON_CPU", "_ON_GPU", "_ON_GPU_ROWS_FIRST"])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_the_modules_forward_gives_what_pythons_gives(how: str, operator: str, scale: Any) -> None:
    """To the last bit and in the same memory order, and it keeps none of the tensors."""
    x = [laid_out(each, how) for each in tensors(head_dim=24)]
    rows_first = operator == "_ON_GPU_ROWS_FIRST"
    if rows_first:
        x = [each.detach().transpose(1, 2).requires_grad_() for each in x]
    rows = x[0].shape[1]
    given = (*x, None, None, rows, rows, 0.0, True, False) if rows_first else (*x, 0.0, True)
    options = {} if scale is None else {"scale": scale}
    ways = getattr(_torch_node, operator).ways()
    assert ways.quick is not ways.careful
    quick, careful = ways.quick(*given, **options), ways.careful(*given, **options)
    assert torch.equal(quick[0], careful[0])
    assert torch.equal(quick[1], careful[1])
    for mine, its in zip(quick, careful):
        if not isinstance(its, torch.Tensor):
            assert mine == its
        else:
            assert (mine.shape, mine.stride(), mine.dtype) == (its.shape, its.stride(), its.dtype)
    assert quick[0].grad_fn.name() == careful[0].grad_fn.name()
    memory = [each.untyped_storage() for each in (*x, quick[0], quick[1])]
    del x, given, quick, careful, mine, its
    assert [torch._C._storage_Use_Count(each._cdata) for each in memory] == [1] * 5


@with_shim
def test_what_the_c_api_refuses_comes_to_pythons_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    careful = _torch_node._forward

    def forward(*given: Any) -> Any:
        asked.append(1)
        return careful(*given)

    monkeypatch.setattr(_torch_node, "_forward", forward)
    x = tensors()
    want = ours(*x)
    assert asked == []
    turned = x[0].detach().transpose(2, 3).contiguous().transpose(2, 3).requires_grad_()  # elements do not lie together
    with pytest.raises(flashfit.FlashfitError, match="stride"):
        ours(turned, *x[1:])
    assert asked == [1]
    assert torch.equal(ours(*x), want)


def test_without_the_interface_python_makes_the_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "_scaled_dot_product_flash_attention_for_cpu"
    operator = _torch_node._Operator(name, _torch_node._on_cpu, "", 2)
    monkeypatch.setattr(_torch_node, "shim", lambda: None)
    assert not operator._register_modules()


def test_a_torch_that_lacks_a_function_has_no_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_torch_shim, "_FUNCTIONS", ("delete_tensor_object", "no_such_function"))
    assert _torch_shim.shim.__wrapped__() is None


def test_refusals_stay_in_one_line_and_gradients_stay_on() -> None:
    x = tensors()
    ours(*x, causal=True)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"causal": 1}, "causal: 1"),
        ({"softmax_scale": -1.0}, "softmax_scale: -1"),
        ({"softmax_scale": "1"}, "softmax_scale: '1'"),
        ({"softmax_scale": torch.ones(2)}, "softmax_scale: Tensor of shape"),
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
        assert _torch_node._Operator(name, _torch_node._on_cpu, arguments, results).ways() is None
    assert _torch_node._Operator("_no_such_operator", _torch_node._on_cpu, "", 2).ways() is None


@pytest.mark.parametrize("call", ["flashfit.attention", "torch.nn.functional.scaled_dot_product_attention"])
def test_the_first_call_of_a_process_may_be_in_a_checkpoint(call: str) -> None:
    """The node is tried once: tensors that the trial saves are none of the program's."""
    code = f"""
import flashfit, torch
from flashfit.integrations import sdpa
from torch.utils.checkpoint import checkpoint
sdpa.install()
x = torch.randn(1, 4, 6, 16, requires_grad=True)
for reentrant in (False, True):
    checkpoint(lambda x: {call}(x, x, x), 1 * x, use_reentrant=reentrant).sum().backward()
print(bool(x.grad.any()))
"""
    assert python(code) == "True\n"


@pytest.mark.parametrize("right", [True, False])
def test_a_release_that_does_not_hand_the_forward_on_has_no_such_node(right: bool) -> None:
    """Told by two calls of one key, once, whichever of many threads comes first."""
    asked: list[int] = []

    def forward(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> Any:
        asked.append(1)
        out, lse = _torch_node._on_cpu(query, key, value)
        return (out if right else out + 1, lse, None, None, 1, 1, *_torch_node._random_of(query.device))

    name = "_scaled_dot_product_fused_attention_overrideable"
    operator = _torch_node._Operator(name, forward, "query key value attn_bias", 9)
    found: list[bool] = []
    threads = [threading.Thread(target=lambda: found.append(operator.ways() is not None)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [right] * 8
    assert asked == [1, 1]
    operator._library._destroy()
    again = _torch_node._Operator(name, forward, "query key value attn_bias", 9)
    with torch.device("meta"):  # where a program makes its tensors says nothing of the node
        assert (again.ways() is not None) == right
    again._library._destroy()


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


class Other(torch.Tensor):  # type: ignore[misc]
    """A subclass that does nothing."""


def seen_before(layout: Any) -> tuple[list[Any], Any]:
    """Tensors whose call got a node, and goes there at once by now, and the call's result."""
    x = [each.detach().requires_grad_() for each in tensors()]
    if layout == "bshd":
        x = [each.detach().transpose(1, 2).contiguous().requires_grad_() for each in x]
    for _ in range(3):
        out = flashfit.attention(*x, layout=layout)
    return x, out


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
def test_a_call_whose_like_got_a_node_goes_there_at_once(layout: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _torch_attention._known.clear()
    x, out = seen_before(layout)

    def never(*_: Any) -> None:
        raise AssertionError("looked at in full")

    with monkeypatch.context() as patch:
        patch.setattr(_torch, "call_in_graph", never)
        again = flashfit.attention(*x, layout=layout)
        assert torch.equal(again, out)
        assert again.grad_fn.name() == out.grad_fn.name()
        scaled = flashfit.attention(*x, layout=layout, softmax_scale=0.5)
        assert not torch.allclose(scaled, out)
        options: list[dict[str, Any]] = [{"causal": True}, {"window": (1, 1)}, {"return_lse": True}]
        for each in options:
            with pytest.raises(AssertionError, match="in full"):
                flashfit.attention(*x, layout=layout, **each)
    with pytest.raises(flashfit.FlashfitError, match="softmax_scale"):
        flashfit.attention(*x, layout=layout, softmax_scale=-1.0)
    exact = attend(*(each if layout == "bhsd" else each.transpose(1, 2) for each in (t.double() for t in x)))
    exact = exact if layout == "bhsd" else exact.transpose(1, 2)
    for found, want in zip(gradients(out, x), gradients(exact, x)):
        assert error(found, want.double()) < 1e-6


@pytest.mark.filterwarnings("ignore:There is a performance drop", "ignore:.torch.jit")
@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
def test_a_call_whose_like_got_a_node_is_looked_at_where_it_means_something_else(layout: Any) -> None:
    x, out = seen_before(layout)

    def call(*given: Any) -> Any:
        return flashfit.attention(*given, layout=layout)

    with Watching() as mode:
        torch.testing.assert_close(call(*x), out)
    assert any("flashfit" in name for name in mode.seen)
    with torch.no_grad():
        assert call(*x).grad_fn is None
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert call(*x).dtype == torch.bfloat16
    negated = torch.complex(torch.zeros_like(x[0]), -x[0]).conj().imag
    assert negated.is_neg()
    assert negated.requires_grad
    torch.testing.assert_close(call(negated, *x[1:]), out)
    torch.testing.assert_close(torch.func.vmap(call)(*(each[None] for each in x))[0], out)
    with pytest.raises(flashfit.FlashfitError, match="dtype"):
        call(x[0], x[1].half(), x[2])
    with pytest.raises(flashfit.FlashfitError):
        call(x[0], "k", x[2])
    torch.testing.assert_close(call(x[0].as_subclass(Other), *x[1:]).as_subclass(torch.Tensor), out)
    shorter = [x[0], *(each.narrow(1 if layout == "bshd" else 2, 0, 5) for each in x[1:])]
    assert not torch.allclose(call(*shorter), out)
    with forward_ad.dual_level(), pytest.raises((NotImplementedError, RuntimeError)):
        call(forward_ad.make_dual(x[0], torch.ones_like(x[0])), *x[1:])
