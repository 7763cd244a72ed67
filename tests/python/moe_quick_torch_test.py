"""Layers of experts on plain torch tensors: the compiled module reads them, and computes what moe_with_care() does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import flashfit  # noqa: E402
from flashfit import _torch_moe  # noqa: E402

pytestmark = pytest.mark.skipif(_torch_moe._layer is None, reason="no compiled module for this Python")

TOKENS, HIDDEN, INTERMEDIATE, EXPERTS = 9, 32, 16, 6


def numbers(*shape: int) -> Any:
    return torch.randn(*shape)


def layer(**options: Any) -> Any:
    """A call of random numbers, the same ones each time."""
    torch.manual_seed(5)
    w13, w2 = numbers(EXPERTS, 2 * INTERMEDIATE, HIDDEN), numbers(EXPERTS, HIDDEN, INTERMEDIATE)
    given = {"router_logits": numbers(TOKENS, EXPERTS), "top_k": 2, **options}
    return flashfit.fused_moe(numbers(TOKENS, HIDDEN), w13, w2, **given)


def chosen(**options: Any) -> Any:
    ids = torch.arange(2 * TOKENS).reshape(TOKENS, 2) % EXPERTS
    given = {"topk_ids": ids.int(), "topk_weights": torch.rand(TOKENS, 2), **options}
    return layer(router_logits=None, top_k=None, **given)


def grouped() -> Any:
    torch.manual_seed(5)
    offsets = torch.tensor([0, 2, 2, 5, 9, 9, 9])
    w13, w2 = numbers(EXPERTS, 2 * INTERMEDIATE, HIDDEN), numbers(EXPERTS, HIDDEN, INTERMEDIATE)
    return flashfit.grouped_mlp(numbers(TOKENS, HIDDEN), w13, w2, offsets)


def turned() -> Any:
    torch.manual_seed(5)
    w13, w2 = numbers(EXPERTS, HIDDEN, 2 * INTERMEDIATE), numbers(EXPERTS, INTERMEDIATE, HIDDEN)
    options: dict[str, Any] = {"router_logits": numbers(TOKENS, EXPERTS), "top_k": 1, "transposed": True}
    return flashfit.fused_moe(numbers(TOKENS, HIDDEN), w13, w2, gate_up="interleaved", **options)


def shared(gate: bool) -> Any:
    torch.manual_seed(6)
    weights = (numbers(2 * 8, HIDDEN), numbers(HIDDEN, 8), *([numbers(HIDDEN)] if gate else []))
    return layer(shared=weights)


def written() -> Any:
    out = torch.full((TOKENS, HIDDEN), float("nan"))
    before = out._version
    assert layer(out=out) is out
    assert out._version == before + 1
    return out


CALLS: dict[str, Callable[[], Any]] = {
    "logits": layer,
    "a router with bias and groups": lambda: layer(
        router="sigmoid", router_bias=torch.linspace(-1, 1, EXPERTS), groups=(3, 2), scale=2.5, renormalize=False
    ),
    "a bias in a list": lambda: layer(router="sigmoid", router_bias=[0.5, 0, 0, 0, 0, 1]),
    "ids": chosen,
    "ids of 64 bits, weights of 16": lambda: chosen(
        topk_ids=torch.arange(2 * TOKENS).reshape(TOKENS, 2) % EXPERTS, topk_weights=torch.rand(TOKENS, 2).half()
    ),
    "a range of experts": lambda: layer(
        router_logits=torch.linspace(0, 4, TOKENS * 8).reshape(TOKENS, 8), experts=(1, 7)
    ),
    "a map of experts": lambda: chosen(experts=torch.tensor([5, -1, 2, 3, 1, 0])),
    "biases": lambda: layer(
        b13=torch.linspace(-1, 1, EXPERTS * 2 * INTERMEDIATE).reshape(EXPERTS, -1),
        b2=torch.linspace(-2, 1, EXPERTS * HIDDEN).reshape(EXPERTS, -1),
    ),
    "clamps of its own": lambda: layer(activation=flashfit.Swiglu(1.5, 2.0, 0.5)),
    "weights on the input": lambda: layer(activation="gpt_oss", weight_on="input"),
    "transposed weights": turned,
    "sorted rows": grouped,
    "a shared expert": lambda: shared(False),
    "a shared expert with a gate": lambda: shared(True),
    "out": written,
}
#: What the compiled module is not asked: lists are read by Python.
READ_BY_PYTHON = {"a bias in a list"}


@pytest.mark.parametrize("name", CALLS)
def test_the_compiled_module_computes_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(_torch_moe, "_layer", None)
        wanted = CALLS[name]()
    statuses = []
    run = _torch_moe._layer

    def counted(*arguments: Any) -> int:
        statuses.append(run(*arguments))
        return int(statuses[-1])

    monkeypatch.setattr(_torch_moe, "_layer", counted)
    assert torch.equal(CALLS[name](), wanted)
    assert statuses == ([] if name in READ_BY_PYTHON else [0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"top_k": True}, "top_k: True; accepted: "),
        ({"renormalize": 1}, "renormalize: 1; accepted: "),
        ({"scale": True}, "scale: True; accepted: "),
        ({"transposed": 0}, "transposed: 0; accepted: "),
        ({"recompute": 0}, "recompute: 0; accepted: "),
        ({"activation": ["swiglu"]}, r"activation: \['swiglu'\]; accepted: "),
    ],
)
def test_what_a_call_was_told_is_not_taken_for_what_it_resembles(options: dict[str, Any], said: str) -> None:
    layer(top_k=1, renormalize=True, scale=1.0, transposed=False, recompute=False)  # what equals those is remembered
    with pytest.raises(flashfit.FlashfitError, match=f"^{said}"):
        layer(**{"top_k": 1, **options})


def test_weights_that_are_not_there_are_refused_in_words() -> None:
    x, w2, logits = numbers(2, HIDDEN), numbers(3, HIDDEN, INTERMEDIATE), numbers(2, 5)
    for w13 in (None, numbers(HIDDEN), numbers(4, 2 * INTERMEDIATE, HIDDEN)):
        with pytest.raises(flashfit.FlashfitError, match=r"^(w13|experts): "):
            flashfit.fused_moe(x, w13, w2, router_logits=logits, top_k=1, experts=(0, 3))


def test_a_layers_tensors_are_a_tuple_of_sixteen() -> None:
    for arguments, said in (
        (((), (0,) * 11, None, None), "tensors; accepted: a tuple of 16"),
        (((None,) * 16, (0,) * 10, None, None), "numbers; accepted: a tuple of 11"),
        (((None,) * 16, (0,) * 11, None, (0, 0)), "space; accepted: None or a tuple of 3"),
    ):
        with pytest.raises(TypeError, match=said):
            _torch_moe._layer(*arguments)
    assert _torch_moe._layer((None,) * 16, (0,) * 11, None, None) == 1  # x is NULL
    assert _torch_moe._layer((object(), *(None,) * 15), (0,) * 11, None, None) == -1
