"""Times on the device, the candidates interleaved in one run."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any, Callable

import torch

SAMPLE_SECONDS = 300e-6  # a sample holds as many calls as fill this, so that the events' resolution does not count


def _event() -> Any:
    return torch.cuda.Event(enable_timing=True)


def _once(call: Callable[[], Any]) -> float:
    start, end = _event(), _event()
    start.record()
    call()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) * 1e-3


def replays(call: Callable[[], Any]) -> tuple[Callable[[], Any], int]:
    """A CUDA graph of as many calls as fill a sample, ready to replay, and how many those are."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    count = max(1, min(50, round(SAMPLE_SECONDS / statistics.median(_once(call) for _ in range(5)))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            call()
    for _ in range(2):
        graph.replay()
    torch.cuda.synchronize()
    return graph.replay, count


def interleaved(calls: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds a call, `rounds` samples of each. Every round runs every call, each time in another order."""
    ready = {name: replays(call) for name, call in calls.items()}
    names = list(ready)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for i in range(rounds):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            replay, count = ready[name]
            samples[name].append(_once(replay) / count)
    return samples
