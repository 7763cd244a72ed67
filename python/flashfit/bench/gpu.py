"""Times on a GPU through PyTorch: replays of captured graphs, plain launches, the SM clock, what it could reach."""

from __future__ import annotations

import gc
import importlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import Any, Callable

from .._command import command
from .timing import calls_of_sample

SPIN_CYCLES = (200_000, 1_000_000)  # the time of their difference is free of a launch's


def torch_module() -> Any:
    return importlib.import_module("torch")


class Device:
    """The GPU that is current in PyTorch."""

    def __init__(self, flushed: bool) -> None:
        self.torch = torch_module()
        properties = self.torch.cuda.get_device_properties(self.torch.cuda.current_device())
        self.l2_bytes = int(getattr(properties, "L2_cache_size", 0))
        self._other = None
        if flushed:
            size = max(2 * self.l2_bytes, 64 << 20)
            self._other = self.torch.empty(size, dtype=self.torch.uint8, device="cuda")

    def flush(self) -> None:
        """Other memory takes the L2 cache's place, where that was asked for."""
        if self._other is not None:
            self._other.zero_()

    @property
    def flushes(self) -> bool:
        return self._other is not None

    def make_room(self, at_once: bool = False) -> None:
        """Gives back what PyTorch keeps of memory that nobody uses, also what only cycles of Python's objects hold,
        where less than half of the GPU's memory is free, or `at_once`. PyTorch looks for no cycles before it captures
        a graph, and takes nothing back while it does."""
        free, total = self.torch.cuda.mem_get_info()
        if at_once or 2 * free < total:
            gc.collect()
            self.torch.cuda.empty_cache()

    def microseconds(self, work: Callable[[], Any]) -> float:
        """Of what `work` queues, on the GPU's clock."""
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) * 1e3

    def clock_mhz(self) -> float:
        """The SM clock at this moment: a kernel that spins for a number of the SM's cycles, on the GPU's own time."""
        cycles = SPIN_CYCLES[1] - SPIN_CYCLES[0]
        for _ in range(10):  # a pause of the host may fall into the short one
            short, long = (self.microseconds(partial(self.torch.cuda._sleep, count)) for count in SPIN_CYCLES)
            if long > 2 * short:
                break
        return cycles / max(long - short, cycles * 1e-4)

    def _calls(self, work: Callable[[], Any]) -> int:
        """How many calls a sample holds: one where the cache is flushed before it."""
        for _ in range(3):
            work()
        self.torch.cuda.synchronize()
        return 1 if self.flushes else calls_of_sample(statistics.median(self.microseconds(work) for _ in range(5)))

    def graph(self, call: Callable[[], Any]) -> GraphTimer:
        """A timer of replays. Raises what capturing raises. How many calls fill a sample is known of a replay alone: a
        plain launch takes as long as the host does."""
        for _ in range(3):
            call()
        self.torch.cuda.synchronize()
        graph, out, count = *self._captured(call, 1), 1
        if not self.flushes and (count := self._calls(graph.replay)) > 1:
            graph, out = self._captured(call, count)
        timer = GraphTimer(self, graph, count, out)
        for _ in range(2):
            timer.sample()
        return timer

    def _captured(self, call: Callable[[], Any], count: int) -> tuple[Any, Any]:
        """A graph of `count` calls, and where the last one's result will be. Python collects no garbage meanwhile: what
        a graph of an earlier case gives back then ends the capture."""
        graph = self.torch.cuda.CUDAGraph()
        out = None
        stream, collects = self.torch.cuda.current_stream(), gc.isenabled()
        gc.disable()
        try:
            with self.torch.cuda.graph(graph):
                for _ in range(count):
                    out = call()
        finally:
            if collects:
                gc.enable()
            self.torch.cuda.set_stream(stream)  # a capture that fails may leave its own
        return graph, out

    def plain(self, call: Callable[[], Any]) -> PlainTimer:
        return PlainTimer(self, call, self._calls(call))

    def ceilings(self) -> dict[str, Any]:
        """What this GPU reaches at a matrix product of each dtype, at exponentials, and at reading and copying memory:
        the fastest of the samples, since nothing may be above it. PyTorch's products and copies, and the loops of
        `flashfit bench --ceilings`, which alone computes exponentials and nothing else; the better of both."""
        torch, size = self.torch, 8192
        tensor = {}
        for name, dtype in (("fp16", torch.float16), ("bf16", torch.bfloat16)):
            if name == "bf16" and torch.cuda.get_device_capability() < (8, 0):
                continue
            a, b = (torch.randn(size, size, device="cuda", dtype=dtype) for _ in range(2))
            samples = [2 * size**3 / us / 1e6 for us in self._repeated(partial(torch.matmul, a, b))]
            tensor[name] = {"value": max(samples), "samples": samples, "model": None}
        elements = max(1 << 26, min(1 << 28, torch.cuda.mem_get_info()[0] // 16))
        x, y = (torch.ones(elements, device="cuda") for _ in range(2))
        copies = [8e-3 * elements / us for us in self._repeated(partial(y.copy_, x))]
        reads = [4e-3 * elements / us for us in self._repeated(x.amax)]
        best = max(copies, reads, key=max)
        memory = {"value": max(best), "samples": best, "model": self._peak_gb_per_s()}
        del a, b, x, y
        torch.cuda.empty_cache()
        return better({"tensor_tflops": tensor, "exp_g_per_s": None, "memory_gb_per_s": memory}, loops())

    def _peak_gb_per_s(self) -> float | None:
        """Of the memory's clock and width, two transfers a clock; None where this PyTorch does not tell them."""
        properties = self.torch.cuda.get_device_properties(self.torch.cuda.current_device())
        clock_khz = getattr(properties, "memory_clock_rate", 0)
        width_bits = getattr(properties, "memory_bus_width", 0)
        return 2 * clock_khz * width_bits / 8e6 or None

    def _repeated(self, work: Callable[[], Any], count: int = 20) -> list[float]:
        for _ in range(3):
            work()
        return [self.microseconds(work) for _ in range(count)]


def loops() -> dict[str, Any]:
    """The ceilings that the command `flashfit` measures on the process's first GPU. Empty where it cannot."""
    ran = subprocess.run([command(), "bench", "--ceilings"], capture_output=True, text=True, check=False)
    if ran.returncode:
        print(f"exponentials have no ceiling here: {ran.stderr.strip()}", file=sys.stderr)
        return {}
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


BY_DTYPE = ("tensor_tflops", "mma_sync_tflops")  # the ceilings that have a figure of each dtype


def better(one: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Ceilings of two ways to measure them: of each the higher, beside the model's figure of either."""
    found = dict(one)
    for name, ceiling in other.items():
        mine = found.get(name)
        if name in BY_DTYPE:
            found[name] = better(mine or {}, ceiling)
        elif mine is None or ceiling["value"] > mine["value"]:
            found[name] = {**ceiling, "model": ceiling["model"] or (mine or {}).get("model")}
        else:
            found[name] = {**mine, "model": mine["model"] or ceiling["model"]}
    return found


class GraphTimer:
    """Replays of a captured graph of several calls."""

    def __init__(self, device: Device, graph: Any, count: int, out: Any) -> None:
        self._device, self._graph, self._count, self._out = device, graph, count, out

    def sample(self) -> float:
        self._device.flush()
        return self._device.microseconds(self._graph.replay) / self._count

    def again(self) -> Any:
        self._graph.replay()
        return self._out


class PlainTimer:
    """Launches one by one. `host_us` are the times that a call kept the host in each sample."""

    def __init__(self, device: Device, call: Callable[[], Any], count: int) -> None:
        self._device, self.again, self._count = device, call, count
        self.host_us: list[float] = []

    def sample(self) -> float:
        self._device.flush()
        return self._device.microseconds(self._launches) / self._count

    def _launches(self) -> None:
        start = time.perf_counter()
        for _ in range(self._count):
            self.again()
        self.host_us.append((time.perf_counter() - start) * 1e6 / self._count)
