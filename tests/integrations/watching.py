"""What runs in a call: functions of Python, and operators that a mode of torch's dispatcher sees."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


def functions_run(call: Callable[[], Any]) -> list[CodeType]:
    """The functions of Python that run in the call, in their order."""
    ran: list[CodeType] = []

    def watch(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            ran.append(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(before)
    return ran


class Watching(TorchDispatchMode):  # type: ignore[misc]
    """Sees every call."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(function))
        return function(*args, **(kwargs or {}))
