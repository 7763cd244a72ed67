"""Fused attention, and mixtures of experts with their routers, that fit the GPU that is there.

One library serves every NVIDIA GPU from compute capability 7.5 on, every Python from 3.9 on and every PyTorch, and the
CPU where there is no GPU. Tensors are NumPy arrays or torch tensors; neither package is required, and torch is never
imported here.
"""

from __future__ import annotations

from ._doctor import doctor
from ._errors import (
    CudaError,
    Disabled,
    FlashfitError,
    InvalidArgument,
    InvalidType,
    Misfit,
    NoGpu,
    OutOfMemory,
    Unsupported,
)
from ._moe import Swiglu
from ._operations import attention, fused_moe, grouped_mlp, moe_route
from ._reports import explain, fused_moe_explain, gpus, images, moe_route_explain
from ._version import __version__

__all__ = [
    "CudaError",
    "Disabled",
    "FlashfitError",
    "InvalidArgument",
    "InvalidType",
    "Misfit",
    "NoGpu",
    "OutOfMemory",
    "Swiglu",
    "Unsupported",
    "__version__",
    "attention",
    "doctor",
    "explain",
    "fused_moe",
    "fused_moe_explain",
    "gpus",
    "grouped_mlp",
    "images",
    "moe_route",
    "moe_route_explain",
]
