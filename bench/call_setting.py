"""What the programs share that time what a call costs the host: the library that does no work, and what ran."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

#: Makes every check of a call, and no result: ./dev build --tests makes it.
NOWORK = Path(__file__).resolve().parents[1] / "build" / "bench" / "libflashfit.so"


def is_there(program: str) -> bool:
    """Whether NOWORK is; if not, a line of that program says so."""
    if not NOWORK.is_file():
        print(f"{program}: {NOWORK} is missing; ./dev build --tests makes it", file=sys.stderr)
    return NOWORK.is_file()


def what_ran(device: str) -> dict[str, str]:
    """For the head of a result file; its first line on a terminal is printed."""
    import flashfit
    import torch
    from flashfit._binding import binding

    print(f"Python {platform.python_version()}, torch {torch.__version__}, binding {binding().name}, {device}")
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "flashfit": flashfit.__version__,
        "binding": binding().name,
        "device": device if device == "cpu" else torch.cuda.get_device_name(),
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
    }
