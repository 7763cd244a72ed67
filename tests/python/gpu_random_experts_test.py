"""Layers of experts of random sizes and options against fp64, on the CPU: a part of what tools/gpu/random_experts.py
tries on a GPU."""

from __future__ import annotations

from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")
from tools.gpu import random_experts  # noqa: E402

COUNT = 300


def test_all_are_right() -> None:
    assert [found for found in random_experts.defects("cpu", range(COUNT)) if found[1]] == []


def test_they_try_every_option() -> None:
    calls = [random_experts.problem(number, "cpu").call for number in range(COUNT)]
    wanted: dict[str, set[Any]] = {
        "activation": {*random_experts.GATED, *random_experts.UNGATED},
        "gate_up": {"concatenated", "interleaved"},
        "transposed": {False, True},
        "weight_on": {"output", "input"},
        "router": set(random_experts.ROUTERS),
        "renormalize": {False, True},
    }
    for name, values in wanted.items():
        found = [call[name] for call in calls if name in call]
        assert values <= {each for each in found if not isinstance(each, tuple)}, name
    for name in ("b13", "router_bias", "groups", "offsets", "topk_ids", "experts", "shared"):
        assert sum(name in call for call in calls) > 15, name
    assert sum(isinstance(call["activation"], flashfit.Swiglu) for call in calls) > 15
    ids = [call for call in calls if "topk_ids" in call and len(call["x"]) > 9]
    assert any((call["topk_ids"] < 0).any() for call in ids)
    assert any((call["topk_ids"].sort(dim=1).values.diff(dim=1) == 0).any() for call in ids)
    assert any(not call["x"].shape[0] for call in calls)
    assert any(call["x"].stride(0) > call["x"].shape[1] for call in calls)
    few = [call for call in ids if len(torch.unique(call["topk_ids"])) < len(call["w13"])]
    assert len(few) > 15  # experts without tokens


#: What a wrong layer would do: a call with one argument changed.
WRONG: dict[str, Any] = {
    "ranks": lambda call: {**call, "topk_weights": call["topk_weights"].flip(1)},
    "biases": lambda call: {**call, "b2": torch.zeros_like(call["b2"])},
    "gates": lambda call: {**call, "gate_up": "interleaved" if call["gate_up"] == "concatenated" else "concatenated"},
    "shared": lambda call: {**call, "shared": None},
    "part": lambda call: {**call, "experts": (call["experts"][0] + 1, call["experts"][1] + 1)},
    "weight": lambda call: {**call, "weight_on": "input" if call["weight_on"] == "output" else "output"},
    "scale": lambda call: {**call, "scale": 1.01 * call["scale"]},
}
NEEDS: dict[str, Any] = {
    "ranks": lambda call: "topk_weights" in call and call["topk_weights"].shape[1] > 1,
    "biases": lambda call: "b2" in call,
    "gates": lambda call: "gate_up" in call,
    "shared": lambda call: "shared" in call,
    "part": lambda call: isinstance(call.get("experts"), tuple),
    "weight": lambda call: "weight_on" in call,
    "scale": lambda call: "scale" in call,
}


@pytest.mark.parametrize("defect", WRONG)
def test_a_wrong_layer_is_seen(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [random_experts.problem(number, "cpu").call for number in range(60)]
    numbers = [number for number, call in enumerate(calls) if len(call["x"]) > 9 and NEEDS[defect](call)][:3]
    right = flashfit.fused_moe
    monkeypatch.setattr(flashfit, "fused_moe", lambda out=None, **call: right(**WRONG[defect](call), out=out))
    found = [what for number in numbers for _, what in random_experts.defects("cpu", range(number, number + 1))]
    assert len(numbers) == 3
    assert any(what.startswith("error") for what in found), found
