"""The checks of layers of experts on a GPU, rehearsed on the CPU: each passes there, and fails on a wrong result."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice
from types import SimpleNamespace
from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")
from flashfit import _torch_moe  # noqa: E402
from flashfit._torch_moe_gradients import experts_gradients  # noqa: E402
from flashfit.bench.arrays import TorchArrays  # noqa: E402
from flashfit.bench.moe import MOE, Model, MoeExpected, case_of  # noqa: E402

from tools.gpu import expert_gradients, expert_layouts, experts, race_steps  # noqa: E402


def test_all_pass_on_the_cpu() -> None:
    found = dict(experts.near("cpu"))
    assert len(found) == 2 * 17
    assert [name for name, passed in found.items() if not passed] == []


def test_a_wrong_result_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = flashfit.fused_moe

    def wrong(**call: Any) -> Any:
        out = right(**call)
        return out * 1.1 if call["x"].dtype == torch.float16 else out

    monkeypatch.setattr(flashfit, "fused_moe", wrong)
    failed = [name for name, passed in experts.near("cpu") if not passed]
    assert len(failed) == 15  # of fp16, but where nothing is computed


@pytest.fixture
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(_torch_moe, "has_own_gradients", lambda _: False)
    yield
    torch.set_num_threads(before)


def layouts() -> Iterator[expert_gradients.Found]:
    """One of each activation, of three dozen."""
    return islice(expert_gradients.every_layout("cpu"), 0, 18, 4)


def test_gradients_pass_on_the_cpu(as_on_a_gpu: None) -> None:
    parts = (expert_gradients.many_experts, expert_gradients.routers, expert_gradients.others)
    found = list(chain(layouts(), *(part("cpu") for part in parts)))
    assert len(found) == 5 + 2 + 8 + 2
    assert [name for name, passed, _ in found if not passed] == []


def test_wrong_gradients_are_seen(as_on_a_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*given: Any) -> tuple[Any, ...]:
        dx, *others = experts_gradients(*given)
        return dx * 1.03, *others

    monkeypatch.setattr(_torch_moe, "experts_gradients", wrong)
    assert not any(passed for _, passed, _ in layouts())


def test_every_layout_is_the_same_layer() -> None:
    case, arrays = case_of(Model("small", 4, 2, 64, 32), 40, "zipf"), TorchArrays("cpu")
    inputs = MOE.make(arrays, case, 0)
    inputs.x += expert_layouts.SHIFT
    expected = MoeExpected(arrays, case, inputs, 0)
    for name, call in expert_layouts.ways(case, inputs).items():
        assert not expected.judge(call()).message, name
    alternating = expert_layouts.ways(case, inputs)["alternating"]
    assert expected.judge(partial(alternating, gate_up="concatenated")()).message


def test_steps_are_raced_where_gradients_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """With flashfit in SonicMoE's place: once right, once with one of its weights off."""
    off = 1.0

    def layer(x: Any, router: Any, w1: Any, b1: None, w2: Any, b2: None, top_k: int, *_: Any, **told: Any) -> Any:
        assert told == {"is_inference_mode_enabled": False}
        weights, ids = torch.nn.functional.linear(x, router).topk(top_k, -1)
        given = {"topk_ids": ids, "topk_weights": off * weights.softmax(-1), "gate_up": "interleaved"}
        return (flashfit.fused_moe(x, *(w.permute(2, 0, 1) for w in (w1, w2)), **given),)

    monkeypatch.setitem(sys.modules, "sonicmoe", SimpleNamespace(moe_TC_softmax_topk_layer=layer))
    assert [(name, passed) for name, passed, _ in race_steps.checks("cpu")] == [("flashfit", True), ("sonic-moe", True)]
    case = case_of(Model("small", 4, 2, 64, 32), 40, "random")
    inputs = MOE.make(TorchArrays("cpu"), case, 0)
    parts = race_steps.steps(case, inputs, {"flashfit", "sonic-moe", "torch-grouped"})
    gradients = [step() for (step,) in parts.values()]
    assert [[x.shape for x in each] for each in gradients] == [[x.shape for x in gradients[0]]] * 3
    torch.testing.assert_close(gradients[0][0], gradients[2][0], atol=0.05, rtol=0.05)
    off = 1.05
    assert [passed for _, passed, _ in race_steps.checks("cpu")] == [True, False]
    assert set(race_steps.steps(case, inputs, {"flashfit"})) == {"flashfit"}
