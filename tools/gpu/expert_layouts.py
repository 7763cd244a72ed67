"""Layers whose weights lie transposed, as Llama 4's and GPT-OSS's do, on a GPU: held to fp64, then timed beside the
same weights with the depth contiguous and beside PyTorch's grouped layer: `python -m tools.gpu.expert_layouts FILE`.

FILE: {"machine", "torch", "revision", "layers": [{"layer", "tokens", "variants", "errors", "passed", "bits", "ms",
"tflops", "ratio_rows", "ratio_torch"}]}. `variants`, `errors` and `ms` have a key for each way: "rows" ([E, outputs,
depth]), "transposed", "alternating" (transposed, gate and up interleaved), "torch-grouped" and, of transposed weights,
"torch-grouped-transposed". Errors are in units of PyTorch's own, of plain products in bf16, both against fp64; 2 are
accepted. `bits`: the ways that give the bits of "rows". A ratio is [median, low, high] of the time of "rows" over
"transposed"'s, and of the faster of PyTorch's two over "transposed"'s.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import flashfit  # noqa: E402
import torch  # noqa: E402
from flashfit.bench import stats  # noqa: E402
from flashfit.bench.arrays import TorchArrays  # noqa: E402
from flashfit.bench.machine import describe, revision  # noqa: E402
from flashfit.bench.moe import MODELS, MOE, Model, MoeCase, MoeExpected, MoeInputs, case_of  # noqa: E402
from flashfit.bench.peers.experts import TorchGrouped  # noqa: E402

from tools.gpu.correctness import same_bits  # noqa: E402
from tools.gpu.expert_gradients import milliseconds  # noqa: E402

LLAMA = Model("Llama 4 Scout", 16, 1, 5120, 8192)
LAYERS = (LLAMA, *(model for model in MODELS if model.name == "GPT-OSS-20B"))
TOKENS = (4096, 32768)
ROUNDS = 12
SHIFT = 0.5  # what is added to x, of which noise alone hides what is left out or added twice


def ways(case: MoeCase, inputs: MoeInputs) -> dict[str, Callable[..., Any]]:
    """The same layer of the same numbers, by each layout."""
    w13, w2, inner = inputs.w13, inputs.w2, case.intermediate
    turned = w13.mT.contiguous(), w2.mT.contiguous()
    pairs = w13.unflatten(1, (2, inner)).transpose(1, 2).flatten(1, 2).mT.contiguous()

    def ours(first: Any, second: Any, **layout: Any) -> Callable[[], Any]:
        given = {"router_logits": inputs.logits, "top_k": case.top_k, "out": inputs.out, **layout}
        return partial(flashfit.fused_moe, inputs.x, first, second, **given)

    views = replace(inputs, w13=turned[0].mT, w2=turned[1].mT)
    return {
        "rows": ours(w13, w2),
        "transposed": ours(*turned, transposed=True),
        "alternating": ours(pairs, turned[1], transposed=True, gate_up="interleaved"),
        "torch-grouped": TorchGrouped().prepare(case, inputs),
        "torch-grouped-transposed": TorchGrouped().prepare(case, views),
    }


def variant_of(case: MoeCase, way: str) -> str:
    """What runs on this GPU."""
    asked: dict[str, Any] = {
        key: getattr(case, key) for key in ("tokens", "experts", "top_k", "hidden", "intermediate")
    }
    asked["gate_up"] = "interleaved" if way == "alternating" else "concatenated"
    return str(flashfit.fused_moe_explain(**asked, transposed=way != "rows")[0]["variant"])


def compared(model: Model, tokens: int) -> dict[str, Any]:
    """Each way held to fp64, then timed: a round samples each once, in another order."""
    case, arrays = case_of(model, tokens, "zipf"), TorchArrays("cuda")
    inputs = MOE.make(arrays, case, 0)
    inputs.x += SHIFT
    calls = ways(case, inputs)
    expected = MoeExpected(arrays, case, inputs, 0)
    outs, errors, passed = {}, {}, True
    for name, call in calls.items():
        inputs.out.fill_(float("nan"))
        outs[name] = call().clone()
        verdict = expected.judge(outs[name])
        errors[name] = round(2 * verdict.error / verdict.bound, 3)
        passed = passed and (not verdict.message or name.startswith("torch"))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    for _ in range(ROUNDS):
        random.shuffle(order)
        for name in order:
            samples[name].append(milliseconds(calls[name]))
    ms = {name: round(statistics.median(each), 4) for name, each in samples.items()}
    fastest = min(("torch-grouped", "torch-grouped-transposed"), key=lambda name: ms[name])
    rows, theirs = (stats.ratio(samples[name], samples["transposed"]) for name in ("rows", fastest))
    ours = [name for name in calls if not name.startswith("torch")]
    return {
        "layer": model.name,
        "tokens": tokens,
        "variants": {name: variant_of(case, name) for name in ours},
        "errors": errors,
        "passed": passed,
        "bits": [name for name in ours[1:] if same_bits(outs[name], outs["rows"])],
        "ms": ms,
        "tflops": {name: round(case.work["flop"] / each / 1e9, 1) for name, each in ms.items()},
        "ratio_rows": [rows.median, rows.low, rows.high],
        "ratio_torch": [theirs.median, theirs.low, theirs.high],
    }


def main() -> int:
    path = Path(sys.argv[1])
    found: dict[str, Any] = {"machine": describe("cuda"), "torch": torch.__version__, "revision": revision()}
    found["layers"] = []
    for model in LAYERS:
        for tokens in TOKENS:
            each = compared(model, tokens)
            found["layers"].append(each)
            path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            for key, value in each.items():
                print(key, value)
            sys.stdout.flush()
            torch.cuda.empty_cache()
    return 0 if all(each["passed"] for each in found["layers"]) else 1


if __name__ == "__main__":
    sys.exit(main())
