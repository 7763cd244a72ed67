"""What the command lines take, and the one line that refuses the rest."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

import flashfit

from .._errors import InvalidArgument, NoGpu
from .machine import sees_gpu


class Parser(argparse.ArgumentParser):
    """Wrong use is an error of flashfit's, for the caller to print. No option is taken for the beginning of another:
    `--case NAME`, which `flashfit bench` has, would be --case-seconds."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise InvalidArgument(message.removeprefix("argument "))


def whole(lowest: int) -> Callable[[str], int]:
    """What reads a whole number, `lowest` or more: digits alone, as int() takes "1_0" and " 1", too."""

    def read(text: str) -> int:
        value = int(text) if re.fullmatch(r"[0-9]{1,18}", text) else lowest - 1
        if value < lowest:
            raise argparse.ArgumentTypeError(f"{text!r}; accepted: a whole number, {lowest} or more")
        return value

    return read


def span(text: str) -> float:
    """A number of seconds or minutes, 0 or more."""
    value = float(text) if re.fullmatch(r"[0-9]*\.?[0-9]+(e[-+]?[0-9]+)?", text) else math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}; accepted: a number, 0 or more")
    return value


def device_of(asked: str | None) -> str:
    """ "cuda" or "cpu": what is asked for, or the GPU if flashfit and PyTorch see one."""
    if asked == "cpu":
        return asked
    if sees_gpu():
        return "cuda"
    if asked == "cuda":
        why = flashfit.gpus()["no_gpu_reason"]
        raise NoGpu(f"--device: cuda; {why or 'PyTorch is missing or sees no GPU'}")
    return "cpu"
