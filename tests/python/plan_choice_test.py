"""The plan's choices beside the variants that were raced on an H100 (bench/results/variants_h100.json)."""

from __future__ import annotations

import json
import math
from pathlib import Path

from flashfit.bench.plan import plan_of

from tools.gpu.time_variants import shapes

RACED = Path(__file__).resolve().parents[2] / "bench/results/variants_h100.json"


def regrets() -> dict[str, float]:
    """Of each raced shape: the time of the variant that this build's plan chooses over the fastest one's."""
    cases = {json.dumps(case.problem()): case for case in shapes()}
    found = {}
    for shape in json.loads(RACED.read_text(encoding="utf-8"))["shapes"]:
        case, times = cases[json.dumps(shape["problem"])], shape["us"]
        found[case.name] = times[plan_of(case, gpu="H100")["variant"]] / min(times.values())
    return found


def test_the_plan_loses_little_to_the_fastest_variant() -> None:
    lost = regrets()
    assert len(lost) >= 275  # all but those of head_dim 160, which came later
    assert math.exp(sum(map(math.log, lost.values())) / len(lost)) < 1.02
    assert sum(x > 1.05 for x in lost.values()) < len(lost) / 7
    assert max(lost.values()) < 1.6
