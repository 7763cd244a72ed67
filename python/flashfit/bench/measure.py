"""One case: checked, timed beside its peers, checked again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import stats
from .cases import AnyCase
from .entries import described
from .operation import Judge
from .parts import OURS, PLAIN, Method, Part, message_of, reported
from .timing import HostTimer, Timer


def check(part: Part, out: Any, expected: Judge) -> None:
    verdict = expected.judge(out)
    part.verdicts.append(verdict)
    part.message = verdict.message


def prepared(case: AnyCase, method: Method, inputs: Any, expected: Judge) -> dict[str, Part]:
    """flashfit and each peer, each called once and checked."""
    parts: dict[str, Part] = {}
    makers: dict[str, Callable[[Any, Any], Any]] = {OURS: method.operation.prepare}
    makers.update({peer.name: peer.prepare for peer in (*method.peers, *method.alternatives(case))})
    for name, make in makers.items():
        part = parts[name] = Part(name)
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
                method.working(part.name)
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

    if not parts[OURS].correct:
        return {}, clocks, reasons
    samples = method.rounds(timers, after_round)
    method.operation.fill(method.arrays, inputs, case, seed + 1)
    expected = method.operation.expected(method.arrays, case, inputs, seed + 1)
    for part in parts.values():
        if part.timer is not None and part.correct:
            with reported(part, method):
                check(part, part.timer.again(), expected)
                part.message = part.message and f"after timing: {part.message}"
    timer = timers.get(PLAIN)
    if timer is not None:
        samples["host"] = timer.host_us[-len(samples[PLAIN]) :]  # type: ignore[attr-defined]
    return samples, clocks, reasons


def noise(case: AnyCase, method: Method) -> dict[str, Any]:
    """The machine's noise floor: a case beside itself."""
    call = method.operation.prepare(case, method.operation.make(method.arrays, case, 0))
    make = HostTimer if method.gpu is None else method.gpu.graph
    samples = method.rounds({"one": make(call), "other": make(call)})
    ratio = stats.ratio(samples["one"], samples["other"])
    return {
        "half_width": round((ratio.high - ratio.low) / 2, 6),
        "ratio": round(ratio.median, 6),
        "how": f"{case.name} beside itself, interleaved, {len(samples['one'])} rounds, 95 % bootstrap",
    }
