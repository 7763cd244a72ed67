"""Times of several calls, interleaved round by round within one run."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any, Callable, Protocol

# A sample holds as many calls as fill this, so that neither the clock's resolution nor its start count.
SAMPLE_US = 300.0
MOST_CALLS = 50  # of a sample
PAUSE_S = 0.005  # before a call on the CPU: the other's threads, which wait by spinning, go to sleep


class Timer(Protocol):
    """A call that is ready to be timed."""

    def sample(self) -> float:
        """Microseconds of one call."""

    def again(self) -> Any:
        """The call's result for what its inputs hold now, computed as it is when it is timed."""


class SampleError(Exception):
    """A timer failed, for the reason that this was raised from."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class HostTimer:
    """Calls that are done when they return."""

    def __init__(self, call: Callable[[], Any], pause: float = PAUSE_S) -> None:
        self.again = call
        self._pause = pause
        self._count = 1
        once = self.sample()
        if once < MOST_CALLS * SAMPLE_US:  # the first call may take much longer than others
            once = min(once, self.sample(), self.sample())
        self._count = calls_of_sample(once)

    def sample(self) -> float:
        time.sleep(self._pause)
        start = time.perf_counter()
        for _ in range(self._count):
            self.again()
        return (time.perf_counter() - start) * 1e6 / self._count


def sampled(name: str, timer: Timer) -> float:
    try:
        return timer.sample()
    except Exception as error:
        raise SampleError(name) from error


def calls_of_sample(microseconds: float) -> int:
    """Rounded up: what a sample costs beside its calls counts about the same for calls of about the same length."""
    return max(1, min(MOST_CALLS, math.ceil(SAMPLE_US / max(microseconds, 1e-3))))


def interleaved(
    timers: Mapping[str, Timer],
    rounds: int,
    warmup: int = 0,
    *,
    after_round: Callable[[], None] = lambda: None,
    seconds: float | None = None,
    fewest: int = 10,
) -> dict[str, list[float]]:
    """Microseconds of each timer, sample i of all in round i, after `warmup` rounds that are not kept. Every round runs
    every timer, each time in another order, then `after_round`. Past `seconds` no round is begun but the first
    `fewest`. Raises SampleError for a timer that fails."""
    names = list(timers)
    samples: dict[str, list[float]] = {name: [] for name in names}
    end = None if seconds is None else time.monotonic() + seconds
    for i in range(-warmup, rounds):
        late = end is not None and time.monotonic() > end
        if late and (i < -1 or i >= fewest):
            if i >= fewest:
                break
            continue  # one round of warm-up is left
        turn = i % len(names) if names else 0
        found = {name: sampled(name, timers[name]) for name in names[turn:] + names[:turn]}
        if i < 0:
            continue
        for name, microseconds in found.items():
            samples[name].append(microseconds)
        after_round()
    return samples
