"""A layer of experts by several builds of the library in one process, on a GPU: `python -m tools.gpu.race_libraries
MODEL TOKENS ROUTING LIBRARY...`, such as `Qwen3-30B-A3B 32768 random before/libflashfit.so build/lib/libflashfit.so`.

Each build's layer, router and all, is captured as a CUDA graph. Each is replayed beside the first alone, in random
order, in bursts after a rest: a GPU that its power limits slows down within milliseconds, whoever runs then. Prints for
each its plan's launches with their microseconds by PyTorch's profiler, the median of its replays, whether its result
has the bits of the first's, and the ratio of the first's time over its own, with its 95 % interval; the first's ratio,
beside itself, is the noise.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import flashfit  # noqa: E402
import torch  # noqa: E402
from flashfit import _binding, _library  # noqa: E402
from flashfit.bench import stats  # noqa: E402
from flashfit.bench.arrays import TorchArrays  # noqa: E402
from flashfit.bench.moe import MODELS, MOE, case_of  # noqa: E402

from tools.gpu.correctness import same_bits  # noqa: E402

BURSTS, ROUNDS, WARM_UP, REST_S = 2, 40, 5, 1.2
REPLAYS_PROFILED = 5


def use(path: str) -> None:
    """From here on flashfit's calls go to this build."""
    os.environ["FLASHFIT_LIBRARY"] = path
    os.environ["FLASHFIT_PYTHON_BINDING"] = "ctypes"  # which keeps nothing of the build before
    _library._loaded = None
    _binding._binding = None


def captured(call: Callable[[], Any]) -> torch.cuda.CUDAGraph:
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        call()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph


def milliseconds(graph: torch.cuda.CUDAGraph, replays: int = 1) -> float:
    """Of one of so many replays in a row."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(replays):
        graph.replay()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / replays


def raced(graphs: dict[str, torch.cuda.CUDAGraph], first: str) -> dict[str, tuple[list[float], list[float]]]:
    """For each, milliseconds of the first and its own, beside each other."""
    samples: dict[str, tuple[list[float], list[float]]] = {path: ([], []) for path in graphs}
    for _ in range(BURSTS):
        for path in random.sample(list(graphs), len(graphs)):
            time.sleep(REST_S)
            for round_ in range(WARM_UP + ROUNDS):
                for whose in random.sample((0, 1), 2):
                    ms = milliseconds(graphs[(first, path)[whose]])
                    if round_ >= WARM_UP:
                        samples[path][whose].append(ms)
    return samples


def launches(graph: torch.cuda.CUDAGraph) -> list[float]:
    """Microseconds of each of the graph's kernels, in their order: medians."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(REPLAYS_PROFILED):
            graph.replay()
        torch.cuda.synchronize()
    kernels = [e for e in profile.events() if "entry" in e.name or "Kernel" in e.name]
    kernels.sort(key=lambda e: e.time_range.start)
    each = len(kernels) // REPLAYS_PROFILED
    times = [float(e.time_range.elapsed_us()) for e in kernels]
    return [round(statistics.median(times[i::each]), 1) for i in range(each)] if each else []


def main() -> int:
    name, tokens, routing, paths = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    model = next(model for model in MODELS if model.name == name)
    case = case_of(model, tokens, routing)
    inputs = MOE.make(TorchArrays("cuda"), case, 0)
    graphs, outs, steps = {}, {}, {}
    for path in paths:
        use(path)
        outs[path] = torch.empty_like(inputs.out)
        graphs[path] = captured(
            lambda path=path: flashfit.fused_moe(  # type: ignore[misc]
                inputs.x, inputs.w13, inputs.w2, router_logits=inputs.logits, top_k=case.top_k, out=outs[path]
            )
        )
        asked = {key: getattr(case, key) for key in ("tokens", "experts", "top_k", "hidden", "intermediate")}
        steps[path] = [each["step"] for each in flashfit.fused_moe_explain(**asked)[0]["launches"]]
    samples = raced(graphs, paths[0])
    for path in paths:
        first, own = samples[path]
        ratio = stats.ratio(first, own)
        us = launches(graphs[path])
        names = ["router"] * (len(us) - len(steps[path])) + steps[path]
        print(
            json.dumps(
                {
                    "library": path,
                    "ms": round(statistics.median(own), 4),
                    "same_bits": same_bits(outs[path], outs[paths[0]]),
                    "ratio": [ratio.median, ratio.low, ratio.high],
                    "launches_us": list(zip(names, us)),
                }
            ),
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
