"""flashfit.integrations.transformers_experts under Transformers' own models of random weights, against their own eager
experts: logits, gradients, gates that are theirs. Skipped without Transformers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers", minversion="5.0")
pytest.importorskip("transformers.integrations.moe")
from flashfit import _operations  # noqa: E402
from flashfit.integrations import transformers_experts as fit  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from tests.integrations.tiny_models import MODELS, TOKENS, model_of  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0", "ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    fit.HOST.notes.clear()
    with fit.installed() as taken:
        assert taken
        yield
    fit.HOST.notes.clear()


def pair_of(name: str, dtype: Any) -> tuple[Any, Any]:
    """The model of random weights whose experts are flashfit's, and the same with its own."""
    own = model_of(name, dtype)
    mine = copy.deepcopy(own)
    own.set_experts_implementation("eager")
    mine.set_experts_implementation(fit.NAME)
    return mine, own


@pytest.mark.parametrize("name", MODELS)
def test_logits_are_as_near_to_fp64_as_the_models_own(name: str) -> None:
    mine, own = pair_of(name, torch.float32)
    with torch.no_grad():
        ours, theirs = mine(TOKENS).logits, own(TOKENS).logits
        exact = own.double()(TOKENS).logits
    assert len(fit.log()) == 1
    assert f"took: {name}" in fit.log()[0]
    assert MODELS[name][1] in fit.log()[0]
    error, its = ((x.double() - exact).abs().max() for x in (ours, theirs))
    assert error <= 2 * its, f"{error:.3g} against the model's own {its:.3g}"


@pytest.mark.parametrize("name", ["Mixtral", "GptOss"])
def test_gradients_are_the_models_own(name: str) -> None:
    mine, own = pair_of(name, torch.float32)
    for model in (mine, own):
        model(TOKENS, labels=TOKENS).loss.backward()
    grads = dict(own.named_parameters())
    assert any("experts" in key for key in grads)
    for key, parameter in mine.named_parameters():
        torch.testing.assert_close(parameter.grad, grads[key].grad, rtol=1e-3, atol=1e-5)
    assert "took" in fit.log()[0]


def experts_of(model: Any) -> Any:
    return next(m for m in model.modules() if type(m).__name__.endswith("Experts"))


def test_autocast_leaves_the_dtype_of_the_result() -> None:
    mine, own = (experts_of(model) for model in pair_of("Mixtral", torch.float32))
    x, weights, ids = torch.randn(5, mine.hidden_dim), torch.rand(5, 2), torch.randint(0, mine.num_experts, (5, 2))
    with torch.autocast("cpu", torch.bfloat16):
        ours, theirs = mine(x, ids, weights), own(x, ids, weights)
    assert "took" in fit.log()[0]
    assert ours.dtype == theirs.dtype == torch.float32
    torch.testing.assert_close(ours, theirs, rtol=2e-2, atol=2e-2 * float(theirs.detach().abs().max()))


def test_a_training_step_on_a_gpu_is_taken_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """By tensors that claim to be on a GPU, as no machine of these tests has one: who is asked, not what is computed,
    for a PyTorch without CUDA makes no node of autograd's graph for them."""
    asked: list[Any] = []

    def fused_moe(x: Any, w13: Any, w2: Any, **options: Any) -> Any:
        if x.is_cuda:
            asked.append((x.requires_grad, w13.requires_grad, w2.requires_grad))
        return x.detach()

    fit.uninstall()
    monkeypatch.setattr(_operations, "fused_moe", fused_moe)
    assert fit.install()
    mine, _ = pair_of("Mixtral", torch.bfloat16)
    experts = experts_of(mine)
    with torch.no_grad():
        mine(TOKENS)  # the gate is tried on numbers, which fake tensors have none of
    fit.HOST.notes.clear()
    with FakeTensorMode(allow_non_fake_inputs=True):
        for name, weights in list(experts.named_parameters()):
            setattr(experts, name, torch.nn.Parameter(torch.empty(weights.shape, dtype=weights.dtype, device="cuda")))
        x = torch.empty(6, experts.gate_up_proj.shape[2], dtype=torch.bfloat16, device="cuda", requires_grad=True)
        experts(x, torch.zeros(6, 2, dtype=torch.int64, device="cuda"), torch.ones(6, 2, device="cuda"))
    assert asked == [(True, True, True)]
    assert fit.log()[0].startswith("transformers_experts: took: MixtralExperts, bfloat16 on cuda, swiglu")


def test_a_gate_that_flashfit_lacks_is_left_and_said() -> None:
    mine, own = pair_of("Mixtral", torch.float32)
    kind = type(experts_of(mine))
    before = kind._apply_gate
    kind._apply_gate = lambda self, z: torch.tanh(z.chunk(2, dim=-1)[0]) * z.chunk(2, dim=-1)[1]
    try:
        with torch.no_grad():
            assert torch.equal(mine(TOKENS).logits, own(TOKENS).logits)
    finally:
        kind._apply_gate = before
    assert fit.log()[0].startswith("transformers_experts: left: MixtralExperts, float32 on cpu: _apply_gate: none of")


@pytest.mark.parametrize("name", [None, "limit", "swiglu_limit"])
def test_a_clamp_far_out_is_seen(name: str | None) -> None:
    """With its limit as the layer's attribute flashfit takes it, without it leaves the gate to the model."""
    mine, _ = pair_of("Mixtral", torch.float32)
    layer, x = experts_of(mine), torch.randn(6, 64)
    kind = type(layer)
    before = kind._apply_gate

    def clamped(self: Any, z: Any) -> Any:
        g, u = z.chunk(2, dim=-1)
        return torch.nn.functional.silu(g.clamp(max=100)) * u.clamp(-100, 100)

    if name:
        setattr(layer, name, 100.0)
    kind._apply_gate = clamped
    try:
        with torch.no_grad():
            layer.gate_up_proj *= 100
            found = layer(x, torch.full((6, 1), 3), torch.ones(6, 1))
            wanted = clamped(layer, x @ layer.gate_up_proj[3].T) @ layer.down_proj[3].T
    finally:
        kind._apply_gate = before
    assert fit.log()[0].startswith(f"transformers_experts: {'took' if name else 'left'}: MixtralExperts")
    if name:  # Mixtral's own experts look at no gate
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-2)


def test_ids_of_other_ranks_add_nothing() -> None:
    mine, _ = pair_of("Mixtral", torch.float32)
    layer, x = experts_of(mine), torch.randn(6, 64)
    ids = torch.tensor([[0, 8], [8, 8], [3, 1], [8, 2], [7, 8], [5, 4]])
    with torch.no_grad():
        found = layer(x, ids, torch.full((6, 2), 0.5))
        alone = layer(x, ids, torch.full((6, 2), 0.5).masked_fill(ids == 8, float("nan")))
    assert not found[1].any()
    assert torch.equal(found, alone)


def test_turned_off_it_is_the_models_own(monkeypatch: pytest.MonkeyPatch) -> None:
    fit.uninstall()
    monkeypatch.setenv("FLASHFIT_DISABLE_TRANSFORMERS_EXPERTS", "1")
    assert not fit.install()
    mine, own = pair_of("Mixtral", torch.float32)
    with torch.no_grad():
        assert torch.equal(mine(TOKENS).logits, own(TOKENS).logits)
    assert "FLASHFIT_DISABLE_TRANSFORMERS_EXPERTS=1 turns it off" in "".join(fit.log())
