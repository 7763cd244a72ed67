"""What the compiled module remembers of a host's calls, so that those which are left cost next to nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any

from .._binding import binding
from ._log import Log

_LINES = 1024  # KnownCalls::kLines


class KnownCalls:
    """The compiled module's memory of calls, each counted in a line of the log, from when this is made until
    settle()."""

    def __init__(self, calls: Any, notes: Log) -> None:
        """calls: the module's, None where nothing is to be remembered."""
        self._native: Any = binding().native
        self._calls, self._notes, self._lock = calls, notes, Lock()
        self._lines: dict[tuple[str, str], int] = {}
        self.forget()
        notes.on_clear = self.forget

    def forget(self) -> None:
        """Every call comes to Python once more."""
        with self._lock:
            if self._calls is not None:
                self._native.forget_calls(self._calls)
            self._lines.clear()

    def settle(self) -> None:
        """What was counted so far stays in the log."""
        self._notes.on_clear = None
        self._notes.settle()

    def knower(self, call: str, reason: str, *way: int) -> Callable[[], Any]:
        """Of calls that were decided: left for this reason, or with "" for it taken by a way (know_call). What counts
        one more in their line, for the function that is asked, after which calls alike do not come to it."""
        with self._lock:
            line = self._lines.setdefault((call, reason), len(self._lines)) if self._calls is not None else _LINES
        if line >= _LINES:
            return self._notes.counter(call, reason)
        native, calls = self._native, self._calls
        self._notes.counted_elsewhere(call, reason, lambda: int(native.count_calls(calls, line)))
        return partial(native.know_call, calls, line, *way)


class LeftCalls(KnownCalls):
    """Of a host whose calls come from Python: those that were left to it."""

    def __init__(self, notes: Log) -> None:
        native: Any = binding().native
        super().__init__(native and native.new_calls(), notes)

    def left_or(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, but NotImplemented for calls like one of which it said that it is left, by calling what
        knower() gave. Alike are those whose tensors have the same dtypes, devices and sizes, and whose other arguments
        are the same. Their gradients do not tell them apart, nor does what watches or changes calls: under autocast and
        torch.compile, which change what is decided, the function is to be asked directly."""
        return function if self._calls is None else partial(self._native.left_or, self._calls, function)

    def knower(self, call: str, reason: str, *way: Any) -> Callable[[], Any]:
        """That of calls that are left; what is taken is not remembered."""
        return super().knower(call, reason) if reason else self._notes.counter(call)
