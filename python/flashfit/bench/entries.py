"""A measured case as its object of a result file (docs/results.md)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from . import stats
from .cases import AnyCase
from .parts import OURS, PLAIN, Method, Part


def timing(samples: Sequence[float]) -> dict[str, Any]:
    estimate = stats.bootstrap(samples)
    return {
        "samples_us": [round(sample, 4) for sample in samples],
        "median_us": round(estimate.median, 4),
        "interval_us": [round(estimate.low, 4), round(estimate.high, 4)],
    }


def finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def bounds(case: AnyCase, method: Method) -> dict[str, Any] | None:
    """bound_us, from the larger of what was measured and the model's figure: a loop that measures may stay below what a
    kernel reaches. What lies in a warm L2 cache need not come from memory."""
    if not method.ceilings:
        return None

    def limit(ceiling: Mapping[str, Any]) -> float:
        return max(float(ceiling["value"]), ceiling.get("model") or 0.0)

    tensor, exps = method.ceilings["tensor_tflops"].get(case.dtype), method.ceilings["exp_g_per_s"]
    cached = 0 if method.gpu.flushes else method.gpu.l2_bytes
    found: dict[str, Any] = {
        "tensor": case.work["flop"] / limit(tensor) / 1e6 if tensor else None,
        "exp": case.work["exp"] / limit(exps) / 1e3 if exps else None,
        "memory": max(0.0, case.work["bytes"] - cached) / limit(method.ceilings["memory_gb_per_s"]) / 1e3,
    }
    largest = max((name for name in found if found[name]), key=lambda name: float(found[name]), default=None)
    rounded = {name: None if us is None else round(us, 4) for name, us in found.items()}
    return {**rounded, "binds": largest} if largest else rounded


def peer_entry(part: Part, samples: Mapping[str, Sequence[float]], name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"correct": part.correct}
    if part.verdicts:
        found["error"] = finite(part.worst().error)
    if part.message or part.note:
        found["message"] = part.message or part.note
    beside = PLAIN if part.plain else OURS
    if part.correct and samples.get(name):
        found.update(timing(samples[name]))
    if part.correct and samples.get(name) and samples.get(beside):
        ratio = stats.ratio(samples[name], samples[beside])
        found.update(ratio=round(ratio.median, 5), ratio_interval=[round(ratio.low, 5), round(ratio.high, 5)])
    return found


def described(
    case: AnyCase,
    method: Method,
    parts: Mapping[str, Part],
    samples: Mapping[str, Sequence[float]],
    clocks: Sequence[float],
    reasons: set[str],
) -> dict[str, Any]:
    """The keys of a case that come from measuring it."""
    first = parts[OURS]
    found: dict[str, Any] = {"correct": first.correct}
    if first.verdicts:
        found.update(error=finite(first.worst().error), error_bound=first.worst().bound)
    if first.message:
        found["message"] = first.message
        if first.lacked_memory:
            alone = {name: found for name, found in samples.items() if name not in (OURS, PLAIN)}
            found["peers"] = {name: peer_entry(part, alone, name) for name, part in parts.items() if name != OURS}
        return found
    if not case.timed:
        return found
    on_gpu = method.gpu is not None
    found["launch"] = "host" if not on_gpu else ("plain" if first.plain else "graph")
    found.update(timing(samples[OURS]))
    found["clock_mhz"] = None
    if on_gpu:
        found["plain"] = timing(samples[PLAIN])
        found["host_us"] = round(statistics.median(samples["host"]), 3)
        found["clock_mhz"] = dict(zip(("median", "low", "high"), (statistics.median(clocks), min(clocks), max(clocks))))
        found["throttled"] = sorted(reasons)
    if bound := bounds(case, method):
        found["bound_us"] = bound
        if "binds" in bound:
            found["share"] = round(bound[bound["binds"]] / found["median_us"], 4)
    found["peers"] = {name: peer_entry(part, samples, name) for name, part in parts.items() if name != OURS}
    share = found.get("share", 0)
    if share > 1:
        said = f"{share:.2f} of what {found['bound_us']['binds']} allows: the harness or the kernel is wrong"
        found.update(correct=False, message=said, impossible_us=found["median_us"])
        for key in ("samples_us", "median_us", "interval_us", "plain", "host_us", "share"):
            found.pop(key, None)
        for peer in found["peers"].values():
            for key in ("ratio", "ratio_interval"):
                peer.pop(key, None)
    return found
