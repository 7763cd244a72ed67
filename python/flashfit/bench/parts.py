"""How cases are measured, and what takes part in one: flashfit, peers."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable

from .._errors import Misfit
from .arrays import Arrays
from .judge import Verdict
from .machine import without_folders
from .operation import ATTENTION, Operation
from .peers import CannotError, Peer
from .timing import Timer, interleaved

OURS, PLAIN = "flashfit", "flashfit, plain"
MISFIT, NO_MEMORY = "misfit: ", "out of memory: "  # how a message begins that is of no result
#: What PyTorch, the driver and cuBLAS say of memory that has run out, where the class of the error does not.
OF_MEMORY = re.compile(r"out[ _]of[ _]memory|memory ?allocation|alloc_failed|can't allocate memory", re.IGNORECASE)
LONGEST_MESSAGE = 300  # characters


class BrokenDeviceError(Exception):
    """The GPU answers no more: nothing after this would be a measurement."""


@dataclass
class Method:
    """How cases are measured."""

    arrays: Arrays
    peers: Sequence[Peer]
    repeats: int = 100
    warmup: int = 10
    case_seconds: float | None = None
    gpu: Any = None  # a gpu.Device, or None on the CPU
    throttled: Callable[[], Collection[str]] = frozenset  # why clocks are held back just now
    ceilings: Mapping[str, Any] | None = None
    variant: Callable[[Any], str | None] = lambda case: None
    alternatives: Callable[[Any], Sequence[Peer]] = lambda case: ()  # measured as peers are
    profile: Callable[[Any], Mapping[str, Any]] | None = None  # of a right case
    operation: Operation = ATTENTION

    def working(self, who: str) -> None:
        """Raises BrokenDeviceError where a call of `who`, or an earlier one, left the GPU unusable."""
        if self.gpu is not None:
            try:
                self.gpu.torch.cuda.synchronize()
            except RuntimeError as error:
                raise BrokenDeviceError(f"{who}: {message_of(error)}") from error

    def make_room(self, at_once: bool = False) -> None:
        """Memory that nobody uses is given back before more is asked for, where it is scarce or `at_once`."""
        if self.gpu is not None:
            self.gpu.make_room(at_once)

    def rounds(self, timers: Mapping[str, Timer], after_round: Callable[[], None] = lambda: None) -> Any:
        return interleaved(timers, self.repeats, self.warmup, after_round=after_round, seconds=self.case_seconds)


@dataclass
class Part:
    """flashfit or a peer in one case."""

    name: str
    call: Callable[[], Any] | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    message: str = ""
    note: str = ""
    timer: Timer | None = None
    plain: bool = False  # timed by launches, though flashfit is by replays

    @property
    def correct(self) -> bool:
        return not self.message

    @property
    def lacked_memory(self) -> bool:
        """Nobody knows whether it is right."""
        return self.message.startswith(NO_MEMORY)

    def worst(self) -> Verdict:
        """Of before and after timing."""
        return max(self.verdicts, key=lambda v: math.inf if math.isnan(v.error) else v.error / (v.bound or 1))


def out_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or what it was raised from, is of memory that has run out: the end of a failed capture says
    something else than its cause does."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__ or OF_MEMORY.search(str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def message_of(error: BaseException, said: Sequence[Any] = ()) -> str:
    """What an error says in one line, without folders; with what was warned of before, which is where PyTorch says
    why."""
    lines = [str(error) or type(error).__name__, *(str(warning.message) for warning in said)]
    text = "; ".join(line.strip().splitlines()[0] for line in lines if line.strip())
    if isinstance(error, Misfit):  # sound, but not for this build or this GPU
        text = MISFIT + text
    elif out_of_memory(error):
        text = NO_MEMORY + text
    return without_folders(text)[:LONGEST_MESSAGE]


@contextmanager
def reported(part: Part, method: Method) -> Iterator[None]:
    """What fails inside is the part's own message."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            yield
        except Exception as error:  # a peer may raise anything
            method.working(part.name)
            part.message = message_of(error, () if isinstance(error, CannotError) else said[:2])
    if part.lacked_memory:
        part.call = part.timer = None  # and what they hold
