"""Whether flashfit serves a call on torch tensors, as constants that torch.compile keeps: a trace runs these functions
and records their answers alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import torch

from .._gradients import Problem, misfit_of
from .._reports import explain

F = TypeVar("F", bound=Callable[..., Any])


def constant(function: F) -> F:
    """A function of constants that torch.compile runs while it traces: compiled code has its answer, or nothing."""
    marked: F = torch.compiler.assume_constant_result(function)
    return marked


@cache
def _carried(capability: str, dtype: str, head_dim: int) -> str:
    found = explain(capability, head_dim=head_dim, dtype=dtype)[0]
    return "" if found["fits"] else str(found["reason"])


def _capability(device: str) -> tuple[int, int] | None:
    return None if device == "cpu" else torch.cuda.get_device_capability(device)


@constant
def misfit(device: str, dtype: str, head_dim: int, head_dim_v: int) -> str:
    """Why no kernel serves tensors of such a device, "cpu" or "cuda:0", and dtype, "torch.float16"; "" if one does.
    What a trace has for a head_dim may be a symbol: its number decides, which becomes a guard."""
    if device == "cpu":
        return "" if dtype in ("torch.float16", "torch.bfloat16", "torch.float32") else f"dtype is {dtype}"
    if not device.startswith("cuda") or torch.version.hip:
        return f"device is {device}"
    short = {"torch.float16": "fp16", "torch.bfloat16": "bf16"}.get(dtype)
    if short is None:
        return f"dtype is {dtype} on a GPU"
    head_dim, head_dim_v = int(head_dim), int(head_dim_v)
    if head_dim != head_dim_v:
        return f"head_dim {head_dim} of keys and {head_dim_v} of values on a GPU"
    capability = _capability(device)
    return "no GPU" if capability is None else _carried("{}.{}".format(*capability), short, head_dim)


@constant
def misfit_of_gradients(device: str, head_dim: int, head_dim_v: int, softcap: float, has_bias: bool) -> str:
    """Why PyTorch's backward, which gives the gradients, does not take such a call; "" if it does."""
    found = misfit_of(Problem(_capability(device), int(head_dim), int(head_dim_v), softcap, has_bias=has_bias))
    return "" if found is None else found.words
