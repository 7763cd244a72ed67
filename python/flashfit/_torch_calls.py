"""What every operation asks of torch tensors that go through torch.ops.flashfit."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from ._errors import Disabled, InvalidArgument, InvalidType
from ._packages import TORCH
from ._tensors import full_name, raw_stream


def check_tensors(inputs: dict[str, Any], results: dict[str, Any]) -> None:
    """Refuses what is no plain torch tensor, by argument; results may be None. The first input names the package."""
    compiling, first = torch.compiler.is_compiling(), next(iter(inputs))
    for name, x in (*inputs.items(), *((name, x) for name, x in results.items() if x is not None)):
        if not isinstance(x, torch.Tensor):
            raise InvalidType(f"{name}: {full_name(x)}; accepted: a torch tensor, as {first}")
        if x.layout is not torch.strided:
            raise InvalidArgument(f"{name}: layout is {x.layout}; accepted: torch.strided")
        if not compiling and (x.is_nested or x.is_quantized):
            raise InvalidArgument(f"{name}: a {'nested' if x.is_nested else 'quantised'} tensor; accepted: plain ones")
    for name, x in results.items():
        # The dispatcher writes to a resolved copy, and fails.
        if x is not None and not compiling and x.is_neg():
            raise InvalidArgument(f"{name}: a lazily negated view; accepted: {name}.resolve_neg()")


def check_queue(first: Any, stream: Any, variant: Any) -> None:
    """Refuses a stream and a variant where they mean nothing."""
    if variant is not None or (stream is not None and (torch.compiler.is_compiling() or not first.is_cuda)):
        given = "stream" if variant is None else "variant"
        raise InvalidArgument(f"{given}: given in compiled code, under a mode of torch or on the CPU; accepted: None")


def queue_of(first: Any, stream: Any) -> AbstractContextManager[Any]:
    """Within it, operators run on the stream that is given, or on the current one."""
    return nullcontext() if stream is None else TORCH.allocating_on(first, raw_stream(stream))


def is_for_the_cpu(error: Exception, first: Any) -> bool:
    """Whether a call that was refused is to be computed on the CPU, copied there and back: FLASHFIT_DISABLE=gpu."""
    return isinstance(error, Disabled) and first.is_cuda and os.environ.get("FLASHFIT_DISABLE") == "gpu"
