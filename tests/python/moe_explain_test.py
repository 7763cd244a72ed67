"""flashfit.fused_moe_explain: the command's words, and what it refuses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import flashfit
import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYER: dict[str, Any] = {"experts": 60, "top_k": 4, "hidden": 256, "intermediate": 96}


def test_explain_has_the_commands_words() -> None:
    words = (
        "--gpu all --experts 60 --top-k 4 --hidden 256 --intermediate 96 --tokens 70 --dtype fp16 --activation relu2"
    )
    more = "--transposed --weight-on input --experts-low 10 --experts-high 30 --json"
    command = [str(ROOT / "build/bin/flashfit"), "explain", "moe.experts", *words.split(), *more.split()]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    asked: dict[str, Any] = {**LAYER, "tokens": 70, "dtype": "fp16", "activation": "relu2", "transposed": True}
    part = flashfit.fused_moe_explain("all", **asked, weight_on="input", experts_low=10, experts_high=30)
    # Python adds whose products give gradients.
    assert [{key: x for key, x in gpu.items() if key != "backward"} for gpu in part] == json.loads(said)
    assert {gpu["operation"] for gpu in part} == {"moe.experts"}
    assert len(part) > 10
    whole = flashfit.fused_moe_explain("all", **asked)
    assert whole != part


def test_calls_that_need_gradients_are_explained_too() -> None:
    asked: dict[str, Any] = {**LAYER, "tokens": 70}
    kept, plain = (flashfit.fused_moe_explain("H200", **asked, keeping=keeping)[0] for keeping in (True, False))
    assert kept["variant"] == "experts_wgmma_bf16_144x256x64_w1x8_s4_b1_z"
    assert not plain["variant"].endswith("_z")
    other = flashfit.fused_moe_explain("L4", **asked, keeping=True)[0]
    assert not other["fits"]
    assert "keeping z" in other["reason"]


def test_explain_says_which_argument_is_wrong() -> None:
    for bent, kind, words in (
        ({"experts": 0}, ValueError, "experts: 0; accepted: 1 to 512"),
        ({"top_k": 17}, ValueError, "top_k: 17; accepted: 1 to 16"),
        ({"tokens": 2**31}, ValueError, f"tokens: {2**31}; accepted: 0 to 536870911"),
        ({"tokens": 1.5}, TypeError, "tokens: 1.5; accepted: an integer"),
        ({"tokens": True}, TypeError, "tokens: True; accepted: an integer"),
        ({"top_k": [1] * 99}, TypeError, f"top_k: [{'1, ' * 18}1,...; accepted: an integer"),
        ({"hidden": 0}, ValueError, "hidden: 0; accepted: 1 to 1048576"),
        ({"intermediate": None}, TypeError, "intermediate: None; accepted: an integer"),
        ({"activation": "gelu"}, ValueError, "activation: 'gelu'; accepted: "),
        ({"gate_up": "x"}, ValueError, "gate_up: 'x'; accepted: "),
        ({"gate_up": "interleaved", "activation": "silu"}, ValueError, "flags: FLASHFIT_INTERLEAVED"),
        ({"transposed": 1}, TypeError, "transposed: 1; accepted: True, False"),
        ({"keeping": None}, TypeError, "keeping: None; accepted: True, False"),
        ({"weight_on": "x"}, ValueError, "weight_on: 'x'; accepted: "),
        ({"experts_low": 9, "experts_high": 5}, ValueError, "experts_low: 9, experts_high: 5; accepted: 0 <= "),
        ({"dtype": "int8"}, ValueError, 'dtype: "int8"; accepted: "fp16", "bf16", "fp32"'),
        ({"gpu": 89}, TypeError, "gpu: 89; accepted: a string"),
        ({"variant": "nothing"}, ValueError, "variant nothing is no variant of the experts' products"),
    ):
        with pytest.raises(kind) as caught:
            flashfit.fused_moe_explain(**{"gpu": "L4", **LAYER, **bent})
        assert isinstance(caught.value, flashfit.FlashfitError)
        assert str(caught.value).startswith(words)
