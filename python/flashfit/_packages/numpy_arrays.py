"""NumPy arrays."""

from __future__ import annotations

import sys
from typing import Any

from .._errors import InvalidArgument, InvalidType
from .._tensors import BFLOAT, BOOL, COMPLEX, CPU, FLOAT, INT, UINT, Memory, check_mask, strides_in_elements
from .base import DTYPES, Package

_CODES = {"f": FLOAT, "i": INT, "u": UINT, "c": COMPLEX, "b": BOOL}
_known: dict[Any, tuple[int, int, int]] = {}


def _dtype(name: str, dtype: Any) -> tuple[int, int, int]:
    """DLPack code, bits and bytes."""
    known = _known.get(dtype)
    if known:
        return known
    code = BFLOAT if dtype.name == "bfloat16" else _CODES.get(dtype.kind)
    if code is None or dtype.itemsize > 16:
        accepted = ", ".join(DTYPES.get(name, ("float16", "bfloat16 (of ml_dtypes)", "float32")))
        raise InvalidArgument(f"{name}: dtype is {dtype}; accepted: {accepted}")
    if not dtype.isnative:
        raise InvalidArgument(f"{name}: dtype is {dtype.str}, of the other byte order; accepted: this machine's")
    _known[dtype] = (code, dtype.itemsize * 8, dtype.itemsize)
    return _known[dtype]


def _contiguous(name: str, x: Any) -> Any:
    """x without gaps: a copy where it has some."""
    check_mask(name, x)
    return x if x.flags.c_contiguous else sys.modules["numpy"].ascontiguousarray(x)


class NumPy(Package):
    """How NumPy arrays are read and made."""

    kind = "a NumPy array"
    allocates = True

    def owns(self, x: Any) -> bool:
        numpy = sys.modules.get("numpy")
        return numpy is not None and isinstance(x, numpy.ndarray)

    def read(self, name: str, x: Any, stream: int) -> Memory:
        code, bits, itemsize = _dtype(name, x.dtype)
        check_mask(name, x)
        strides = strides_in_elements(name, x.shape, x.strides, itemsize)
        return Memory(x.__array_interface__["data"][0], CPU, 0, code, bits, x.shape, strides)

    def like(self, q: Any) -> Any:
        return sys.modules["numpy"].empty(q.shape, q.dtype)

    def empty(self, q: Any, shape: tuple[int, ...], dtype: str | None = None) -> Any:
        return sys.modules["numpy"].empty(shape, dtype or q.dtype)

    def keeps(self, name: str, x: Any) -> bool:
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(x, torch.Tensor):
            raise InvalidType(f"{name}: a torch tensor; accepted: a list or a NumPy array, as q is a NumPy array")
        return False  # one of another integer or floating type is copied

    def whole(self, name: str, x: Any) -> Any:
        if not self.owns(x):
            return x
        x = _contiguous(name, x)
        if x.dtype.kind == "i" and x.dtype.itemsize == 8:
            numpy: Any = sys.modules["numpy"]
            x = numpy.where((x >= -(2**31)) & (x < 2**31), x, -1).astype("int32")
        return x

    def single(self, name: str, x: Any) -> Any:
        if self.owns(x) and (x.dtype.name in ("float16", "bfloat16")):
            x = x.astype("float32")
        return _contiguous(name, x) if self.owns(x) else x

    def array(self, name: str, q: Any, values: Any, dtype: str) -> Any:
        return sys.modules["numpy"].array(values, dtype)

    def check_writable(self, name: str, x: Any, memory: Memory) -> None:
        if not x.flags.writeable:
            raise InvalidArgument(f"{name}: read-only; accepted: a writable array")
