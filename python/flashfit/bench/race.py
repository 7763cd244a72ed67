"""Layers of experts beside SonicMoE. It compiles for long, so it is raced in few cases."""

from __future__ import annotations

from collections.abc import Sequence

from .moe import MODELS, Moe, MoeCase, case_of
from .peers import Peer
from .peers.experts import TorchGrouped
from .peers.sonic_moe import SonicMoe

GROUP = "sonic"
#: Model, tokens, routing: chosen before SonicMoE was measured in any of them.
CELLS = (
    ("Qwen3-30B-A3B", 32768, "random"),
    ("DeepSeek-V3", 16384, "random"),
    ("OLMoE-1B-7B", 32768, "random"),
    ("GPT-OSS-20B", 32768, "random"),
    ("GLM-4.5-Air", 32768, "random"),
    ("Mixtral-8x7B", 16384, "random"),
    ("DeepSeek-V3", 8192, "random"),
    ("Mixtral-8x7B", 8192, "random"),
    ("Qwen3-30B-A3B", 32768, "zipf"),
    ("Qwen3-30B-A3B", 4096, "random"),
    ("Qwen3-30B-A3B", 256, "random"),
    ("Qwen3-30B-A3B", 64, "random"),
)


class Race(Moe):
    """flashfit.fused_moe as in group moe, where SonicMoE is raced, too."""

    def listed(self, device: str) -> Sequence[MoeCase]:
        models = {model.name: model if device != "cpu" else model.small() for model in MODELS}
        found: dict[str, MoeCase] = {}
        for name, tokens, routing in CELLS:
            model = models[name]
            case = case_of(model, min(tokens, model.most), routing, GROUP)
            found.setdefault(case.name, case)
        return list(found.values())

    def peers(self) -> list[Peer]:
        return [TorchGrouped(), SonicMoe()]


RACE = Race()
