"""One case: checked, timed beside its peers, checked again."""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable

from . import ours, stats
from .arrays import Arrays, Inputs
from .cases import Case
from .judge import Expected, Verdict
from .machine import without_folders
from .peers import CannotError, Peer
from .timing import HostTimer, Timer, interleaved

OURS, PLAIN = "flashfit", "flashfit, plain"
LONGEST_MESSAGE = 300  # characters


class BrokenDeviceError(Exception):
    """The GPU answers no more: nothing after this would be a measurement."""


@dataclass
class Method:
    """How cases are measured."""

    arrays: Arrays
    peers: Sequence[Peer]
    repeats: int = 100
    warmup: int = 10
    case_seconds: float | None = None
    gpu: Any = None  # a gpu.Device, or None on the CPU
    management: Any = None  # a nvml.Nvml, or None on the CPU
    ceilings: Mapping[str, Any] | None = None
    variant: Callable[[Case], str | None] = lambda case: None
    alternatives: Callable[[Case], Sequence[Peer]] = lambda case: ()  # measured as peers are

    def working(self) -> None:
        """Raises BrokenDeviceError where an earlier call left the GPU unusable."""
        if self.gpu is not None:
            try:
                self.gpu.torch.cuda.synchronize()
            except RuntimeError as error:
                raise BrokenDeviceError(message_of(error)) from error

    def rounds(self, timers: Mapping[str, Timer], after_round: Callable[[], None] = lambda: None) -> Any:
        return interleaved(timers, self.repeats, self.warmup, after_round=after_round, seconds=self.case_seconds)


@dataclass
class Part:
    """flashfit or a peer in one case."""

    call: Callable[[], Any] | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    message: str = ""
    note: str = ""
    timer: Timer | None = None
    plain: bool = False  # timed by launches, though flashfit is by replays

    @property
    def correct(self) -> bool:
        return not self.message

    def worst(self) -> Verdict:
        """Of before and after timing."""
        return max(self.verdicts, key=lambda v: math.inf if math.isnan(v.error) else v.error / (v.bound or 1))


def message_of(error: BaseException, said: Sequence[Any] = ()) -> str:
    """What an error says in one line, without folders; with what was warned of before, which is where PyTorch says
    why."""
    lines = [str(error) or type(error).__name__, *(str(warning.message) for warning in said)]
    text = "; ".join(line.strip().splitlines()[0] for line in lines if line.strip())
    return without_folders(text)[:LONGEST_MESSAGE]


@contextmanager
def reported(part: Part, method: Method) -> Iterator[None]:
    """What fails inside is the part's own message."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            yield
        except Exception as error:  # a peer may raise anything
            method.working()
            part.message = message_of(error, () if isinstance(error, CannotError) else said[:2])


def check(part: Part, out: Any, expected: Expected) -> None:
    verdict = expected.judge(out)
    part.verdicts.append(verdict)
    part.message = verdict.message


def prepared(case: Case, method: Method, inputs: Inputs, expected: Expected) -> dict[str, Part]:
    """flashfit and each peer, each called once and checked."""
    parts: dict[str, Part] = {}
    makers: dict[str, Callable[[Case, Inputs], Any]] = {OURS: ours.prepare}
    makers.update({peer.name: peer.prepare for peer in (*method.peers, *method.alternatives(case))})
    for name, make in makers.items():
        part = parts[name] = Part()
        with reported(part, method):
            part.call = make(case, inputs)
            check(part, part.call(), expected)
        if name == OURS and (not part.correct or not case.timed):
            break  # nothing to be beside
    return parts


def ready(parts: Mapping[str, Part], method: Method) -> dict[str, Timer]:
    """What the rounds run: a timer for each right part, and flashfit's plain launches on a GPU."""
    for part in parts.values():
        if not part.correct or part.call is None:
            continue
        with reported(part, method):
            if method.gpu is None:
                part.timer = HostTimer(part.call)
                continue
            try:
                part.timer = method.gpu.graph(part.call)
            except Exception as error:
                method.working()
                part.plain = True
                part.note = (
                    f"timed by plain launches beside flashfit's, as capturing a graph failed: {message_of(error)}"
                )
                part.timer = method.gpu.plain(part.call)
    timers = {name: part.timer for name, part in parts.items() if part.timer is not None and part.correct}
    first = parts[OURS]
    if method.gpu is not None and first.correct and first.call is not None:
        timers[PLAIN] = method.gpu.plain(first.call)
    return timers


def timing(samples: Sequence[float]) -> dict[str, Any]:
    estimate = stats.bootstrap(samples)
    return {
        "samples_us": [round(sample, 4) for sample in samples],
        "median_us": round(estimate.median, 4),
        "interval_us": [round(estimate.low, 4), round(estimate.high, 4)],
    }


def finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def bounds(case: Case, method: Method) -> dict[str, Any] | None:
    """bound_us. What lies in a warm L2 cache need not come from memory."""
    if not method.ceilings:
        return None
    tensor = method.ceilings["tensor_tflops"].get(case.dtype)
    cached = 0 if method.gpu.flushes else method.gpu.l2_bytes
    found: dict[str, Any] = {
        "tensor": case.work["flop"] / tensor["value"] / 1e6 if tensor else None,
        "exp": None,
        "memory": max(0.0, case.work["bytes"] - cached) / method.ceilings["memory_gb_per_s"]["value"] / 1e3,
    }
    largest = max((name for name in found if found[name]), key=lambda name: float(found[name]), default=None)
    return {**{name: None if us is None else round(us, 4) for name, us in found.items()}, "binds": largest}


def peer_entry(part: Part, samples: Mapping[str, Sequence[float]], name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"correct": part.correct}
    if part.verdicts:
        found["error"] = finite(part.worst().error)
    if part.message or part.note:
        found["message"] = part.message or part.note
    beside = PLAIN if part.plain else OURS
    if part.correct and samples.get(name) and samples.get(beside):
        ratio = stats.ratio(samples[name], samples[beside])
        found.update(timing(samples[name]))
        found.update(ratio=round(ratio.median, 5), ratio_interval=[round(ratio.low, 5), round(ratio.high, 5)])
    return found


def measured(case: Case, method: Method, seed: int = 0) -> dict[str, Any]:
    """The case's object of a result file. A result that is not right, before or after timing, has no times."""
    entry: dict[str, Any] = {"name": case.name, "group": case.group, "stands_for": case.stands_for}
    entry.update(problem=case.problem(), work=dict(case.work), correct=False, error=None, error_bound=None)
    whole = Part()
    with reported(whole, method):
        entry["variant"] = method.variant(case)
        inputs = method.arrays.make(case, seed)
        expected = Expected(case, method.arrays, inputs, seed)
        parts = prepared(case, method, inputs, expected)
        samples, clocks, reasons = timed(case, method, inputs, parts, seed) if case.timed else ({}, [], set())
        entry.update(described(case, method, parts, samples, clocks, reasons))
    if whole.message:
        entry.update(correct=False, message=whole.message)
    return entry


def timed(
    case: Case, method: Method, inputs: Inputs, parts: Mapping[str, Part], seed: int
) -> tuple[dict[str, list[float]], list[float], set[str]]:
    """Samples by part, SM clocks, reasons for throttling; every part that was timed is checked again on new inputs."""
    timers = ready(parts, method)
    clocks: list[float] = []
    reasons: set[str] = set()

    def after_round() -> None:
        if method.gpu is not None:
            clocks.append(method.gpu.clock_mhz())
            reasons.update(method.management.throttled())

    if not parts[OURS].correct:
        return {}, clocks, reasons
    samples = method.rounds(timers, after_round)
    method.arrays.fill(inputs, case, seed + 1)
    expected = Expected(case, method.arrays, inputs, seed + 1)
    for part in parts.values():
        if part.timer is not None and part.correct:
            with reported(part, method):
                check(part, part.timer.again(), expected)
                part.message = part.message and f"after timing: {part.message}"
    timer = timers.get(PLAIN)
    if timer is not None:
        samples["host"] = timer.host_us[-len(samples[PLAIN]) :]  # type: ignore[attr-defined]
    return samples, clocks, reasons


def described(
    case: Case,
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
        return {**found, "message": first.message}
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
        if bound["binds"]:
            found["share"] = round(bound[bound["binds"]] / found["median_us"], 4)
    found["peers"] = {name: peer_entry(part, samples, name) for name, part in parts.items() if name != OURS}
    if found.get("share", 0) > 1:
        for key in ("samples_us", "median_us", "interval_us", "plain", "host_us"):
            found.pop(key, None)
        said = f"{found['share']:.2f} of the bound by {found['bound_us']['binds']}: the harness or the kernel is wrong"
        found.update(correct=False, message=said)
        for peer in found["peers"].values():
            for key in ("ratio", "ratio_interval"):
                peer.pop(key, None)
    return found


def noise(case: Case, method: Method) -> dict[str, Any]:
    """The machine's noise floor: a case beside itself."""
    inputs = method.arrays.make(case, 0)
    call = ours.prepare(case, inputs)
    make = HostTimer if method.gpu is None else method.gpu.graph
    samples = method.rounds({"one": make(call), "other": make(call)})
    ratio = stats.ratio(samples["one"], samples["other"])
    return {
        "half_width": round((ratio.high - ratio.low) / 2, 6),
        "ratio": round(ratio.median, 6),
        "how": f"{case.name} beside itself, interleaved, {len(samples['one'])} rounds, 95 % bootstrap",
    }
