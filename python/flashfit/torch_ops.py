"""PyTorch's own way to flashfit: torch.ops.flashfit.*, registered when this module is imported.

Code that is compiled, exported, autocast, vmapped, traced or profiled reaches flashfit through these operators; `call`
is flashfit.attention over them, `moe_route` is flashfit.moe_route; flashfit.fused_moe chooses by itself.
docs/pytorch.md has the schemas and what happens in each case.
"""

from __future__ import annotations

import threading

import torch

from . import _torch_attention, _torch_gradients, _torch_moe, _torch_route
from ._torch_attention import call
from ._torch_operators import register
from ._torch_route import moe_route

__all__ = ["call", "moe_route"]


def _register_once() -> None:
    """Once a process, whatever imports this: a reload, another thread, another copy of the package."""
    shared = vars(torch.ops).setdefault("_flashfit_registered", {"lock": threading.Lock()})
    with shared["lock"]:
        if "library" not in shared:
            attention = (*_torch_attention.OPERATORS, *_torch_gradients.OPERATORS)
            shared["library"] = register((*attention, *_torch_route.OPERATORS, *_torch_moe.OPERATORS))


_register_once()
