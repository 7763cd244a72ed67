"""What flashfit.bench writes is what docs/results.schema.json allows."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from flashfit.bench.measure import measured
from flashfit.bench.results import ResultFile

from tests.python.bench_parts import AGpu, MadeUp, Refusing, case, faults, method, on_a_gpu

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = "docs/results.schema.json"


def off(out: Any) -> Any:
    out[:] += 1
    return out


def a_file(*cases: Any) -> dict[str, Any]:
    gpu = {"name": "A GPU", "compute_capability": "9.0", "sms": 132}
    result = ResultFile(None, "a test", {"system": "Linux", "cpu": "a CPU", "cores": 2, "gpu": gpu}, {"torch": "2.11"})
    ceiling = {"value": 1.0, "samples": [0.5, 1.0], "model": None}
    tensor = {"fp16": ceiling}
    result.content["ceilings"] = {
        "tensor_tflops": tensor,
        "mma_sync_tflops": tensor,
        "exp_g_per_s": None,
        "memory_gb_per_s": ceiling,
    }
    how = {"warmup": 1, "repeats": 3, "l2": "warm", "clock": "events"}
    result.content["method"] = {**how, "noise": {"half_width": 0.01, "how": "a test"}}
    result.cases.extend(cases)
    return result.content


@pytest.fixture(scope="module")
def every_kind() -> dict[str, Any]:
    """A file with every kind of case and peer."""
    peers = (MadeUp("good"), MadeUp("wrong", off), Refusing("cannot"))
    unreachable = on_a_gpu(MadeUp("good"), ceiling=1e-9)
    memory = on_a_gpu()
    memory.ceilings = {**memory.ceilings, "tensor_tflops": {}, "memory_gb_per_s": {"value": 1e9}}
    failing = on_a_gpu(gpu=AGpu())
    failing.variant = lambda c: 1 / 0
    return a_file(
        measured(case("grid/gpu"), on_a_gpu(*peers)),
        measured(case("grid/impossible"), unreachable),
        measured(case("grid/no bound", dtype="fp32"), memory),
        measured(case("grid/failed"), failing),
        measured(case("ragged/cpu", lengths=(3, 0, 20), causal=True), method(*peers, repeats=3)),
        measured(case("edges/not timed", timed=False), method(repeats=3)),
    )


def test_every_kind_of_case_is_allowed(every_kind: dict[str, Any]) -> None:
    assert faults(every_kind, SCHEMA) == []
    correct = [entry["correct"] for entry in every_kind["cases"]]
    assert correct == [True, False, True, False, True, True]


COMMITTED = {
    path.name: json.loads(path.read_text("utf-8")) for path in (ROOT / "bench" / "results").glob("bench_*.json")
}


# Those of other operations have schemas of their own: bench_route_test.py.
@pytest.mark.parametrize("name", sorted(name for name, result in COMMITTED.items() if result["schema"] == 1))
def test_committed_files_are_allowed(name: str) -> None:
    assert faults(COMMITTED[name], SCHEMA) == []


def test_what_is_broken_is_not_allowed(every_kind: dict[str, Any]) -> None:
    damages: list[Callable[[Any], Any]] = [
        lambda result: result.update(schema=2),
        lambda result: result["made"].pop("complete"),
        lambda result: result["cases"][0].update(group="another"),
        lambda result: result["ceilings"]["mma_sync_tflops"]["fp16"].pop("value"),
        lambda result: result["cases"][0].update(share=1.2),
        lambda result: result["cases"][0]["peers"]["good"].update(ratio_interval=[1.0]),
        lambda result: result["cases"][0]["samples_us"].append(-1.0),
    ]
    for damage in damages:
        broken = deepcopy(every_kind)
        damage(broken)
        assert faults(broken, SCHEMA), "nothing found"
