"""One case: checked, timed beside its peers, checked again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import stats
from .cases import AnyCase
from .entries import described
from .operation import Judge
from .parts import OURS, PLAIN, Method, Part, message_of, reported
from .timing import HostTimer, SampleError, Timer


def check(part: Part, out: Any, expected: Judge) -> None:
    verdict = expected.judge(out)
    part.verdicts.append(verdict)
    part.message = verdict.message


def prepared(case: AnyCase, method: Method, inputs: Any, expected: Judge) -> dict[str, Part]:
    """flashfit and each peer, each called once and checked. Peers are measured where flashfit lacks memory, too."""
    parts: dict[str, Part] = {}
    makers: dict[str, Callable[[Any, Any], Any]] = {OURS: method.operation.prepare}
    makers.update({peer.name: peer.prepare for peer in (*method.peers, *method.alternatives(case))})
    for name, make in makers.items():
        part = parts[name] = Part(name)
        method.make_room()
        with reported(part, method):
            part.call = make(case, inputs)
            check(part, part.call(), expected)
        if name == OURS and not (case.timed and (part.correct or part.lacked_memory)):
            break  # nothing to be beside
    return parts


def ready(parts: Mapping[str, Part], method: Method) -> dict[str, Timer]:
    """What the rounds run: a timer for each right part, and flashfit's plain launches on a GPU."""
    for part in parts.values():
        if not part.correct or part.call is None:
            continue
        method.make_room()
        with reported(part, method):
            if method.gpu is None:
                part.timer = HostTimer(part.call)
                continue
            try:
                part.timer = method.gpu.graph(part.call)
                continue
            except Exception as error:
                method.working(part.name)
                part.plain = True
                part.note = (
                    f"timed by plain launches beside flashfit's, as capturing a graph failed: {message_of(error)}"
                )
            # Only now has nobody what the failed call held.
            method.make_room(at_once=True)
            part.timer = method.gpu.plain(part.call)
    first, plain = parts[OURS], None
    if method.gpu is not None and first.correct and first.call is not None:
        with reported(first, method):
            plain = method.gpu.plain(first.call)
    timers = {name: part.timer for name, part in parts.items() if part.timer is not None and part.correct}
    return timers if plain is None else {**timers, PLAIN: plain}


def measured(case: AnyCase, method: Method, seed: int = 0) -> dict[str, Any]:
    """The case's object of a result file. A result that is not right, before or after timing, has no times."""
    entry: dict[str, Any] = {"name": case.name, "group": case.group, "stands_for": case.stands_for}
    entry.update(problem=case.problem(), work=dict(case.work), correct=False, error=None, error_bound=None)
    whole = Part(OURS)
    with reported(whole, method):
        entry["variant"] = method.variant(case)
        inputs = method.operation.make(method.arrays, case, seed)
        case = method.operation.weighed(case, inputs)
        entry["work"] = dict(case.work)
        expected = method.operation.expected(method.arrays, case, inputs, seed)
        parts = prepared(case, method, inputs, expected)
        samples, clocks, reasons = timed(case, method, inputs, parts, seed) if case.timed else ({}, [], set())
        entry.update(described(case, method, parts, samples, clocks, reasons))
    if whole.message:
        entry.update(correct=False, message=whole.message)
    return entry


def timed(
    case: AnyCase, method: Method, inputs: Any, parts: Mapping[str, Part], seed: int
) -> tuple[dict[str, list[float]], list[float], set[str]]:
    """Samples by part, SM clocks, reasons for throttling; every part that was timed is checked again on new inputs."""
    timers = ready(parts, method)
    clocks: list[float] = []
    reasons: set[str] = set()

    def after_round() -> None:
        if method.gpu is not None:
            clocks.append(method.gpu.clock_mhz())
            reasons.update(method.throttled())

    samples = rounds(timers, parts, method, after_round)
    if not samples:
        return {}, clocks, reasons
    clocks = clocks[-max(map(len, samples.values())) :]  # not those of rounds that began anew
    method.make_room()
    method.operation.fill(method.arrays, inputs, case, seed + 1)
    expected = method.operation.expected(method.arrays, case, inputs, seed + 1)
    for part in parts.values():
        if part.timer is not None and part.correct:
            with reported(part, method):
                check(part, part.timer.again(), expected)
                part.message = part.message and f"after timing: {part.message}"
    timer = timers.get(PLAIN)
    if timer is not None and PLAIN in samples:
        samples["host"] = timer.host_us[-len(samples[PLAIN]) :]  # type: ignore[attr-defined]
    return samples, clocks, reasons


def rounds(
    timers: dict[str, Timer], parts: Mapping[str, Part], method: Method, after_round: Callable[[], None]
) -> dict[str, list[float]]:
    """The rounds of all timers. They begin anew without one that fails, whose part says why. None where flashfit is
    wrong."""
    while timers and (parts[OURS].correct or parts[OURS].lacked_memory):
        method.make_room()
        try:
            found: dict[str, list[float]] = method.rounds(timers, after_round)
            return found
        except SampleError as failed:
            part = parts[OURS if failed.name == PLAIN else failed.name]
            gone = [PLAIN, OURS] if part.name == OURS else [part.name]
            with reported(part, method):
                for name in gone:
                    timers.pop(name, None)
                part.timer = None
                raise (failed.__cause__ or failed) from None
    return {}


def noise(case: AnyCase, method: Method) -> dict[str, Any] | None:
    """The machine's noise floor: a case beside itself. None if that cannot be computed, for which its entry has why."""
    samples: dict[str, list[float]] = {}
    with reported(Part(OURS), method):
        call = method.operation.prepare(case, method.operation.make(method.arrays, case, 0))
        make = HostTimer if method.gpu is None else method.gpu.graph
        samples = method.rounds({"one": make(call), "other": make(call)})
    if not samples:
        return None
    ratio = stats.ratio(samples["one"], samples["other"])
    return {
        "half_width": round((ratio.high - ratio.low) / 2, 6),
        "ratio": round(ratio.median, 6),
        "how": f"{case.name} beside itself, interleaved, {len(samples['one'])} rounds, 95 % bootstrap",
    }
