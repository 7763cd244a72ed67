"""Steps of whole models timed side by side, in parts of which one may fail: what models.py and hosted.py share."""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from flashfit.bench.gpu import Device
from flashfit.bench.machine import describe, revision
from flashfit.bench.stats import bootstrap, ratio
from flashfit.bench.timing import interleaved
from flashfit.integrations import sdpa

from tools.gpu.sides import DEFAULT, Side

ROUNDS = 15
SECONDS_OF_A_PART = 75
SAMPLE_S = 0.03  # a sample holds as many steps as fill this


class _LateError(BaseException):
    """A part took longer than it may. No Exception: what a part tries may fail, this ends it."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    def late(*_: Any) -> None:
        raise _LateError(f"stopped after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def shown(error: BaseException) -> str:
    """An error's first line."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


class Steps:
    """A step as a program has it, by the clock: what the host needs counts where the GPU has to wait for it."""

    def __init__(
        self, step: Callable[[], Any], within: Callable[[], AbstractContextManager[Any]], device: str, fill: bool
    ) -> None:
        self._step, self._within, self._device, self._count = step, within, device, 1
        if fill:
            once = min(self.sample() for _ in range(2)) / 1e6
            self._count = max(1, min(50, round(SAMPLE_S / once)))

    def again(self) -> Any:
        with self._within():
            return self._step()

    def sample(self) -> float:
        with self._within():
            self._step()  # installing forgets what was decided about calls
            wait(self._device)
            start = time.perf_counter()
            for _ in range(self._count):
                self._step()
            wait(self._device)
            return (time.perf_counter() - start) * 1e6 / self._count


class Job:
    """What is asked for, and what was found; written after each part."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.path, self.device, self.tiny = options.file, options.device, options.tiny
        self.rounds = 2 if self.tiny else ROUNDS
        self.only, self.end = options.only, time.monotonic() + options.seconds
        self.found: dict[str, Any] = {
            "machine": describe(self.device),
            "torch": torch.__version__,
            "revision": revision(),
            "tiny": self.tiny,
            "parts": {},
        }

    def part(self, name: str, run: Callable[[], dict[str, Any]], seconds: float = SECONDS_OF_A_PART) -> None:
        """Runs a part for so many seconds at most, whatever becomes of it."""
        if self.only and self.only not in name:
            return
        left = self.end - time.monotonic()
        start = time.monotonic()
        if left < 10:
            found: dict[str, Any] = {"not_run": "no time was left"}
        else:
            sdpa.HOST.notes.clear()
            try:
                with at_most(min(left, seconds)):
                    found = run()
            except (Exception, _LateError) as error:  # the other parts are worth having
                found = {"failed": shown(error)}
            found["log"] = sdpa.log()
        found["seconds"] = round(time.monotonic() - start, 1)
        self.found["parts"][name] = found
        self.path.write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")
        print(f"\n{name} ({found['seconds']:.0f} s)", flush=True)
        for line in lines(found):
            print(f"  {line}", flush=True)
        if self.device == "cuda":
            torch.cuda.empty_cache()


def lines(found: dict[str, Any]) -> Iterator[str]:
    for way in ("eager", "captured"):
        for side, each in found.get(way, {}).items():
            speed = f"{each['per_second']:.4g} {found['unit']}" if found["unit"] != "us" else f"{each['us'][0]:.2f} us"
            median, low, high = each["of_default"]
            yield f"{way:9} {side:22} {speed:>22}  x {median:.3f} [{low:.3f}, {high:.3f}] of the default's speed"
    for side, error in found.get("errors", {}).items():
        yield f"error of {side:22} {error:.3e}"
    for side, why in found.get("left_out", {}).items():
        yield f"without {side}: {why}"
    yield from (f"{key}: {found[key]}" for key in ("failed", "not_run") if key in found)
    yield from (*found.get("hosts", ()), *found.get("log", ()))


def compared(timers: dict[str, Any], a_step: float, rounds: int) -> dict[str, Any]:
    """Of each side: microseconds of a step, `a_step` units in each a second, and its speed over the default's."""
    if not timers:
        return {}
    samples = interleaved(timers, rounds, warmup=1, seconds=8, fewest=5)
    first = samples.get(DEFAULT) or next(iter(samples.values()))
    found = {}
    for side, us in samples.items():
        time_of, speed = bootstrap(us), ratio(first, us)
        found[side] = {
            "us": [time_of.median, time_of.low, time_of.high],
            "per_second": a_step * 1e6 / time_of.median,
            "of_default": [speed.median, speed.low, speed.high],
            "samples": us,
        }
    return found


def timed(
    job: Job, sides: list[Side], steps: Callable[[Side], Callable[[], Any]], unit: str, a_step: float, capture: bool
) -> dict[str, Any]:
    """steps(side) is a step by that side's compute, called within the side."""
    eager, captured, left_out = {}, {}, {}
    for side in sides:
        try:
            with side.within():
                step = steps(side)
                for _ in range(2):
                    step()
                wait(job.device)
            eager[side.name] = Steps(step, side.within, job.device, fill=not job.tiny)
            if capture and job.device == "cuda" and side.captures:
                with side.within():
                    captured[side.name] = Device(flushed=False).graph(step)
        except Exception as error:  # noqa: PERF203 - the other sides are worth having
            if side.name == DEFAULT:
                raise
            left_out[side.name] = shown(error)
            wait(job.device)
    return {
        "unit": unit,
        "a_step": a_step,
        "eager": compared(eager, a_step, job.rounds),
        "captured": compared(captured, a_step, job.rounds),
        "left_out": left_out,
    }
