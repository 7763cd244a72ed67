"""Times layers of few tokens by each product that reads their weights fast, for the plan's model to be fitted to:
`python -m tools.gpu.time_few_tokens FILE [TOKENS...]`, on a GPU.

FILE: {"machine", "revision", "layers": [{"model", "tokens", "active": experts with a row, "us": {product: median
microseconds}}]}. A layer has no router of its own; its graph is replayed several times in a row, as a decode would.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import flashfit  # noqa: E402
from flashfit.bench import moe  # noqa: E402
from flashfit.bench.machine import describe, revision  # noqa: E402

from tools.gpu.race_libraries import captured, milliseconds  # noqa: E402
from tools.gpu.time_products import forced, layer_of  # noqa: E402

TOKENS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)
PRODUCTS = ("experts_mma_bf16_16x64", "experts_wgmma_bf16_144x256x64_w1x8_s4_b1")
ROUNDS, REPLAYS = 40, 4


def race(model: Any, tokens: int) -> dict[str, Any]:
    _, _, tensors = layer_of(model, tokens)
    names = sorted({image["variant"] for image in flashfit.images()})
    names = [name for name in names if name.startswith(PRODUCTS) and not name.endswith(("_t", "_z"))]
    # A graph does not keep its call's workspace.
    calls = {name: call for name in names if (call := forced(name, tensors)) is not None}
    graphs = {name: captured(call) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in graphs}
    for _ in range(ROUNDS):
        for name in random.sample(list(graphs), len(graphs)):
            times[name].append(milliseconds(graphs[name], REPLAYS))
    us = {name: round(statistics.median(samples) * 1e3, 2) for name, samples in times.items()}
    return {"model": model.name, "tokens": tokens, "active": len(tensors["topk_ids"].unique()), "us": us}


def main() -> int:
    path, layers = Path(sys.argv[1]), list[dict[str, Any]]()
    for model in moe.MODELS:
        for tokens in map(int, sys.argv[2:]) if sys.argv[2:] else TOKENS:
            layers.append(race(model, tokens))
            print(*layers[-1].values(), flush=True)
            content = {"machine": describe("cuda"), "revision": revision(), "layers": layers}
            path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
