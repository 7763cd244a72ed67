"""Layers of experts beside SonicMoE. It compiles for long, so it is raced in few cases.

What a case needs of a GPU's memory (`most_bytes`), of DeepSeek-V3 at 8,192 tokens in GiB:
- the weights, shared by all but SonicMoE: PyTorch multiplies with a transposed view of them, no copy: 21.0
- w13 with each gate before its up, as SonicMoE's users hold it: 14.0
- x, out and the logits: 0.2; flashfit's workspace, T K (2 I + 2 H) bytes: 1.1
- what PyTorch's layer and SonicMoE's allocate, at most T K rows of 3 I and 5 H, and of I and 2 H: 5.1 and 2.0, twice:
  in the pool of the captured graph, and of a plain call until its memory is given back
- the reference, an expert at a time in fp64: 0.3
- contexts, of this process and of the eight that compile for SonicMoE, and modules: about 5
In all 56 of the 78 that an H100 has, and 72 at 16,384 tokens. Nothing else has room beside it: what a case held must be
gone before the next one begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from .moe import BYTES, MODELS, Moe, MoeCase, case_of
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


def most_bytes(case: MoeCase) -> dict[str, int]:
    """What a case of the race needs of a GPU's memory, at most."""
    weights, rows = BYTES * case.experts * case.hidden * case.intermediate, BYTES * case.tokens * case.top_k
    allocated = rows * (3 * case.intermediate + 5 * case.hidden), rows * (case.intermediate + 2 * case.hidden)
    return {
        "weights": 3 * weights,
        "w13 for SonicMoE": 2 * weights,
        "x, out, logits": 2 * BYTES * case.tokens * case.hidden + 4 * case.tokens * case.experts,
        "flashfit's workspace": rows * (case.intermediate + case.hidden),
        "PyTorch's": 2 * allocated[0],
        "SonicMoE's": 2 * allocated[1],
        "reference": 8 * 3 * case.hidden * case.intermediate,
        "contexts": 5 << 30,
    }


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
