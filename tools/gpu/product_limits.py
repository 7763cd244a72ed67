"""What bounds a layer of experts of many tokens: `python -m tools.gpu.product_limits FILE MODEL TOKENS ...`, on a GPU
with PyTorch and NVML.

Three ways take turns, each for a second at a time: flashfit's layer, SonicMoE's if it is installed, and the layer's
products alone as two dense ones by cuBLAS, which neither route, gather, activate nor add up, and read each weight
once. Their numbers are random first, then all 0, with which the power limit lowers no clock. Of each FILE gets TFLOP/s,
the SM clock, watts, and picojoules per FLOP; TFLOP/s of the second's later part, when the clock has settled.
"""

from __future__ import annotations

import ctypes
import json
import random
import statistics
import sys
from collections.abc import Callable
from ctypes import byref, c_uint, c_ulonglong, c_void_p
from typing import Any

import torch
from flashfit.bench import moe
from flashfit.bench.arrays import TorchArrays
from flashfit.bench.machine import describe, revision
from flashfit.bench.peers.sonic_moe import SonicMoe

from tools.gpu.race_libraries import captured, milliseconds

SETTLE_SECONDS, SECONDS, ROUNDS = 0.4, 0.6, 5
SM_CLOCK = 1  # NVML_CLOCK_SM


class Meter:
    """NVML's clock and energy of the first GPU that PyTorch sees."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libnvidia-ml.so.1")
        self._handle = c_void_p()
        self._call("nvmlInit_v2")
        name = f"GPU-{torch.cuda.get_device_properties(0).uuid}"
        self._call("nvmlDeviceGetHandleByUUID", name.encode(), byref(self._handle))

    def _call(self, name: str, *arguments: Any) -> None:
        if status := getattr(self._library, name)(*arguments):
            raise RuntimeError(f"{name}: {status}")

    def millijoules(self) -> int:
        """Since the driver was loaded."""
        found = c_ulonglong()
        self._call("nvmlDeviceGetTotalEnergyConsumption", self._handle, byref(found))
        return found.value

    def megahertz(self) -> int:
        found = c_uint()
        self._call("nvmlDeviceGetClockInfo", self._handle, SM_CLOCK, byref(found))
        return found.value


def dense(case: Any, inputs: Any, flop: float) -> tuple[Callable[[], Any], list[torch.Tensor]]:
    """The products of the layer's rows with the first expert's weights, and what they read."""
    rows = case.tokens * case.top_k
    w13, w2 = inputs.w13[0], inputs.w2[0]
    x, h = (torch.randn(rows, w.shape[1], device="cuda").to(w.dtype) for w in (w13, w2))
    assert 2 * rows * (w13.numel() + w2.numel()) == flop
    z, y = (torch.empty(rows, w.shape[0], device="cuda", dtype=w.dtype) for w in (w13, w2))

    def call() -> None:
        torch.mm(x, w13.T, out=z)
        torch.mm(h, w2.T, out=y)

    return call, [x, h]


def measure(meter: Meter, graph: torch.cuda.CUDAGraph, flop: float) -> dict[str, float]:
    each = milliseconds(graph, 3)
    milliseconds(graph, max(1, int(SETTLE_SECONDS * 1e3 / each)))
    count, before, clocks = max(1, int(SECONDS * 1e3 / each / 10)), meter.millijoules(), list[int]()
    took = 0.0
    for _ in range(10):
        took += count * milliseconds(graph, count)
        clocks.append(meter.megahertz())
    joules = (meter.millijoules() - before) / 1e3
    return {
        "microseconds": took * 1e3 / (10 * count),
        "tflops": flop * 10 * count / took / 1e9,
        "clock_mhz": statistics.median(clocks),
        "watts": joules / took * 1e3,
        "pj_per_flop": joules * 1e12 / (flop * 10 * count),
    }


def in_turns(
    meter: Meter, title: str, numbers: str, graphs: dict[str, tuple[torch.cuda.CUDAGraph, float]], rounds: int = ROUNDS
) -> list[dict[str, Any]]:
    """Medians of so many turns of each graph, of so many FLOP each."""
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in graphs}
    for _ in range(rounds):
        for name in random.sample(list(graphs), len(graphs)):
            samples[name].append(measure(meter, *graphs[name]))
    found: list[dict[str, Any]] = []
    for name, some in samples.items():
        medians = {key: statistics.median(s[key] for s in some) for key in some[0]}
        spread = [min(s["tflops"] for s in some), max(s["tflops"] for s in some)]
        found.append({"way": name, "numbers": numbers, **medians, "tflops_range": spread})
        print(f"{title}, {numbers:6} {name:14} {medians['microseconds']:8.1f} us  {medians['tflops']:6.1f} TFLOP/s "
              f"[{spread[0]:.1f}, {spread[1]:.1f}]  {medians['clock_mhz']:.0f} MHz  {medians['watts']:.0f} W  "
              f"{medians['pj_per_flop']:.3f} pJ a FLOP", flush=True)  # fmt: skip
    return found


def of_layer(model: str, tokens: int, meter: Meter) -> dict[str, Any]:
    case = moe.case_of({each.name: each for each in moe.MODELS}[model], tokens, "random")
    inputs = moe.MOE.make(TorchArrays("cuda"), case, 0)
    flop, sonic = float(case.work["flop"]), SonicMoe()
    alone, read = dense(case, inputs, flop)
    ways = {"flashfit": moe.MOE.prepare(case, inputs), "dense products": alone}
    if not sonic.missing("cuda"):
        ways["sonic-moe"] = sonic.prepare(case, inputs)
    graphs = {name: (captured(call), flop) for name, call in ways.items()}
    found = in_turns(meter, model, "random", graphs)
    for tensor in (inputs.x, inputs.w13, inputs.w2, *read):
        tensor.zero_()
    inputs.copy_anew()
    found += in_turns(meter, model, "zeros", graphs)
    return {"model": model, "tokens": tokens, "sonic-moe": sonic.version(), "found": found}


def main() -> None:
    path, layers = sys.argv[1], list(zip(sys.argv[2::2], sys.argv[3::2]))
    meter = Meter()
    report: dict[str, Any] = {"machine": describe("cuda"), "torch": torch.__version__, "revision": revision()}
    report["layers"] = []
    for model, tokens in layers:
        report["layers"].append(of_layer(model, int(tokens), meter))
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
