"""The ctypes way to the C API: one block of memory in C's layout, filled by struct, for Pythons that load no module."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

from ._library import ALLOCATE, library
from ._tensors import Memory

# By the number of dimensions, a DLTensor followed by its sizes and strides.
_TENSOR = [struct.Struct(f"=QiiiBBHQQQ{2 * ndim}q") for ndim in range(5)]
_DLTENSOR_BYTES, _TENSOR_BYTES = _TENSOR[0].size, _TENSOR[4].size
_TRANSPOSED, _INTERLEAVED = 8192, 16384  # FLASHFIT_TRANSPOSED, FLASHFIT_INTERLEAVED
_NO_OPTIONS = (0, 0, 0.0, None, None, None, None, 0, 0, None)
#: attend() could not read a tensor: it has to be given as a Memory.
UNREADABLE = -1


class _Frame:
    """The arguments of one call in C's layout. Reused: filling one costs a fraction of building ctypes structures."""

    __slots__ = ("_args", "_buffer", "_free", "address")

    def __init__(self, args: struct.Struct, tensors: int, free: list[_Frame]) -> None:
        self._args, self._free = args, free
        self._buffer = ctypes.create_string_buffer(args.size + tensors * _TENSOR_BYTES)
        self.address = ctypes.addressof(self._buffer)

    def __enter__(self) -> _Frame:
        return self

    def __exit__(self, *_: object) -> None:
        self._free.append(self)

    def put_tensor(self, index: int, memory: Memory | None, heads_first: bool = False) -> int:
        """Writes the descriptor of a tensor, tokens before heads; returns its address, 0 of None."""
        if memory is None:
            return 0
        data, device_type, device_id, code, bits, shape, strides = memory
        ndim = len(shape)
        if ndim > 4:  # refused by their number alone
            shape, strides = shape[:4], strides[:4]
        elif heads_first and ndim >= 3:
            shape = (*shape[:-3], shape[-2], shape[-3], shape[-1])
            strides = (*strides[:-3], strides[-2], strides[-3], strides[-1])
        slot = self._args.size + index * _TENSOR_BYTES
        address = self.address + slot
        sizes = address + _DLTENSOR_BYTES
        _TENSOR[len(shape)].pack_into(
            self._buffer,
            slot,
            data,
            device_type,
            device_id,
            ndim,
            code,
            bits,
            1,  # lanes
            sizes,
            sizes + 8 * len(shape),
            0,  # byte_offset
            *shape,
            *strides,
        )
        return address

    def put_args(self, *fields: Any) -> None:
        """Writes the struct: struct_size, then these."""
        self._args.pack_into(self._buffer, 0, self._args.size, *fields)


class _Frames:
    """Free frames of one of the C API's structs. A call takes one and puts it back at its end, so that threads, and a
    call inside a call (a finaliser, a signal handler), never share one; list.pop and list.append are atomic."""

    def __init__(self, args: str, tensors: int) -> None:
        self._args, self._tensors = struct.Struct(args), tensors
        self._free: list[_Frame] = []

    def take(self) -> _Frame:
        try:
            return self._free.pop()
        except IndexError:
            return _Frame(self._args, self._tensors, self._free)


_attention_frames = _Frames("=IIQQQQQQQQQfIQQqqQQQQfI", 11)  # flashfit_attention_args
_route_frames = _Frames("=IIQQQQQQiifI", 4)  # flashfit_moe_route_args
#: flashfit_fused_moe_args' tensors, in their order.
MOE_TENSORS = (
    *("x", "w13", "w2", "out", "topk_ids", "topk_weights", "router_logits", "offsets", "b13", "b2"),
    *("router_bias", "expert_map", "shared_w13", "shared_w2", "shared_gate", "z"),
)
_moe_frames = _Frames("=II15QQQQQiiifffiiifQ", 16)  # flashfit_fused_moe_args
#: flashfit_fused_moe_backward_args' tensors, in their order.
MOE_GRADIENTS = ("dx", "dw13", "dw2", "db13", "db2", "dtopk_weights")
MOE_BACKWARD_TENSORS = ("x", "w13", "w2", "dout", "topk_ids", "topk_weights", "b13", "b2", *MOE_GRADIENTS)
#: flashfit_moe_activation_backward_args' tensors, in their order.
ACTIVATION_TENSORS = ("z", "dh", "choices", "topk_weights", "dz", "h", "dtopk_weights")
_activation_frames = _Frames("=II7QQifff", 7)  # flashfit_moe_activation_backward_args
#: flashfit_moe_rows_product_args' tensors, in their order: those of each call, and those of sums.
PRODUCT_TENSORS = ("a", "w", "offsets", "out")
SUMS_TENSORS = ("places", "sums", "topk_weights")
_product_frames = _Frames("=II4QQQQ3Q", 7)  # flashfit_moe_rows_product_args
#: flashfit_moe_weights_product_args' tensors, in their order.
WEIGHTS_TENSORS = ("a", "b", "offsets", "out")
_weights_frames = _Frames("=II4QQQQ", 4)  # flashfit_moe_weights_product_args
#: flashfit_moe_rows_args' tensors, in their order.
ROWS_TENSORS = ("tokens", "places", "rows", "topk_weights")
_rows_frames = _Frames("=II4QQ", 4)  # flashfit_moe_rows_args
#: flashfit_moe_sort_rows_args' tensors, in their order.
SORT_TENSORS = ("topk_ids", "places", "choices", "offsets")
_sort_frames = _Frames("=II4QQQQiI", 4)  # flashfit_moe_sort_rows_args
_moe_backward_frames = _Frames("=II14QQQQiiifff", 14)  # flashfit_fused_moe_backward_args


def _unreadable(stream: int | None, tensors: list[Any]) -> bool:
    """Whether a call has to be made by a way that reads more than Memory."""
    return stream is None or any(x is not None and not isinstance(x, Memory) for x in tensors)


def _text(variant: bytes | None) -> Any:
    """A C string, NULL of None; lives as long as what is returned."""
    return None if variant is None else ctypes.create_string_buffer(variant)


def _address(text: Any) -> int:
    return 0 if text is None else ctypes.addressof(text)


def _kept_from_c(allocate: Callable[[int], int], raised: list[BaseException]) -> Callable[[Any, int], int | None]:
    """A flashfit_allocate that puts what `allocate` raises into `raised`: no exception may pass through C."""

    def give(_: Any, count: int) -> int | None:
        try:
            return allocate(count)
        except BaseException as error:
            raised.append(error)
            return None

    return give


def _run(function: Any, frame: _Frame, allocate: Callable[[int], int] | None) -> int:
    """The status of one of C's functions that ask for a workspace; raises what `allocate` raises."""
    raised: list[BaseException] = []
    give = ALLOCATE() if allocate is None else ALLOCATE(_kept_from_c(allocate, raised))
    status = int(function(frame.address, give, None))
    if raised:
        raise raised[0]
    return status


def frames_attend(*arguments: Any) -> int:
    """What `_flashfit_native.attend` does, for Memory and None alone."""
    *tensors, flags, scale, stream, variant, heads_first = arguments[:12]
    options = arguments[12] if len(arguments) > 12 else _NO_OPTIONS
    tensors += options[3:7]
    if _unreadable(stream, tensors):
        return UNREADABLE
    left, right, softcap, *_, workspace, workspace_bytes, allocate = options
    with _attention_frames.take() as frame:
        places = [frame.put_tensor(i, memory, heads_first and i < 4) for i, memory in enumerate(tensors)]
        name = _text(variant)
        plain = (flags, *places[:7], stream, _address(name), scale, 0, workspace, workspace_bytes)
        frame.put_args(*plain, left, right, *places[7:], softcap, 0)
        return _run(library().attention_run, frame, allocate)


def frames_route(
    logits: Any,
    weights: Any,
    ids: Any,
    flags: int,
    stream: int | None,
    variant: bytes | None,
    options: Any = (None, 0, 0, 0.0),
) -> int:
    """flashfit_moe_route's status of tensors given as Memory; UNREADABLE of others, and without a stream. options:
    (router_bias, groups, groups_kept, scale)."""
    bias, *numbers = options
    tensors = [logits, weights, ids, bias]
    if _unreadable(stream, tensors):
        return UNREADABLE
    with _route_frames.take() as frame:
        places = [frame.put_tensor(i, memory) for i, memory in enumerate(tensors)]
        name = _text(variant)
        frame.put_args(flags, *places[:3], stream, _address(name), places[3], *numbers, 0)
        return int(library().c.flashfit_moe_route(frame.address))


def frames_layer(tensors: tuple[Memory | None, ...], numbers: Any, stream: int, space: Any) -> int:
    """What `_flashfit_native.layer` does, for Memory and None alone."""
    *workspace, allocate = space
    with _moe_frames.take() as frame:
        places = [frame.put_tensor(i, memory) for i, memory in enumerate(tensors)]
        *first, z = places  # which lies behind all else
        frame.put_args(numbers[0], *first, stream, 0, *workspace, *numbers[1:], z)
        return _run(library().fused_moe_run, frame, allocate)


def frames_moe_backward(tensors: dict[str, Memory | None], numbers: Any) -> int:
    """flashfit_fused_moe_backward's status. numbers: _moe.Numbers."""
    with _moe_backward_frames.take() as frame:
        places = [frame.put_tensor(i, tensors[name]) for i, name in enumerate(MOE_BACKWARD_TENSORS)]
        frame.put_args(numbers[0], *places, 0, 0, 0, *numbers[1:7])
        return int(library().c.flashfit_fused_moe_backward(frame.address))


def frames_activation_backward(
    tensors: dict[str, Memory | None], interleaved: bool, activation: tuple[int, float, float, float], stream: int
) -> int:
    """flashfit_moe_activation_backward's status. activation: as _moe.activation_of() has it."""
    with _activation_frames.take() as frame:
        places = [frame.put_tensor(i, tensors[name]) for i, name in enumerate(ACTIVATION_TENSORS)]
        frame.put_args(_INTERLEAVED if interleaved else 0, *places, stream, *activation)
        return int(library().c.flashfit_moe_activation_backward(frame.address))


def frames_rows_product(
    tensors: dict[str, Memory | None], transposed: bool, stream: int, allocate: Callable[[int], int]
) -> int:
    """flashfit_moe_rows_product's status; allocate(bytes) gives the address of its workspace. Of rows that it does not
    move, tensors may lack SUMS_TENSORS."""
    with _product_frames.take() as frame:
        names = (*PRODUCT_TENSORS, *SUMS_TENSORS)
        places = [frame.put_tensor(i, tensors.get(name)) for i, name in enumerate(names)]
        frame.put_args(_TRANSPOSED if transposed else 0, *places[:4], stream, 0, 0, *places[4:])
        return _run(library().c.flashfit_moe_rows_product, frame, allocate)


def frames_weights_product(tensors: dict[str, Memory], stream: int, allocate: Callable[[int], int]) -> int:
    """flashfit_moe_weights_product's status; allocate(bytes) gives the address of its workspace."""
    with _weights_frames.take() as frame:
        places = [frame.put_tensor(i, tensors[name]) for i, name in enumerate(WEIGHTS_TENSORS)]
        frame.put_args(0, *places, stream, 0, 0)
        return _run(library().c.flashfit_moe_weights_product, frame, allocate)


def _move_rows(function: Any, tensors: dict[str, Memory | None], stream: int) -> int:
    with _rows_frames.take() as frame:
        places = [frame.put_tensor(i, tensors[name]) for i, name in enumerate(ROWS_TENSORS)]
        frame.put_args(0, *places, stream)
        return int(function(frame.address))


def frames_gather_rows(tensors: dict[str, Memory | None], stream: int) -> int:
    """flashfit_moe_gather_rows's status."""
    return _move_rows(library().c.flashfit_moe_gather_rows, tensors, stream)


def frames_sum_rows(tensors: dict[str, Memory | None], stream: int) -> int:
    """flashfit_moe_sum_rows's status."""
    return _move_rows(library().c.flashfit_moe_sum_rows, tensors, stream)


def frames_sort_rows(tensors: dict[str, Memory | None], low: int, stream: int, allocate: Callable[[int], int]) -> int:
    """flashfit_moe_sort_rows's status; allocate(bytes) gives the address of its workspace, where it needs one."""
    with _sort_frames.take() as frame:
        places = [frame.put_tensor(i, tensors[name]) for i, name in enumerate(SORT_TENSORS)]
        frame.put_args(0, *places, stream, 0, 0, low, 0)
        return _run(library().c.flashfit_moe_sort_rows, frame, allocate)
