"""Objects with __cuda_array_interface__ alone, such as Numba's device arrays. The interface has no bf16."""

from __future__ import annotations

import operator
import re
from typing import Any

from .._errors import InvalidArgument, InvalidType
from .._tensors import BOOL, COMPLEX, CUDA, FLOAT, INT, UINT, Memory, row_major, shown, strides_in_elements
from .base import DTYPES, Package

_TYPESTR = re.compile(r"[<|]([fiucb])([1-9]|16)")
_TYPESTRS = {"int32": "<i4", "float32": "<f4", "uint8": "|u1"}
_CODES = {"f": FLOAT, "i": INT, "u": UINT, "c": COMPLEX, "b": BOOL}


def _interface(name: str, x: Any) -> dict[str, Any]:
    """The interface of x, of a version that is known."""
    interface = x.__cuda_array_interface__
    if not isinstance(interface, dict):
        raise InvalidType(f"{name}: __cuda_array_interface__ is a {type(interface).__name__}; accepted: a dict")
    version = interface.get("version")
    if version not in (2, 3):
        raise InvalidArgument(f"{name}: __cuda_array_interface__ is of version {version}; accepted: 2, 3")
    return interface


def _check_range(name: str, what: str, values: tuple[int, ...], bits: int, accepted: str) -> None:
    """Refuses what a signed number of so many bits does not hold."""
    if not all(-(2 ** (bits - 1)) <= value < 2 ** (bits - 1) for value in values):
        found = shown(values if len(values) > 1 else values[0])
        raise InvalidArgument(f"{name}: {what} {found}; accepted: {accepted}")


def _device_index(name: str, x: Any) -> int:
    """The interface names no device; CuPy's device.id does, and else GPU 0 is meant."""
    device = getattr(x, "device", None)
    index = getattr(device, "id", device)
    if not isinstance(index, int) or isinstance(index, bool):
        return 0
    _check_range(name, "device is", (index,), 32, "a GPU's index")
    return index


class CudaArrays(Package):
    """How objects with __cuda_array_interface__ are read. None is made: flashfit allocates no GPU memory."""

    kind = "an object with __cuda_array_interface__"

    def owns(self, x: Any) -> bool:
        return hasattr(x, "__cuda_array_interface__") and not hasattr(x, "__dlpack_device__")

    def read(self, name: str, x: Any, stream: int) -> Memory:
        interface = _interface(name, x)
        try:
            data = operator.index(interface["data"][0])
            shape = tuple([operator.index(n) for n in interface["shape"]])
            in_bytes = interface.get("strides")
            if in_bytes is not None:
                in_bytes = tuple([operator.index(s) for s in in_bytes])
            typestr = str(interface["typestr"])
        except (KeyError, IndexError, TypeError) as error:
            raise InvalidType(
                f"{name}: __cuda_array_interface__ is malformed ({type(error).__name__}: {error}); "
                "accepted: data, shape, typestr, strides as its versions 2 and 3 define them"
            ) from None
        known = _TYPESTR.fullmatch(typestr)
        if known is None:
            names = [repr(_TYPESTRS[each]) for each in DTYPES.get(name, ())]
            accepted = ", ".join(names) or "'<f2' (this interface has no bf16)"
            raise InvalidArgument(f"{name}: typestr is {typestr!r}; accepted: {accepted}")
        code, itemsize = _CODES[known[1]], int(known[2])
        if interface.get("mask") is not None:
            raise InvalidArgument(f"{name}: an array with a mask, which would be ignored; accepted: plain arrays")
        if in_bytes is None:
            strides = row_major(shape)
        elif len(in_bytes) != len(shape):
            raise InvalidArgument(f"{name}: {len(in_bytes)} strides; accepted: {len(shape)}, as its shape has")
        else:
            strides = strides_in_elements(name, shape, in_bytes, itemsize)
        _check_range(name, "shape is", shape, 64, "sizes below 2**63")
        _check_range(name, "strides are", strides, 64, "below 2**63 elements")
        if not 0 <= data < 2**64:
            raise InvalidArgument(f"{name}: its address is {shown(data)}; accepted: one of 64 bits")
        return Memory(data, CUDA, _device_index(name, x), code, 8 * itemsize, shape, strides)

    def stream(self, q: Any, arrays: dict[str, Any]) -> int:
        first, found = "", None
        for name, x in arrays.items():
            if not self.owns(x):
                continue  # refused when it is read
            stream = _interface(name, x).get("stream")
            if stream is None:
                continue
            if not isinstance(stream, int) or isinstance(stream, bool) or not 0 < stream < 2**64:
                raise InvalidArgument(
                    f"{name}: stream is {shown(stream)} in __cuda_array_interface__; "
                    "accepted: None, 1 (legacy default), 2 (per-thread default), a handle"
                )
            if found is None:
                first, found = name, stream
            elif found != stream:
                raise InvalidArgument(f"{name}: stream is {stream}; accepted: {found}, as {first}, or stream=")
        return found or 0

    def keeps(self, name: str, x: Any) -> bool:
        return True  # only such an object is taken, and read() says so

    def check_writable(self, name: str, x: Any, memory: Memory) -> None:
        if _interface(name, x)["data"][1]:
            raise InvalidArgument(f"{name}: read-only; accepted: a writable array")
