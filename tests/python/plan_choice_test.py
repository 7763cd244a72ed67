"""The plan's choices beside the variants that were raced on an H100 and, of 4,096 queries by 77 keys, on an H200."""

from __future__ import annotations

import json
import math
from pathlib import Path

from flashfit.bench.plan import plan_of

from tools.gpu.time_variants import shapes

RESULTS = Path(__file__).resolve().parents[2] / "bench/results"


def regrets(gpu: str, raced: str) -> dict[str, float]:
    """Of each shape raced in that file: the time of the variant that this build's plan chooses over the fastest's."""
    cases = {json.dumps(case.problem()): case for case in shapes()}
    found = {}
    for shape in json.loads((RESULTS / raced).read_text(encoding="utf-8"))["shapes"]:
        case, times = cases[json.dumps(shape["problem"])], shape["us"]
        found[case.name] = times[plan_of(case, gpu=gpu)["variant"]] / min(times.values())
    return found


def test_the_plan_loses_little_to_the_fastest_variant() -> None:
    lost = regrets("H100", "variants_h100.json")
    assert len(lost) >= 275  # all but those of head_dim 160, which came later
    assert math.exp(sum(map(math.log, lost.values())) / len(lost)) < 1.01
    assert sum(x > 1.05 for x in lost.values()) < len(lost) / 15
    assert max(lost.values()) < 1.3


def test_few_keys_do_not_hide_the_traffic_of_the_rows() -> None:
    few = {name: x for name, x in regrets("H100", "variants_h100.json").items() if "S4096x77" in name}
    few.update({f"H200 {name}": x for name, x in regrets("H200", "variants_h200_few_keys.json").items()})
    assert len(few) == 24
    assert {name: x for name, x in few.items() if x > 1.02} == {}
