"""What happened to a host's calls: a line for each distinct call that was taken, and for each that was left."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from threading import Lock
from typing import Any

_logger = logging.getLogger("flashfit.integrations")


class Log:
    """Lines in the order in which their calls were first seen. Each is also an INFO record of the logger
    `flashfit.integrations`, once."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._lock = Lock()
        self.cleared = 0  #: how often: counters from before count for nothing
        self._counts: dict[tuple[str, str], itertools.count[int]] = {}
        self._elsewhere: dict[tuple[str, str], Callable[[], int]] = {}
        self.on_clear: Callable[[], Any] | None = None  #: called when the log was cleared

    def counter(self, call: str, reason: str = "") -> Callable[[], int]:
        """What counts one more such call, quickly and from any thread: of a call in words, which are the same for calls
        that are alike; `reason` is why it was left, "" where it was taken. The line is there from now on."""
        key = (call, reason)
        with self._lock:
            found = self._counts.get(key)
            if found is None:
                found = self._counts[key] = itertools.count()
                _logger.info("%s", self._line(call, reason))
        return found.__next__

    def counted_elsewhere(self, call: str, reason: str, count: Callable[[], int]) -> None:
        """More such calls, as many as `count` says until the log is cleared or settled; the line is there from now
        on."""
        self.counter(call, reason)
        with self._lock:
            self._elsewhere[call, reason] = count

    def settle(self) -> None:
        """What was counted elsewhere so far counts here, and nothing more is counted there."""
        with self._lock:
            for key, count in self._elsewhere.items():
                self._counts[key] = itertools.count(self._here(key) + count())
            self._elsewhere.clear()

    def _here(self, key: tuple[str, str]) -> int:
        return int(repr(self._counts[key])[len("count(") : -1])

    def note(self, call: str, reason: str = "") -> None:
        """Counts such a call."""
        self.counter(call, reason)()

    def _line(self, call: str, reason: str) -> str:
        return f"{self._host}: left: {call}: {reason}" if reason else f"{self._host}: took: {call}"

    def lines(self) -> list[str]:
        """`sdpa: took: fp16 on cpu, 8 heads of 64, causal (12 calls)`, `sdpa: left: ...: dropout_p: 0.1 (1 call)`."""
        with self._lock:
            elsewhere = {key: count() for key, count in self._elsewhere.items()}
            seen = [(key, self._here(key) + elsewhere.get(key, 0)) for key in self._counts]
        return [f"{self._line(*key)} ({n} call{'s' if n != 1 else ''})" for key, n in seen if n]

    def clear(self) -> None:
        """Forgets all lines, and counts anew."""
        with self._lock:
            self._counts.clear()
            self._elsewhere.clear()
            self.cleared += 1
        if self.on_clear is not None:
            self.on_clear()
