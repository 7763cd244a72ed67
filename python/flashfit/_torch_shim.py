"""torch's stable C interface, by which the compiled module registers kernels that need neither Python nor its lock.

torch has it from 2.8 on (torch/csrc/inductor/aoti_torch/c/shim.h), but for a function of 2.9. Its functions are looked
for in the libraries that torch loaded; where one is missing, kernels of Python do the same.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

import torch

from ._binding import binding

#: In the order of `torch_shim.hpp`, without their prefix.
_FUNCTIONS = (
    *("delete_tensor_object", "new_tensor_handle", "new_uninitialized_tensor", "empty_strided", "get_data_ptr"),
    *("get_dim", "get_sizes", "get_strides", "get_dtype", "get_device_type", "get_device_index", "get_layout"),
    *("dtype_float16", "dtype_bfloat16", "dtype_float32", "dtype_uint8", "dtype_uint64"),
    *("device_type_cpu", "device_type_cuda", "get_current_cuda_stream"),
)
#: A torch of CUDA alone has the first. The second came with 2.9; only scaled_dot_product_attention's kernel calls it.
_NOT_EVERYWHERE = ("get_current_cuda_stream", "get_layout")


class Shim(NamedTuple):
    """The interface, connected: torch's libraries, and the compiled module's kernels by the names of their operators of
    aten."""

    c: Any
    kernels: dict[str, int]


def _address(c: Any, name: str) -> int:
    """Of a function of the interface; 0 where it is missing."""
    try:
        return ctypes.cast(getattr(c, f"aoti_torch_{name}"), ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


@cache
def shim() -> Shim | None:
    """None where torch is too old for it, or the compiled module did not load."""
    native = binding().native
    if native is None:
        return None
    # Loaded before: it and the libraries that it needs, among which a function is looked for.
    c = ctypes.PyDLL(torch._C.__file__)
    addresses = {name: _address(c, name) for name in _FUNCTIONS}
    registering = ("library_init_impl", "library_impl", "delete_library_object")
    if not all(addresses[name] for name in _FUNCTIONS if name not in _NOT_EVERYWHERE):
        return None
    if not all(_address(c, name) for name in registering):
        return None
    operators = (
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention",
        "_flash_attention_forward",
    )
    return Shim(c, dict(zip(operators, native.connect_shim(*addresses.values()))))


class Registration:
    """A kernel of aten's dispatcher, from when this is made until take_out()."""

    def __init__(self, of: Shim, operator: str, key: str, kernel: int) -> None:
        """Raises RuntimeError if torch refuses it."""
        self._c, self._library = of.c, ctypes.c_void_p()
        if self._c.aoti_torch_library_init_impl(b"aten", key.encode(), b"flashfit", 0, ctypes.byref(self._library)):
            raise RuntimeError(f"torch refuses kernels for {key}")
        if self._c.aoti_torch_library_impl(self._library, operator.encode(), ctypes.c_void_p(kernel)):
            self.take_out()
            raise RuntimeError(f"torch refuses a kernel of {operator} for {key}")

    def take_out(self) -> None:
        """The operator is dispatched as it was before."""
        library, self._library = self._library, ctypes.c_void_p()
        if library:
            self._c.aoti_torch_delete_library_object(library)
