"""Times every kernel that fits a shape beside the one that the plan chooses, for the plan's model to be fitted to:
`python -m tools.gpu.time_variants FILE [TEXT [bench]]`, on a GPU; TEXT: shapes whose name has it. The shapes are not
the bench's, which judge the model; with `bench` they are, to see whether a choice there was the fastest.

FILE: {"machine", "revision", "shapes": [{"problem", "us": {kernel: median microseconds}}]}; the plan's choice is first.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from flashfit.bench import ours  # noqa: E402
from flashfit.bench.arrays import TorchArrays  # noqa: E402
from flashfit.bench.cases import Case, listed  # noqa: E402
from flashfit.bench.gpu import Device  # noqa: E402
from flashfit.bench.machine import describe, revision  # noqa: E402
from flashfit.bench.plan import variants_that_fit  # noqa: E402

ROUNDS = 9
#: batch, heads_q, heads_kv, seqlen_q, seqlen_k
SIZES = (
    (1, 8, 8, 200, 200),
    (2, 12, 12, 384, 384),
    (1, 16, 16, 512, 512),
    (4, 16, 16, 512, 512),
    (1, 24, 24, 1000, 1000),
    (2, 32, 8, 1024, 1024),
    (1, 40, 40, 1500, 1500),
    (8, 12, 12, 1024, 1024),
    (1, 32, 8, 3000, 3000),
    (2, 20, 20, 77, 4096),
    (4, 8, 8, 128, 2048),
    (1, 32, 32, 4096, 77),
    (4, 24, 24, 2500, 2500),
)
#: Of these head_dims and with a causal mask alone: a few queries of grouped heads, whose keys are read once if packed.
FEW_QUERIES = tuple(
    (batch, 40, 8, queries, keys)
    for batch, keys in ((1, 6000), (12, 6000), (1, 40000))
    for queries in (1, 3, 6, 12, 24, 48)
)
FEW_QUERIES_HEAD_DIMS = (64, 128)
#: Of these head_dims and in bf16 alone: short sequences, for which blocks over wgmma may take whole heads.
SHORT = (
    (64, 32, 32, 128, 128),
    (16, 16, 16, 128, 128),
    (32, 16, 4, 192, 192),
    (64, 16, 16, 256, 256),
    (64, 16, 4, 256, 256),
    (8, 16, 16, 256, 256),
    (4, 32, 8, 256, 256),
    (40, 16, 16, 320, 320),
    (24, 16, 4, 384, 384),
    (48, 20, 20, 384, 384),
    (33, 12, 12, 448, 448),
    (32, 32, 32, 512, 512),
    (32, 16, 16, 512, 512),
    (32, 32, 8, 512, 512),
    (32, 16, 4, 512, 512),
    (8, 16, 16, 512, 512),
    (4, 32, 8, 512, 512),
    (16, 40, 8, 512, 512),
    (12, 24, 24, 576, 576),
    (24, 16, 4, 640, 640),
    (20, 16, 16, 640, 640),
    (16, 16, 16, 768, 768),
    (16, 32, 8, 768, 768),
    (14, 32, 8, 896, 896),
    (16, 32, 32, 1024, 1024),
    (16, 16, 4, 1024, 1024),
    (64, 12, 12, 1024, 1024),
    (10, 32, 8, 1536, 1536),
    (8, 16, 16, 2048, 2048),
    (32, 16, 16, 256, 512),
    (32, 32, 8, 128, 512),
    (16, 32, 8, 512, 1024),
    (64, 16, 16, 64, 512),
    (16, 16, 4, 192, 1536),
)
SHORT_HEAD_DIMS = (32, 64, 128)
HEAD_DIMS = (32, 64, 72, 80, 96, 128, 160, 192, 256)


def shapes() -> Iterator[Case]:
    every = product(HEAD_DIMS, SIZES, (False, True), ("fp16", "bf16"))
    few = product(FEW_QUERIES_HEAD_DIMS, FEW_QUERIES, (True,), ("bf16",))
    short = product(SHORT_HEAD_DIMS, SHORT, (False, True), ("bf16",))
    for head_dim, size, causal, dtype in chain(every, few, short):
        batch, heads_q, heads_kv, seqlen_q, seqlen_k = size
        if (causal and seqlen_q > seqlen_k) or (dtype == "fp16" and head_dim in (72, 80, 96, 160, 192)):
            continue
        yield Case(
            name=f"B{batch} S{seqlen_q}x{seqlen_k} H{heads_q}/{heads_kv} D{head_dim} {dtype} causal {causal}",
            group="variants",
            stands_for="the plan's model",
            work={},
            dtype=dtype,
            head_dim=head_dim,
            heads_q=heads_q,
            heads_kv=heads_kv,
            softmax_scale=head_dim**-0.5,
            causal=causal,
            batch=batch,
            seqlen_q=seqlen_q,
            seqlen_k=seqlen_k,
        )


def race(case: Case, device: Device, names: list[str]) -> dict[str, float]:
    """Median microseconds of what `variant` names. Interleaved: a round samples each once, in another order."""
    inputs = TorchArrays("cuda").make(case, 0)
    timers = {name: device.graph(ours.prepare(case, inputs, name)) for name in names}
    times: dict[str, list[float]] = {name: [] for name in timers}
    order = list(timers)
    for _ in range(ROUNDS):
        random.shuffle(order)
        for name in order:
            times[name].append(timers[name].sample())
    return {name: round(statistics.median(us), 4) for name, us in times.items()}


def main() -> int:
    path, text = Path(sys.argv[1]), "".join(sys.argv[2:3])
    device, found = Device(flushed=False), list[dict[str, Any]]()
    for case in (each for each in (listed() if "bench" in sys.argv[3:] else shapes()) if text in each.name):
        found.append({"problem": case.problem(), "us": race(case, device, variants_that_fit(case))})
        fastest = min(found[-1]["us"].values())
        chosen = next(iter(found[-1]["us"].values()))
        print(f"{case.name}: the choice takes {chosen / fastest:.3f} of the fastest's time", flush=True)
        content = {"machine": describe("cuda"), "revision": revision(), "shapes": found}
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
