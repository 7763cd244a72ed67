"""flashfit.integrations.flash_provider: its kernels have the meaning of PyTorch's operators, by PyTorch's own backward
of the CPU too, and it comes into and out of the registry. What they compute on a GPU is not tried here."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")
from flashfit.integrations import flash_provider as fit  # noqa: E402

attention: Any = torch.nn.attention
if not hasattr(attention, "register_flash_attention_impl"):
    pytest.skip("a torch without a registry of flash attention", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("ignore:Warning only once for all operators")


@pytest.fixture
def installed() -> Iterator[None]:
    fit.HOST.notes.clear()
    with fit.installed() as taken:
        assert taken
        yield
    fit.HOST.notes.clear()


def normal(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def arguments(name: str) -> list[Any]:
    return list(getattr(torch.ops.aten, name).default._schema.arguments)


@pytest.mark.parametrize("name", [fit._DENSE, fit._ANY])
def test_parameters_are_those_of_pytorchs_schema(name: str) -> None:
    """By position where the schema has them so; what is new there comes by name."""
    import inspect

    function: Any = fit.dense if name == fit._DENSE else fit.of_any_lengths
    mine = inspect.signature(function).parameters
    schema = arguments(name)
    positional = [p.name for p in mine.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional == [a.name for a in schema if not a.kwarg_only]
    takes_more = any(p.kind is p.VAR_KEYWORD for p in mine.values())
    assert takes_more or {a.name for a in schema if a.kwarg_only} <= set(mine)
    found = function(*(normal(1, 2, 4, 8),) * 3, *(() if name == fit._DENSE else (None, None, 2, 2, 0.0, True, False)))
    assert len(found) == len(getattr(torch.ops.aten, name).default._schema.returns)


@pytest.mark.parametrize("causal", [False, True])
def test_dense(causal: bool) -> None:
    q, k, v, grad = (normal(2, 3, n, 16) + i for i, n in enumerate((7, 7, 7, 7)))
    out, lse, cum_q, cum_k, max_q, max_k, *_ = fit.dense(q, k, v, 0.0, causal, False, scale=0.3)
    assert (cum_q, cum_k, max_q, max_k) == (None, None, 7, 7)
    own_out, own_lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, scale=0.3)
    torch.testing.assert_close(out, own_out)
    torch.testing.assert_close(lse, own_lse)
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    ours, own = (backward(grad, q, k, v, *x, 0.0, causal, scale=0.3) for x in ((out, lse), (own_out, own_lse)))
    for mine, its in zip(ours, own):
        torch.testing.assert_close(mine, its, rtol=1e-4, atol=1e-4)


def test_any_lengths() -> None:
    q, k = normal(9, 4, 16), normal(12, 2, 16)
    cu_q, cu_k = (torch.tensor(x, dtype=torch.int32) for x in ([0, 4, 9], [0, 5, 12]))
    found = fit.of_any_lengths(q, k, k, cu_q, cu_k, 5, 7, 0.0, True, False, scale=0.3, window_size_left=3)
    options: Any = {"causal": True, "window": (3, None), "softmax_scale": 0.3, "return_lse": True}
    want, want_lse = flashfit.attention(q, k, k, cu_seqlens_q=cu_q, cu_seqlens_k=cu_k, **options)
    assert torch.equal(found[0], want)
    assert torch.equal(found[1], want_lse)
    # A row that sees no key: flash attention's backward wants inf.
    q, k = normal(1, 3, 2, 8), normal(1, 2, 2, 8)
    _, lse, *_ = fit.of_any_lengths(q, k, k, None, None, 3, 2, 0.0, True, False)
    assert lse[0, 0].tolist()[0] == float("inf")


def test_what_is_left_is_said() -> None:
    q = normal(1, 2, 4, 8)
    with pytest.raises(flashfit.Unsupported, match=r"^dropout_p: 0.1 is not in flashfit yet"):
        fit.dense(q, q, q, 0.1)
    with pytest.raises(flashfit.Unsupported, match=r"^block_table: given, and flashfit has none"):
        fit.of_any_lengths(q, q, q, None, None, 2, 2, 0.0, False, False, block_table=q)


def test_a_call_that_is_left_goes_on_to_pytorchs_kernel() -> None:
    seen: list[Any] = []

    class Own:
        def call_boxed(self, keys: Any, *given: Any, **options: Any) -> str:
            seen.append((keys, given, options))
            return "PyTorch's"

    q = normal(1, 2, 4, 8)
    fit.HOST.notes.clear()
    kernel = fit._kernel(fit.dense, Own())
    assert kernel("keys", q, q, q, 0.5, True) == "PyTorch's"
    assert seen == [("keys", (q, q, q, 0.5, True), {})]
    assert torch.equal(kernel("keys", q, q, q, 0.0, True)[0], fit.dense(q, q, q, 0.0, True)[0])
    assert fit.log() == [
        "flash_provider: left: fp32 on cpu, 2 heads of 8, causal: dropout_p: 0.5 is not in flashfit yet; accepted: 0.0 "
        "(no dropout) (1 call)",
        "flash_provider: took: fp32 on cpu, 2 heads of 8, causal (1 call)",
    ]
    fit.HOST.notes.clear()


def test_the_registry(installed: None) -> None:
    assert attention.current_flash_attention_impl() == "flashfit"
    for name in (fit._DENSE, fit._ANY):
        assert torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CUDA")
    fit.uninstall()
    assert attention.current_flash_attention_impl() is None
    attention.activate_flash_attention_impl("flashfit")
    assert attention.current_flash_attention_impl() == "flashfit"
    fit._restore(attention, None)
    assert attention.current_flash_attention_impl() is None


def test_what_was_active_before_is_active_again() -> None:
    came: list[str] = []

    class Handle:
        def remove(self) -> None:
            came.append("out")

    def register() -> Handle:
        came.append("in")
        return Handle()

    attention.register_flash_attention_impl("another", register_fn=register)
    attention.activate_flash_attention_impl("another")
    try:
        with fit.installed():
            assert attention.current_flash_attention_impl() == "flashfit"
        assert attention.current_flash_attention_impl() == "another"
        assert came[-1] == "in"
    finally:
        if hasattr(attention, "restore_flash_attention_impl"):
            attention.restore_flash_attention_impl()
        attention._registry._FLASH_ATTENTION_IMPLS.pop("another")


def test_a_registry_without_a_way_back() -> None:
    """torch 2.10's."""
    out: list[str] = []
    handle = SimpleNamespace(remove=lambda: out.append("flashfit"))
    of_2_10 = SimpleNamespace(_FLASH_ATTENTION_HANDLES={"flashfit": handle}, _FLASH_ATTENTION_ACTIVE="flashfit")
    fit._restore(SimpleNamespace(_registry=of_2_10), "FA4")
    assert (out, of_2_10._FLASH_ATTENTION_HANDLES, of_2_10._FLASH_ATTENTION_ACTIVE) == (["flashfit"], {}, "FA4")
