"""Objects with __dlpack__ and __dlpack_device__ (the Python array API's protocol), of any package."""

from __future__ import annotations

import ctypes
from typing import Any

from .._errors import InvalidArgument, InvalidType
from .._tensors import CPU, CUDA, CUDA_HOST, Memory, row_major
from .base import Package

_READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned, which DLPack 1.0 brought."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    ]


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


class Borrowed(Memory):
    """Memory that its capsule keeps alive: one that nobody renames gives the tensor back when it is dropped."""

    capsule: Any
    read_only: bool


def _capsule(name: str, x: Any, device_type: int, stream: int) -> Any:
    """x exported for work on the CUstream `stream`."""
    # The protocol's numbers: 1 is the legacy default stream, which CUDA's handles call 0.
    wanted: dict[str, Any] = {} if device_type in (CPU, CUDA_HOST) else {"stream": stream or 1}
    try:
        try:
            return x.__dlpack__(max_version=(1, 0), **wanted)
        except TypeError:  # older than DLPack 1.0
            return x.__dlpack__(**wanted)
    except Exception as error:
        said = (str(error) or type(error).__name__).splitlines()[0]
        raise InvalidArgument(f"{name}: __dlpack__ refuses it ({said}); accepted: plain arrays") from None


class DLPack(Package):
    """How such objects are read. None is made: the protocol has no way to allocate."""

    kind = "an object with __dlpack__"

    def owns(self, x: Any) -> bool:
        return hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")

    def read(self, name: str, x: Any, stream: int) -> Memory:
        try:
            device_type = int(x.__dlpack_device__()[0])
        except Exception as error:
            said = (str(error) or type(error).__name__).splitlines()[0]
            raise InvalidArgument(f"{name}: __dlpack_device__ refuses it ({said}); accepted: plain arrays") from None
        if device_type not in (CPU, CUDA, CUDA_HOST):
            raise InvalidArgument(f"{name}: device is DLPack device type {device_type}; accepted: cpu, cuda")
        capsule = _capsule(name, x, device_type, stream)
        flags = 0
        if _is_valid(capsule, b"dltensor_versioned"):
            managed = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
            if managed.major != 1:
                raise InvalidArgument(f"{name}: exported as DLPack {managed.major}; accepted: 0, 1")
            flags, tensor = managed.flags, managed.tensor
        elif _is_valid(capsule, b"dltensor"):
            tensor = _DLTensor.from_address(_pointer(capsule, b"dltensor"))  # DLManagedTensor begins with it
        else:
            raise InvalidType(f"{name}: __dlpack__ gives no DLPack capsule; accepted: an unused one")
        if tensor.lanes != 1:
            raise InvalidArgument(f"{name}: dtype has {tensor.lanes} lanes; accepted: 1")
        shape = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
        strides = tuple(tensor.strides[: tensor.ndim]) if tensor.ndim and tensor.strides else row_major(shape)
        memory = Borrowed(
            (tensor.data or 0) + tensor.byte_offset,
            CPU if device_type == CUDA_HOST else device_type,
            0 if device_type == CUDA_HOST else tensor.device_id,
            tensor.code,
            tensor.bits,
            shape,
            strides,
        )
        memory.capsule = capsule
        memory.read_only = bool(flags & _READ_ONLY)
        return memory

    def keeps(self, name: str, x: Any) -> bool:
        return type(self) is DLPack or self.owns(x)  # of DLPack alone only such objects are taken, and read() says so

    def check_writable(self, name: str, x: Any, memory: Memory) -> None:
        if isinstance(memory, Borrowed) and memory.read_only:
            raise InvalidArgument(f"{name}: read-only; accepted: a writable array")
