"""The array packages whose arrays flashfit takes. None is imported: an array can only exist if its package was."""

from __future__ import annotations

import sys
from typing import Any

from .._errors import InvalidType
from .._tensors import full_name
from .base import Package
from .cuda_arrays import CudaArrays
from .cupy_arrays import CuPy
from .dlpack_arrays import DLPack
from .jax_arrays import Jax
from .numpy_arrays import NumPy
from .torch_tensors import Torch

__all__ = ["TORCH", "Package", "package_of"]

TORCH = Torch()
#: The first that owns an array reads it: the general ones come last.
_PACKAGES: tuple[Package, ...] = (TORCH, NumPy(), CuPy(), Jax(), DLPack(), CudaArrays())


def package_of(x: Any, name: str = "q") -> Package:
    """The package of x, the argument `name`."""
    proxy = getattr(sys.modules.get("torch.fx"), "Proxy", None)
    if proxy is not None and isinstance(x, proxy):  # it has every attribute, and so would be taken for any array
        raise InvalidType(
            f"{name}: a torch.fx.Proxy, which has no values; accepted: an array; torch.fx.wrap keeps "
            "the call whole, and torch.export traces it"
        )
    for package in _PACKAGES:
        if package.owns(x):
            return package
    raise InvalidType(
        f"{name}: {full_name(x)}; accepted: an array of NumPy, torch, CuPy or JAX, "
        "or an object with __dlpack__ or __cuda_array_interface__"
    )
