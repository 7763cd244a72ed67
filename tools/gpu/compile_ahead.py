"""Processes that compile for QuACK, started before it asks for them.

QuACK's tuner starts its processes one after the other, waits until each has imported PyTorch and CUTLASS's DSL, and
ends them after each kernel: with eight of them and six kernels that is most of the time in which SonicMoE's training
step compiles. Here they import side by side, and those of the next kernel while this one is tried.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

COMPILER = [sys.executable, "-m", "quack._compile_worker"]
MOST = 16


def count() -> int:
    """How many QuACK asks for, from its own variable; set to the machine's cores where it is not."""
    return int(os.environ.setdefault("QUACK_COMPILE_WORKERS", str(min(MOST, len(os.sched_getaffinity(0))))))


@contextmanager
def compilers(command: list[str] | None = None) -> Iterator[None]:
    """Within it subprocess.Popen hands out processes of `command` (COMPILER) that run already; at its end those that
    nobody took are ended."""
    wanted = COMPILER if command is None else command
    start: Any = subprocess.Popen
    pipe = subprocess.PIPE
    said = None if os.environ.get("QUACK_PRINT_AUTOTUNING") == "1" else subprocess.DEVNULL

    def one() -> Any:
        return start(wanted, stdin=pipe, stdout=pipe, stderr=said)

    ready = [one() for _ in range(count())]

    class Popen(start):  # type: ignore[misc]
        """A class, as others derive from it, too."""

        def __new__(cls, *given: Any, **options: Any) -> Any:
            if (given[0] if given else options.get("args")) != wanted or not ready:
                return super().__new__(cls)
            ready.append(one())  # for the next kernel
            return ready.pop(0)

    subprocess.Popen = Popen  # type: ignore[misc]
    try:
        yield
    finally:
        subprocess.Popen = start  # type: ignore[misc]
        for process in ready:
            process.kill()
            process.communicate()
