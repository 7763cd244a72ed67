"""The calls that a program makes, those that are alike together, and how long they took."""

from __future__ import annotations

import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parents[1]
_LIBRARIES = [Path(path).resolve() for path in {sysconfig.get_path("purelib"), sysconfig.get_path("stdlib")}]


@dataclass(frozen=True)
class Shape:
    """What a call computes: sizes of q, k and v, and its options in words."""

    dtype: str  #: "fp16", "bf16", "fp32", or as torch calls it
    device: str  #: "cpu", "cuda:0"
    batch: int
    seqlen_q: int
    seqlen_k: int
    heads_q: int
    heads_kv: int
    head_dim: int
    head_dim_v: int
    causal: bool
    options: tuple[str, ...]  #: "bool mask", "dropout 0.1"


@dataclass
class Call:
    """Calls that are alike."""

    function: str  #: "scaled_dot_product_attention"
    shape: Shape
    where: str  #: the innermost line outside PyTorch
    from_script: str  #: the innermost line that is no library's; "" if there is none
    compiled: bool  #: seen while torch.compile traced: it was not timed, and runs as often as the compiled code
    count: int = 0
    seconds: float = 0.0
    ran: set[str] = field(default_factory=set)  #: who computed it: operators of PyTorch, or packages
    left: str = ""  #: why flashfit would leave it; "" if it would take it


def _is_within(file: str, folders: list[Path]) -> bool:
    path = Path(file)
    return any(folder in path.parents for folder in folders)


def places() -> tuple[str, str]:
    """Where the call that is under way was made: (where, from_script)."""
    torch = sys.modules.get("torch")
    inner = [_HERE, *([Path(torch.__file__).parent] if torch and torch.__file__ else [])]
    frame: Any = sys._getframe(1)
    where = script = ""
    while frame is not None and not script:
        file = frame.f_code.co_filename
        if not file.startswith("<") and not _is_within(file, inner):
            line = f"{file}:{frame.f_lineno}"
            where = where or line
            if not _is_within(file, _LIBRARIES):
                script = line
        frame = frame.f_back
    return where, script


class Calls:
    """All of a program's calls. Times on a GPU are between events on its stream, read at the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[tuple[Any, ...], Call] = {}
        self._events: list[tuple[Call, Any, Any]] = []
        self._inside = threading.local()

    def run(
        self, function: str, shape: Shape | None, left: str, compute: Callable[[], Any], ran: Callable[[], set[str]]
    ) -> Any:
        """compute()'s result, timed and noted; a call within a call is not noted again. ran: who computed it, asked
        afterwards."""
        if shape is None or getattr(self._inside, "call", False):
            return compute()
        import torch

        compiled = torch.compiler.is_compiling()
        on_gpu = shape.device.startswith("cuda") and not compiled and not torch.cuda.is_current_stream_capturing()
        self._inside.call = True
        try:
            if on_gpu:
                first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                first.record()
            start = time.perf_counter()
            result = compute()
            seconds = time.perf_counter() - start
            if on_gpu:
                last.record()
        finally:
            self._inside.call = False
        where, script = places()
        with self._lock:
            key = (function, shape, where, script, compiled)
            call = self._calls.setdefault(key, Call(function, shape, where, script, compiled, left=left))
            call.count += 1
            call.ran |= ran()
            if on_gpu:
                self._events.append((call, first, last))
            elif not compiled:
                call.seconds += seconds
        return result

    def finished(self) -> list[Call]:
        """The calls, those that took longest first; waits for the GPU."""
        if self._events:
            import torch

            torch.cuda.synchronize()
            for call, first, last in self._events:
                call.seconds += first.elapsed_time(last) / 1000
            self._events.clear()
        return sorted(self._calls.values(), key=lambda call: (-call.seconds, call.where, call.function))
