"""Reads NumPy arrays, torch tensors and objects with __cuda_array_interface__ as what DLPack's struct holds, without
importing any package of theirs."""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from ._errors import InvalidArgument, InvalidType

CPU, CUDA = 1, 2
_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX = 0, 1, 2, 4, 5


class Memory(NamedTuple):
    """A tensor's memory: what DLTensor holds, strides in elements."""

    data: int
    device_type: int
    device_id: int
    code: int
    bits: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def is_torch(x: Any) -> bool:
    """Whether x is a torch tensor. One exists only if its module was imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def is_numpy(x: Any) -> bool:
    """Whether x is a NumPy array."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, numpy.ndarray)


_numpy_dtypes: dict[Any, tuple[int, int, int]] = {}
_torch_dtypes: dict[Any, tuple[int, int]] = {}


def _numpy_dtype(name: str, dtype: Any) -> tuple[int, int, int]:
    """DLPack code, bits and bytes."""
    known = _numpy_dtypes.get(dtype)
    if known:
        return known
    code = {"f": _FLOAT, "i": _INT, "u": _UINT, "c": _COMPLEX}.get(dtype.kind)
    if dtype.name == "bfloat16":
        code = _BFLOAT
    if code is None or dtype.itemsize > 16:
        raise InvalidArgument(f"{name}: dtype is {dtype}; accepted: float16, bfloat16 (of ml_dtypes), float32")
    if not dtype.isnative:
        raise InvalidArgument(f"{name}: dtype is {dtype.str}, of the other byte order; accepted: this machine's")
    _numpy_dtypes[dtype] = (code, dtype.itemsize * 8, dtype.itemsize)
    return _numpy_dtypes[dtype]


def numpy_memory(name: str, x: Any) -> Memory:
    """Reads a NumPy array."""
    code, bits, itemsize = _numpy_dtype(name, x.dtype)
    if hasattr(x, "mask"):
        raise InvalidArgument(f"{name}: a masked array, whose mask would be ignored; accepted: plain arrays")
    strides = x.strides
    for s in strides:
        if s % itemsize and x.size:
            raise InvalidArgument(
                f"{name}: strides are {strides} bytes; accepted: multiples of its {itemsize}-byte elements"
            )
    return Memory(
        x.__array_interface__["data"][0], CPU, 0, code, bits, x.shape, tuple([s // itemsize for s in strides])
    )


def _torch_dtype(name: str, dtype: Any) -> tuple[int, int]:
    """DLPack code and bits."""
    if not _torch_dtypes:
        torch = sys.modules["torch"]
        for code, names in (
            (_FLOAT, "float16 float32 float64"),
            (_BFLOAT, "bfloat16"),
            (_INT, "int8 int16 int32 int64"),
            (_UINT, "uint8"),
            (_COMPLEX, "complex64 complex128"),
        ):
            for each in names.split():
                known = getattr(torch, each)
                _torch_dtypes[known] = (
                    code,
                    known.itemsize * 8
                    if hasattr(known, "itemsize")
                    else torch.empty(0, dtype=known).element_size() * 8,
                )
    found = _torch_dtypes.get(dtype)
    if found is None:
        accepted = "torch.float16, torch.bfloat16, on the CPU also torch.float32"
        if name.startswith("cu_seqlens"):
            accepted = "torch.int32"
        raise InvalidArgument(f"{name}: dtype is {dtype}; accepted: {accepted}")
    return found


def torch_memory(name: str, x: Any) -> Memory:
    """Reads a torch tensor. Refuses what bare memory misrepresents: gradients, meta, sparse, lazily negated."""
    torch: Any = sys.modules["torch"]
    if x.requires_grad and torch.is_grad_enabled():
        raise InvalidArgument(
            f"{name}: requires grad, and flashfit has no backward yet; "
            "accepted: tensors without, or a call under torch.no_grad()"
        )
    if x.layout is not torch.strided:
        raise InvalidArgument(f"{name}: layout is {x.layout}; accepted: torch.strided")
    if x.is_neg():  # only complex tensors are lazily conjugated, and their dtype is refused
        raise InvalidArgument(f"{name}: a lazily negated view; accepted: {name}.resolve_neg()")
    if x.is_cpu:  # device.type makes a new string each time
        device_type, device_id = CPU, 0
    elif x.is_cuda:
        device_type, device_id = CUDA, x.get_device()
        if torch.version.hip:
            raise InvalidArgument(f"{name}: device is an AMD GPU; accepted: cpu, NVIDIA GPUs")
    else:
        raise InvalidArgument(f"{name}: device is {x.device}; accepted: cpu, cuda")
    code, bits = _torch_dtype(name, x.dtype)
    try:
        data = x.data_ptr()
    except RuntimeError as error:
        raise InvalidArgument(
            f"{name}: a {type(x).__name__} without memory of its own ({error}); accepted: plain tensors"
        ) from None
    return Memory(data, device_type, device_id, code, bits, x.shape, x.stride())


def is_cuda_array(x: Any) -> bool:
    """Whether x is an object with __cuda_array_interface__ other than a torch tensor, which is read as itself."""
    return not is_torch(x) and hasattr(x, "__cuda_array_interface__")


_TYPESTR = re.compile(r"[<|]([fiuc])([1-9]|16)")
_TYPESTR_CODES = {"f": _FLOAT, "i": _INT, "u": _UINT, "c": _COMPLEX}


def cuda_array_interface(name: str, x: Any) -> dict[str, Any]:
    """The interface of x, of a version that is known."""
    interface = x.__cuda_array_interface__
    if not isinstance(interface, dict):
        raise InvalidType(f"{name}: __cuda_array_interface__ is a {type(interface).__name__}; accepted: a dict")
    version = interface.get("version")
    if version not in (2, 3):
        raise InvalidArgument(f"{name}: __cuda_array_interface__ is of version {version}; accepted: 2, 3")
    return interface


def _device_index(x: Any) -> int:
    """The interface names no device; CuPy's device.id does, and else GPU 0 is meant."""
    device = getattr(x, "device", None)
    index = getattr(device, "id", device)
    return index if isinstance(index, int) and not isinstance(index, bool) else 0


def cuda_array_memory(name: str, x: Any) -> Memory:
    """Reads an object with __cuda_array_interface__."""
    interface = cuda_array_interface(name, x)
    try:
        data = operator.index(interface["data"][0])
        shape = tuple([operator.index(n) for n in interface["shape"]])
        bytes_apart = interface.get("strides")
        if bytes_apart is not None:
            bytes_apart = tuple([operator.index(s) for s in bytes_apart])
        typestr = str(interface["typestr"])
    except (KeyError, IndexError, TypeError) as error:
        raise InvalidType(
            f"{name}: __cuda_array_interface__ is malformed ({type(error).__name__}: {error}); "
            "accepted: data, shape, typestr, strides as its versions 2 and 3 define them"
        ) from None
    known = _TYPESTR.fullmatch(typestr)
    if known is None:
        accepted = "'<i4'" if name.startswith("cu_seqlens") else "'<f2' (this interface has no bf16)"
        raise InvalidArgument(f"{name}: typestr is {typestr!r}; accepted: {accepted}")
    code, itemsize = _TYPESTR_CODES[known[1]], int(known[2])
    if interface.get("mask") is not None:
        raise InvalidArgument(f"{name}: an array with a mask, which would be ignored; accepted: plain arrays")
    if bytes_apart is None:
        strides = [1] * len(shape)
        for i in range(len(shape) - 1, 0, -1):
            strides[i - 1] = strides[i] * shape[i]
    else:
        if len(bytes_apart) != len(shape):
            raise InvalidArgument(f"{name}: {len(bytes_apart)} strides; accepted: {len(shape)}, as its shape has")
        if any(s % itemsize for s in bytes_apart) and 0 not in shape:
            raise InvalidArgument(
                f"{name}: strides are {bytes_apart} bytes; accepted: multiples of its {itemsize}-byte elements"
            )
        strides = [s // itemsize for s in bytes_apart]
    return Memory(data, CUDA, _device_index(x), code, 8 * itemsize, shape, tuple(strides))


def cuda_array_stream(arrays: dict[str, Any]) -> int:
    """The CUstream that the arrays are ready on, 0 (the legacy default stream) where none names one."""
    first, found = "", None
    for name, x in arrays.items():
        stream = cuda_array_interface(name, x).get("stream")
        if stream is None:
            continue
        if not isinstance(stream, int) or isinstance(stream, bool) or stream == 0:
            raise InvalidArgument(
                f"{name}: stream is {stream!r} in __cuda_array_interface__; "
                "accepted: None, 1 (legacy default), 2 (per-thread default), a handle"
            )
        if found is None:
            first, found = name, stream
        elif found != stream:
            raise InvalidArgument(f"{name}: stream is {stream}; accepted: {found}, as {first}, or stream=")
    return found or 0


def _integer(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise InvalidType(f"{name}: holds {value!r}; accepted: integers") from None


def offsets_list(name: str, x: Any, batch_rows: int) -> list[int]:
    """The values of cu_seqlens, a sequence or an integer array, checked as the C API checks those on the CPU."""
    if is_numpy(x):
        if x.ndim != 1:
            raise InvalidArgument(f"{name}: shape is {x.shape}; accepted: (batch + 1,)")
        x = x.tolist()
    if not isinstance(x, Sequence) or isinstance(x, (str, bytes)):
        raise InvalidType(f"{name}: {type(x).__name__}; accepted: a list, a NumPy array or a torch tensor of int32")
    values = [_integer(name, v) for v in x]
    if not values:
        raise InvalidArgument(f"{name}: empty; accepted: batch + 1 offsets")
    if values[0] != 0:
        raise InvalidArgument(f"{name}: starts with {values[0]}; accepted: 0")
    for i in range(1, len(values)):
        if values[i] < values[i - 1]:
            raise InvalidArgument(
                f"{name}: {values[i]} follows {values[i - 1]} at [{i}]; accepted: values that never fall"
            )
    if values[-1] != batch_rows:
        raise InvalidArgument(f"{name}: ends with {values[-1]}; accepted: {batch_rows}, the rows of {name[-1]}")
    return values
