"""The calls that a program makes, those that are alike together, and how long they took."""

from __future__ import annotations

import contextlib
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

#: Its decorators stand between functions of PyTorch.
_BETWEEN = (contextlib.__file__,)
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
    """Calls that are alike: of any numbers of rows and keys, since those of a decoder grow with each token."""

    function: str  #: "scaled_dot_product_attention"
    shape: Shape  #: of the largest
    where: str  #: the innermost line outside PyTorch
    from_script: str  #: the innermost line that is no library's; "" if there is none
    compiled: bool  #: seen while torch.compile traced: it runs as often as the compiled code
    sizes: dict[tuple[int, int], int] = field(default_factory=dict)  #: (rows, keys) -> how often
    timed: int = 0  #: how many of them were timed
    timed_seconds: float = 0.0
    first_seconds: float = 0.0  #: of the first, which was watched besides
    ran: set[str] = field(default_factory=set)  #: who computed the first: operators of PyTorch, or packages
    left: str = ""  #: why flashfit would leave it; "" if it would take it

    @property
    def count(self) -> int:
        """How often it was called."""
        return sum(self.sizes.values())

    @property
    def seconds(self) -> float:
        """Of all of them, from the mean of those that were timed."""
        return self.timed_seconds / self.timed * self.count if self.timed else self.first_seconds

    def add(self, shape: Shape) -> None:
        """One more."""
        size = shape.seqlen_q, shape.seqlen_k
        self.sizes[size] = self.sizes.get(size, 0) + 1
        if shape.seqlen_q * shape.seqlen_k > self.shape.seqlen_q * self.shape.seqlen_k:
            self.shape = shape


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
        if file not in _BETWEEN and not file.startswith("<") and not _is_within(file, inner):
            line = f"{file}:{frame.f_lineno}"
            where = where or line
            if not _is_within(file, _LIBRARIES):
                script = line
        frame = frame.f_back
    return where, script


def is_traced(x: Any) -> bool:
    """Whether the call on this tensor is one of a trace, as torch.compile makes it, and computes nothing: PyTorch 2.4
    and 2.9 try tensors without data while torch.compiler.is_compiling() is false."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor
    from torch._subclasses.functional_tensor import FunctionalTensor

    return torch.compiler.is_compiling() or isinstance(x, (FakeTensor, FunctionalTensor))


def _alike(shape: Shape) -> Shape:
    """The same for calls that differ in their numbers of rows and keys alone: a token, as many keys, other numbers."""
    kind = 1 if shape.seqlen_q == 1 else 2 if shape.seqlen_q == shape.seqlen_k else 3
    return replace(shape, seqlen_q=kind, seqlen_k=0)


class Calls:
    """All of a program's calls. Times on a GPU are between events on its stream, read at the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[tuple[Any, ...], Call] = {}
        self._events: list[tuple[Call, bool, Any, Any]] = []
        self._inside = threading.local()
        self._first = self._last = 0.0

    @property
    def span(self) -> float:
        """Seconds from the first call to the last: what came before, such as imports and weights, is no model's."""
        return self._last - self._first

    def run(
        self,
        function: str,
        shape: Shape | None,
        left: str,
        compute: Callable[[], Any],
        watched: Callable[[], tuple[Any, set[str]]],
        clocked: bool = True,
        compiled: bool = False,
    ) -> Any:
        """compute()'s result, timed and noted; a call within a call is not noted again. watched: the same, and who
        computed it, which takes longer and is asked of the first of calls that are alike. clocked: whether the call is
        attention and no more. compiled: whether it is one of a trace."""
        if shape is None or getattr(self._inside, "call", False):
            return compute()
        import torch

        where, script = places()
        with self._lock:
            key = (function, _alike(shape), where, script, compiled)
            is_new = key not in self._calls
            call = self._calls.setdefault(key, Call(function, shape, where, script, compiled, left=left))
            call.add(shape)
        clocked = clocked and not compiled
        on_gpu = shape.device.startswith("cuda") and clocked and not torch.cuda.is_current_stream_capturing()
        self._inside.call = clocked
        try:
            if on_gpu:
                first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                first.record()
            start = time.perf_counter()
            result, ran = watched() if is_new else (compute(), set())
            end = time.perf_counter()
            if on_gpu:
                last.record()
        finally:
            self._inside.call = False
        with self._lock:
            self._first, self._last = self._first or start, max(self._last, end)
            call.ran |= ran
            if on_gpu:
                self._events.append((call, is_new, first, last))
            elif clocked:
                self._clock(call, is_new, end - start)
        return result

    def _clock(self, call: Call, is_new: bool, seconds: float) -> None:
        if is_new:
            call.first_seconds += seconds
        else:
            call.timed += 1
            call.timed_seconds += seconds

    def finished(self) -> list[Call]:
        """The calls, those that took longest first; waits for the GPU."""
        if self._events:
            import torch

            torch.cuda.synchronize()
            for call, is_new, first, last in self._events:
                self._clock(call, is_new, first.elapsed_time(last) / 1000)
            self._events.clear()
        return sorted(self._calls.values(), key=lambda call: (-call.seconds, call.where, call.function))
