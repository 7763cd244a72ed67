"""The ctypes way to the C API: one block of memory in C's layout, filled by struct, for Pythons that load no module."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from ._library import library
from ._tensors import Memory

# flashfit_attention_args; and, by the number of dimensions, a DLTensor followed by its sizes and strides.
_ARGS = struct.Struct("=IIQQQQQQQQQfIQQqqQQQQfI")
_TENSOR = [struct.Struct(f"=QiiiBBHQQQ{2 * ndim}q") for ndim in range(5)]
_DLTENSOR_BYTES, _TENSOR_BYTES = _TENSOR[0].size, _TENSOR[4].size
_TENSORS = 11
_NO_OPTIONS = (0, 0, 0.0, None, None, None, None, 0, 0)
#: attend() could not read a tensor: it has to be given as a Memory. Below it: UNREADABLE less the bytes of a workspace
#: that the call needs and was not given.
UNREADABLE = -1


class _Frame:
    """The arguments of one call in C's layout. Reused: filling one costs a fraction of building ctypes structures."""

    __slots__ = ("_buffer", "address")

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(_ARGS.size + _TENSORS * _TENSOR_BYTES)
        self.address = ctypes.addressof(self._buffer)

    def put_tensor(self, index: int, memory: Memory, heads_first: bool) -> int:
        """Writes the descriptor of a tensor, tokens before heads; returns its address."""
        data, device_type, device_id, code, bits, shape, strides = memory
        ndim = len(shape)
        if ndim > 4:  # refused by their number alone
            shape, strides = shape[:4], strides[:4]
        elif heads_first and ndim >= 3:
            shape = (*shape[:-3], shape[-2], shape[-3], shape[-1])
            strides = (*strides[:-3], strides[-2], strides[-3], strides[-1])
        slot = _ARGS.size + index * _TENSOR_BYTES
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

    def put_args(
        self, flags: int, tensors: list[int], stream: int, variant: int, scale: float, options: tuple[Any, ...]
    ) -> None:
        left, right, softcap, *_, workspace, workspace_bytes = options
        _ARGS.pack_into(
            self._buffer,
            0,
            _ARGS.size,
            flags,
            *tensors[:7],
            stream,
            variant,
            scale,
            0,
            workspace,
            workspace_bytes,
            left,
            right,
            *tensors[7:],
            softcap,
            0,
        )


# Free frames. A call takes one and puts it back, so that threads, and a call inside a call (a finaliser, a signal
# handler), never share one; list.pop and list.append are atomic.
_frames: list[_Frame] = []


def frames_attend(*arguments: Any) -> int:
    """What `_flashfit_native.attend` does, for Memory and None alone."""
    *tensors, flags, scale, stream, variant, heads_first = arguments[:12]
    options = arguments[12] if len(arguments) > 12 else _NO_OPTIONS
    tensors += options[3:7]
    if stream is None or any(x is not None and not isinstance(x, Memory) for x in tensors):
        return UNREADABLE
    try:
        frame = _frames.pop()
    except IndexError:
        frame = _Frame()
    try:
        addresses = [
            0 if memory is None else frame.put_tensor(i, memory, heads_first and i < 4)
            for i, memory in enumerate(tensors)
        ]
        name = None if variant is None else ctypes.create_string_buffer(variant)
        frame.put_args(flags, addresses, stream, 0 if name is None else ctypes.addressof(name), scale, options)
        needed = ctypes.c_uint64()
        status = int(library().attention_try(frame.address, ctypes.byref(needed)))
        return UNREADABLE - needed.value if needed.value else status
    finally:
        _frames.append(frame)
