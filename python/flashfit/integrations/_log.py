"""What happened to a host's calls: a line for each distinct call that was taken, and for each that was left."""

from __future__ import annotations

import logging
from threading import Lock

_logger = logging.getLogger("flashfit.integrations")


class Log:
    """Lines in the order in which their calls were first seen. Each is also an INFO record of the logger
    `flashfit.integrations`, once."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._lock = Lock()
        self._counts: dict[tuple[str, str], int] = {}

    def note(self, call: str, reason: str = "") -> None:
        """A call in words, which are the same for calls that are alike; `reason` is why it was left, "" where it was
        taken."""
        key = (call, reason)
        with self._lock:
            before = self._counts.get(key, 0)
            self._counts[key] = before + 1
        if not before:
            _logger.info("%s", self._line(call, reason))

    def _line(self, call: str, reason: str) -> str:
        return f"{self._host}: left: {call}: {reason}" if reason else f"{self._host}: took: {call}"

    def lines(self) -> list[str]:
        """`sdpa: took: fp16 on cpu, 8 heads of 64, causal (12 calls)`, `sdpa: left: ...: dropout_p: 0.1 (1 call)`."""
        with self._lock:
            seen = list(self._counts.items())
        return [f"{self._line(*key)} ({n} call{'s' if n > 1 else ''})" for key, n in seen]

    def clear(self) -> None:
        """Forgets all lines."""
        with self._lock:
            self._counts.clear()
