"""A tensor's memory as DLPack's struct holds it, and what callers give beside tensors: offsets and streams."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

from ._errors import InvalidArgument, InvalidType

# DLPack's device types and type codes (dlpack.h: DLDeviceType, DLDataTypeCode).
CPU, CUDA, CUDA_HOST = 1, 2, 3
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6
_PAST_FP32 = 2.0**128 - 2.0**103  # what fp32 rounds to infinity begins here


class Memory(NamedTuple):
    """What DLTensor holds; strides in elements."""

    data: int
    device_type: int
    device_id: int
    code: int
    bits: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def device(self) -> str:
        """As the C API's messages have it."""
        return "cpu" if self.device_type == CPU else f"cuda:{self.device_id}"


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of an array without gaps."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 1, 0, -1):
        strides[i - 1] = strides[i] * shape[i]
    return tuple(strides)


def bytes_of(name: str, memory: Memory) -> int:
    """The size of an array without gaps; one with them is refused."""
    expected = row_major(memory.shape)
    if any(size > 1 and mine != right for size, mine, right in zip(memory.shape, memory.strides, expected)):
        raise InvalidArgument(f"{name}: strides are {memory.strides}; accepted: contiguous")
    return math.prod(memory.shape) * memory.bits // 8


def strides_in_elements(name: str, shape: Sequence[int], in_bytes: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Strides in bytes as strides in elements."""
    if any(s % itemsize for s in in_bytes) and 0 not in shape:
        raise InvalidArgument(
            f"{name}: strides are {tuple(in_bytes)} bytes; accepted: multiples of its {itemsize}-byte elements"
        )
    return tuple([s // itemsize for s in in_bytes])


def full_name(x: Any) -> str:
    """The type of x for messages: "builtins.list"."""
    return f"{type(x).__module__}.{type(x).__qualname__}"


def shown(value: Any) -> str:
    """A value in an error's one line: arrays by their shape, anything long cut."""
    kind = type(value)
    scalar = kind.__module__ == "numpy" and kind.__name__ != "ndarray" and getattr(value, "shape", None) == ()
    shape = getattr(value, "shape", None)  # NumPy's own shape is a function
    if isinstance(shape, tuple) and hasattr(value, "dtype") and not scalar:
        return f"{type(value).__name__} of shape {tuple(shape)}"
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # it is or holds an integer of more digits than Python prints
        text = f"{type(value).__name__} of too many digits to print"
    return text if len(text) <= 60 else text[:57] + "..."


def truth_of(name: str, value: Any) -> bool:
    """The value of an argument that is True or False, and nothing that merely counts as such."""
    if value is not True and value is not False:
        raise InvalidType(f"{name}: {shown(value)}; accepted: True, False")
    return value


def number_of(name: str, value: Any, accepted: str) -> float:
    """The value of an argument that is a number, NumPy's and tensors of one number too, and no text, which float()
    would read, nor True. An integer past any float is inf."""
    try:
        kind = type(value)
        of_dtype = getattr(getattr(value, "dtype", None), "kind", "f")
        if (
            kind is bool
            or of_dtype in ("S", "U", "b")
            or not (hasattr(kind, "__float__") or hasattr(kind, "__index__"))
        ):
            raise TypeError
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        raise InvalidType(f"{name}: {shown(value)}; accepted: {accepted}") from None


def index_of(value: Any) -> int:
    """operator.index(), which takes True for 1: a TypeError for a bool as for what is no integer."""
    if isinstance(value, bool):
        raise TypeError("a bool")
    return operator.index(value)


def _integer(name: str, value: Any) -> int:
    try:
        return index_of(value)
    except TypeError:
        raise InvalidType(f"{name}: holds {shown(value)}; accepted: integers") from None


def _integers(name: str, x: Any, shape: str) -> list[int]:
    if hasattr(x, "__array_interface__"):
        if x.ndim != 1:
            raise InvalidArgument(f"{name}: shape is {x.shape}; accepted: {shape}")
        x = x.tolist()
    if not isinstance(x, Sequence) or isinstance(x, (str, bytes)):
        if type(x).__module__.split(".")[0] == "torch":  # such tensors beside tensors of torch do not come here
            raise InvalidType(
                f"{name}: a torch tensor; accepted: a list, a NumPy array, or an array such as the others"
            )
        raise InvalidType(f"{name}: {type(x).__name__}; accepted: a list, a NumPy array or a torch tensor of int32")
    return [_integer(name, v) for v in x]


def check_mask(name: str, x: Any) -> None:
    """Refuses a masked array of NumPy: its memory, and most copies of it, say nothing of its mask."""
    if hasattr(x, "mask"):
        raise InvalidArgument(f"{name}: a masked array, whose mask would be ignored; accepted: plain arrays")


def lengths_list(name: str, x: Any, keys: Sequence[int] | None = None) -> list[int]:
    """The values of seqused_k, a sequence or an integer NumPy array. `keys`: of each sequence, where it is known here
    and not the C API's to check."""
    values = _integers(name, x, "(batch,)")
    for i, value in enumerate(values):
        if not 0 <= value < (2**31 if keys is None else keys[i] + 1):
            most = "the keys" if keys is None else f"{keys[i]}, the keys"
            raise InvalidArgument(f"{name}: {shown(value)} at [{i}]; accepted: 0 to {most} of that sequence")
    return values


def whole_numbers_list(name: str, x: Any, least: int, shape: str) -> list[int]:
    """The values of a sequence or an integer NumPy array that the C API takes as int32, from `least` on."""
    values = _integers(name, x, shape)
    for i, value in enumerate(values):
        if not least <= value < 2**31:
            raise InvalidArgument(f"{name}: {shown(value)} at [{i}]; accepted: {least} or more, below 2**31")
    return values


def numbers_list(name: str, x: Any) -> Any:
    """Slopes or sinks that are no array where q is: numbers, lists of as many numbers each, or NumPy's fp32."""
    if hasattr(x, "__array_interface__"):
        check_mask(name, x)
        if x.dtype.kind not in "fiu" and x.dtype.name != "bfloat16":
            raise InvalidArgument(f"{name}: dtype is {x.dtype}; accepted: float32, or what can be copied to it")
        size = abs(x) if x.dtype.kind == "f" and x.dtype.itemsize > 4 else None
        if size is not None and ((size >= _PAST_FP32) & (size < math.inf)).any():
            raise InvalidArgument(f"{name}: holds numbers past fp32's; accepted: fp32, or what can be copied to it")
        return x.astype("float32")  # keeps a shape that has no elements
    if not isinstance(x, (list, tuple)):
        raise InvalidType(f"{name}: {type(x).__name__}; accepted: a list, a NumPy array or a torch tensor of fp32")
    rows = [list(v) if isinstance(v, (list, tuple)) else v for v in x]
    for row in rows:
        for value in row if isinstance(row, list) else [row]:
            if isinstance(value, bool) or not isinstance(value, Real):  # NumPy's, too
                raise InvalidType(f"{name}: holds {shown(value)}; accepted: numbers")
            number = value if isinstance(value, int) else float(value)  # an integer may be past any float
            if _PAST_FP32 <= abs(number) < math.inf:
                raise InvalidArgument(f"{name}: holds {shown(value)}; accepted: numbers that fp32 can hold")
    if len({len(row) if isinstance(row, list) else -1 for row in rows}) > 1:
        raise InvalidArgument(f"{name}: its rows are of different lengths; accepted: one length")
    return rows


def offsets_list(name: str, x: Any, batch_rows: int) -> list[int]:
    """The values of cu_seqlens, a sequence or an integer NumPy array, checked as the C API checks those on the CPU."""
    values = _integers(name, x, "(batch + 1,)")
    if not values:
        raise InvalidArgument(f"{name}: empty; accepted: batch + 1 offsets")
    if values[0] != 0:
        raise InvalidArgument(f"{name}: starts with {shown(values[0])}; accepted: 0")
    for i in range(1, len(values)):
        if values[i] < values[i - 1]:
            raise InvalidArgument(
                f"{name}: {shown(values[i])} follows {shown(values[i - 1])} at [{i}]; accepted: values that never fall"
            )
    if values[-1] != batch_rows:
        raise InvalidArgument(f"{name}: ends with {shown(values[-1])}; accepted: {batch_rows}, the rows of {name[-1]}")
    return values


def _handle(stream: Any) -> Any:
    """What the caller's object has for a CUstream, None for nothing."""
    try:
        if hasattr(stream, "cuda_stream"):  # torch.cuda.Stream
            return stream.cuda_stream
        if hasattr(stream, "__cuda_stream__"):
            return stream.__cuda_stream__()[1]
    except (TypeError, LookupError):
        return None
    return getattr(stream, "ptr", stream)  # cupy.cuda.Stream of older releases


def raw_stream(stream: Any) -> int:
    """The CUstream of what the caller gave."""
    handle = _handle(stream)
    if isinstance(handle, int) and not isinstance(handle, bool) and 0 <= handle < 2**64:
        return handle
    said = shown(stream) if isinstance(stream, int) else type(stream).__name__
    raise InvalidType(
        f"stream: {said}; accepted: None, a torch.cuda.Stream, an object with __cuda_stream__, an integer handle"
    )
