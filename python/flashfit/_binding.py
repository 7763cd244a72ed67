"""How a call reaches the C API: through the compiled module `_flashfit_native`, or ctypes where it does not load.

Both offer a function for each operation, with the same arguments; ctypes takes tensors as Memory alone.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from types import ModuleType

from ._errors import FlashfitError, InvalidArgument
from ._frames import (
    MOE_TENSORS,
    UNREADABLE,
    frames_activation_backward,
    frames_attend,
    frames_gather_rows,
    frames_layer,
    frames_moe_backward,
    frames_route,
    frames_rows_product,
    frames_sort_rows,
    frames_sum_rows,
    frames_weights_product,
)
from ._library import default_paths, library

__all__ = ["UNREADABLE", "Binding", "binding", "compiled_module", "failure"]

_MODULE = "_flashfit_native"

#: attend(q, k, v, out, lse, cu_seqlens_q, cu_seqlens_k, flags, softmax_scale, stream, variant, heads_first, options):
#: flashfit_attention_run's status; UNREADABLE if a tensor has to be given as a Memory. options may be left out:
#: (window_left, window_right, softcap, alibi_slopes, sinks, bias, seqused_k, workspace's address, workspace_bytes,
#: allocate). allocate(bytes), or None, gives the address of a workspace where one is needed and none was given; what it
#: raises leaves attend().
Attend = Callable[..., int]
#: route(logits, weights, ids, flags, stream, variant, options): flashfit_moe_route's status, or UNREADABLE. options may
#: be left out: (router_bias, groups, groups_kept, scale).
Route = Callable[..., int]
#: layer(tensors, numbers, stream, space): flashfit_fused_moe_run's status of a tuple of Memory or None, in the order of
#: MOE_TENSORS; numbers: _moe.Numbers; space: (workspace's address, its bytes, allocate), as attend() has them last.
Layer = Callable[..., int]


def compiled_module(path: Path) -> ModuleType | None:
    """The compiled module in this file, None where this Python cannot load it."""
    loader = importlib.machinery.ExtensionFileLoader(_MODULE, str(path))
    spec = importlib.util.spec_from_file_location(_MODULE, path, loader=loader)
    if spec is None:
        return None
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError:  # an interpreter with a lock of its own, or a 3.15 from before its first beta
        return None
    return module


def _ending() -> str | None:
    """How the module's file for this Python ends, None where there is none. Loading by a file's path does not ask."""
    if "t" in getattr(sys, "abiflags", ""):  # free-threaded: objects lie otherwise in memory
        return ".abi3t.so" if sys.version_info >= (3, 15) else None
    return ".abi3.so" if sys.version_info >= (3, 10) else None  # METH_FASTCALL joined the limited API then


def _find_module(beside: Path) -> ModuleType | None:
    """The compiled module: beside the library, or where this package's own library would be."""
    ending = _ending()
    folders = [beside.parent, *(path.parent for path in default_paths())]
    path = next((f for folder in folders if ending and (f := folder / f"{_MODULE}{ending}").is_file()), None)
    return compiled_module(path) if path else None


class Binding:
    """The way that is used: its name, "native" or "ctypes", its attend(), route() and layer()."""

    moe_tensors = MOE_TENSORS
    #: Parts of a layer's gradients are called by ctypes: together they take hundreds of microseconds at least.
    moe_backward = staticmethod(frames_moe_backward)
    activation_backward = staticmethod(frames_activation_backward)
    rows_product = staticmethod(frames_rows_product)
    weights_product = staticmethod(frames_weights_product)
    gather_rows = staticmethod(frames_gather_rows)
    sort_rows = staticmethod(frames_sort_rows)
    sum_rows = staticmethod(frames_sum_rows)

    def __init__(self) -> None:
        asked = os.environ.get("FLASHFIT_PYTHON_BINDING") or "native"
        if asked not in ("native", "ctypes"):
            raise InvalidArgument(f"FLASHFIT_PYTHON_BINDING: {asked!r}; accepted: native, ctypes, or unset")
        loaded = library()
        self.native = _find_module(loaded.path) if asked == "native" else None
        self.attend: Attend
        self.route: Route
        self.layer: Layer
        if self.native:
            functions = (loaded.attention_run, loaded.c.flashfit_moe_route, loaded.fused_moe_run)
            self.native.connect(*(ctypes.cast(each, ctypes.c_void_p).value for each in functions))
            self.name, self.attend, self.route = "native", self.native.attend, self.native.route
            self.layer = self.native.layer
        else:
            self.name, self.attend, self.route, self.layer = "ctypes", frames_attend, frames_route, frames_layer


_lock = Lock()
_binding: Binding | None = None


def binding() -> Binding:
    """The binding, made once."""
    global _binding
    if _binding is None:
        with _lock:
            if _binding is None:
                _binding = Binding()
    return _binding


def failure(status: int, heads_first: bool = False) -> FlashfitError:
    """The exception for a status of the C API above 0."""
    return library().error(status, " (shapes and strides in bshd order)" if heads_first else "")
