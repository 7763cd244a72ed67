"""What is being done, how many of how many, time left: on a terminal alone."""

from __future__ import annotations

import sys
import time


class Progress:
    """One line that is rewritten on a terminal; silent where output goes to a file."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self._start = time.monotonic()

    def step(self, what: str) -> None:
        """Begins the next of them."""
        if sys.stderr.isatty():
            print(f"\r\033[K[{self.done + 1}/{self.total}{self._left()}] {what}", end="", file=sys.stderr, flush=True)
        self.done += 1

    def _left(self) -> str:
        if not self.done:
            return ""
        seconds = (time.monotonic() - self._start) / self.done * (self.total - self.done)
        return f", {seconds // 60:.0f} min {seconds % 60:.0f} s left"

    def clear(self) -> None:
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
