"""The attention call: reads tensors, allocates what is returned, and hands one block of memory to the C API."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Sequence
from typing import Any, Literal, TypeVar, Union, overload

from ._errors import InvalidArgument, InvalidType
from ._library import library
from ._tensors import (
    CUDA,
    Memory,
    cuda_array_interface,
    cuda_array_memory,
    cuda_array_stream,
    is_cuda_array,
    is_numpy,
    is_torch,
    numpy_memory,
    offsets_list,
    torch_memory,
)

T = TypeVar("T")

# flashfit_attention_args; and, by the number of dimensions, a DLTensor followed by its sizes and strides.
_ARGS = struct.Struct("=IIQQQQQQQQQfI")
_TENSOR = [struct.Struct(f"=QiiiBBHQQQ{2 * ndim}q") for ndim in range(5)]
_DLTENSOR_BYTES, _TENSOR_BYTES = _TENSOR[0].size, _TENSOR[4].size
_NAMES = ("q", "k", "v", "out", "lse", "cu_seqlens_q", "cu_seqlens_k")
_SHAPES = {
    ("bshd", False): "[batch, seqlen, heads, head_dim]",
    ("bhsd", False): "[batch, heads, seqlen, head_dim]",
    ("bshd", True): "[total, heads, head_dim] with cu_seqlens",
    ("bhsd", True): "[heads, total, head_dim] with cu_seqlens",
}
_CAUSAL = 1


class _Frame:
    """The arguments of one call in C's layout. Reused: filling one costs a fraction of building ctypes structures."""

    __slots__ = ("_buffer", "_slots", "address")

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(_ARGS.size + len(_NAMES) * _TENSOR_BYTES)
        self.address = ctypes.addressof(self._buffer)
        self._slots = [_ARGS.size + i * _TENSOR_BYTES for i in range(len(_NAMES))]

    def put_tensor(self, index: int, memory: Memory) -> int:
        """Writes the descriptor of a tensor; returns its address."""
        data, device_type, device_id, code, bits, shape, strides = memory
        ndim = len(shape)
        slot = self._slots[index]
        address = self.address + slot
        sizes = address + _DLTENSOR_BYTES
        if ndim > 4:  # refused by their number alone
            shape, strides = shape[:4], strides[:4]
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

    def put_args(self, flags: int, tensors: list[int], stream: int, variant: int, scale: float) -> None:
        _ARGS.pack_into(self._buffer, 0, _ARGS.size, flags, *tensors, stream, variant, scale, 0)


# Free frames. A call takes one and puts it back, so that threads, and a call inside a call (a finaliser, a signal
# handler), never share one; list.pop and list.append are atomic.
_frames: list[_Frame] = []


def _heads_inside(m: Memory) -> Memory:
    """The view with tokens before heads of a tensor with heads before tokens."""
    s, t = m.shape, m.strides
    if len(s) < 3:
        return m
    return m._replace(shape=(*s[:-3], s[-2], s[-3], s[-1]), strides=(*t[:-3], t[-2], t[-3], t[-1]))


def _raw_stream(stream: Any) -> int:
    """The CUstream of what the caller gave."""
    if hasattr(stream, "cuda_stream"):
        return int(stream.cuda_stream)
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    raise InvalidType(
        f"stream: {type(stream).__name__}; "
        "accepted: None, a torch.cuda.Stream, an object with __cuda_stream__, an integer handle"
    )


def _scale(softmax_scale: Any) -> float:
    """What the C API takes: 0 for the default, which a caller here names None."""
    if softmax_scale is None:
        return 0.0
    try:
        scale = float(softmax_scale)
    except OverflowError:
        scale = float("inf")  # an integer past any float
    except (TypeError, ValueError):
        raise InvalidType(
            f"softmax_scale: {type(softmax_scale).__name__}; accepted: a number above 0, or None for 1 / sqrt(head_dim)"
        ) from None
    if not (0 < scale <= 3.4028234663852886e38) or struct.unpack("f", struct.pack("f", scale))[0] == 0:
        raise InvalidArgument(
            f"softmax_scale: {scale:g}; accepted: above 0 and finite in fp32, or None for 1 / sqrt(head_dim)"
        )
    return scale


class _NumPy:
    """How NumPy arrays are read and made."""

    kind = "a NumPy array"
    is_mine = staticmethod(is_numpy)
    read = staticmethod(numpy_memory)

    def like(self, q: Any) -> Any:
        return sys.modules["numpy"].empty(q.shape, q.dtype)

    def lse(self, q: Any, shape: tuple[int, ...]) -> Any:
        return sys.modules["numpy"].empty(shape, "float32")

    def offsets(self, q: Any, values: list[int]) -> Any:
        return sys.modules["numpy"].array(values, "int32")


class _Torch:
    """How torch tensors are read and made."""

    kind = "a torch tensor"
    is_mine = staticmethod(is_torch)
    read = staticmethod(torch_memory)

    def like(self, q: Any) -> Any:
        return sys.modules["torch"].empty_like(q)

    def lse(self, q: Any, shape: tuple[int, ...]) -> Any:
        return q.new_empty(shape, dtype=sys.modules["torch"].float32)

    def offsets(self, q: Any, values: list[int]) -> Any:
        torch: Any = sys.modules["torch"]
        return torch.tensor(values, dtype=torch.int32, device=q.device)


class _CudaArray:
    """How objects with __cuda_array_interface__ are read. None is made: flashfit allocates no GPU memory."""

    kind = "an object with __cuda_array_interface__"
    is_mine = staticmethod(is_cuda_array)
    read = staticmethod(cuda_array_memory)

    def like(self, q: Any) -> Any:
        raise InvalidArgument(f"out: None; accepted: {self.kind}, as q, since flashfit allocates no GPU memory for it")

    def lse(self, q: Any, shape: tuple[int, ...]) -> Any:
        raise InvalidArgument(
            f"return_lse: True; accepted: False where q is {self.kind}, since flashfit allocates no GPU memory for it"
        )


_Maker = Union[_NumPy, _Torch, _CudaArray]
_NUMPY, _TORCH, _CUDA_ARRAY = _NumPy(), _Torch(), _CudaArray()


def _maker(q: Any) -> _Maker:
    if is_torch(q):
        return _TORCH
    if is_numpy(q):
        return _NUMPY
    if is_cuda_array(q):
        return _CUDA_ARRAY
    raise InvalidType(
        f"q: {type(q).__module__}.{type(q).__name__}; "
        "accepted: a NumPy array or a torch tensor, such as numpy.asarray or torch.from_dlpack make, "
        "or an object with __cuda_array_interface__"
    )


def _read(maker: _Maker, name: str, x: Any, heads_first: bool) -> Memory:
    """The memory of one tensor, tokens before heads; it must be of q's package."""
    if not maker.is_mine(x):
        raise InvalidType(f"{name}: {type(x).__module__}.{type(x).__name__}; accepted: {maker.kind}, as q")
    memory = maker.read(name, x)
    return _heads_inside(memory) if heads_first else memory


def _lse_shape(q: tuple[int, ...]) -> tuple[int, ...]:
    return (q[1], q[0]) if len(q) == 3 else (q[0], q[2], q[1])


def _offsets(maker: _Maker, q: Any, name: str, cu_seqlens: Any, rows: int) -> Any:
    """cu_seqlens as a tensor like q: a torch tensor for torch as it is, anything else read and copied; for an object
    with __cuda_array_interface__ as it is, since only such an object is taken."""
    if isinstance(maker, _CudaArray):
        return cu_seqlens
    if is_torch(cu_seqlens):
        if maker is not _TORCH:
            raise InvalidType(f"{name}: a torch tensor; accepted: a list or a NumPy array, as q is a NumPy array")
        return cu_seqlens
    return maker.offsets(q, offsets_list(name, cu_seqlens, rows))


def _torch_stream(device: int) -> int:
    """torch's current stream as a CUstream."""
    torch: Any = sys.modules["torch"]
    current = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return int(current(device) if current else torch.cuda.current_stream(device).cuda_stream)


def _on_stream(q: Any, raw_stream: int) -> Any:
    torch: Any = sys.modules["torch"]
    return torch.cuda.stream(torch.cuda.ExternalStream(raw_stream, device=q.device))


def _call(flags: int, memories: Sequence[Memory | None], stream: int, variant: str | None, scale: float) -> int:
    """flashfit_attention_forward's status."""
    try:
        frame = _frames.pop()
    except IndexError:
        frame = _Frame()
    try:
        tensors = [0 if m is None else frame.put_tensor(i, m) for i, m in enumerate(memories)]
        name = None if variant is None else ctypes.create_string_buffer(variant.encode())
        frame.put_args(flags, tensors, stream, 0 if name is None else ctypes.addressof(name), scale)
        status: int = library().attention_forward(frame.address)
        return status
    finally:
        _frames.append(frame)


@overload
def attention(
    q: T,
    k: T,
    v: T,
    *,
    causal: bool = ...,
    softmax_scale: float | None = ...,
    cu_seqlens_q: Any = ...,
    cu_seqlens_k: Any = ...,
    layout: Literal["bshd", "bhsd"] = ...,
    return_lse: Literal[False] = ...,
    out: T | None = ...,
    stream: Any = ...,
    variant: str | None = ...,
) -> T: ...


@overload
def attention(
    q: T,
    k: T,
    v: T,
    *,
    causal: bool = ...,
    softmax_scale: float | None = ...,
    cu_seqlens_q: Any = ...,
    cu_seqlens_k: Any = ...,
    layout: Literal["bshd", "bhsd"] = ...,
    return_lse: Literal[True],
    out: T | None = ...,
    stream: Any = ...,
    variant: str | None = ...,
) -> tuple[T, T]: ...


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    softmax_scale: float | None = None,
    cu_seqlens_q: Any = None,
    cu_seqlens_k: Any = None,
    layout: Literal["bshd", "bhsd"] = "bshd",
    return_lse: bool = False,
    out: Any = None,
    stream: Any = None,
    variant: str | None = None,
) -> Any:
    """softmax(softmax_scale * q k^T) v over the keys that each query sees.

    q, k, v: NumPy arrays, torch tensors or objects with __cuda_array_interface__ (CuPy, Numba), all alike: fp16, bf16
        or, on the CPU, fp32; on the CPU or on one NVIDIA GPU; any strides with 1 in the last dimension. layout "bshd":
        q [batch, seqlen_q, heads_q, head_dim], k and v [batch, seqlen_k, heads_kv, head_dim]; "bhsd": heads before
        seqlen. heads_q is a multiple of heads_kv: query head h reads key head h // (heads_q / heads_kv).
    causal: query i sees key j iff j <= i + seqlen_k - seqlen_q. A query that sees no key gives 0, and -inf in lse.
    softmax_scale: above 0; None for 1 / sqrt(head_dim).
    cu_seqlens_q, cu_seqlens_k: both or neither. Sequences of any lengths, one after another: q [total_q, heads_q,
        head_dim] and so on ("bhsd": heads first); sequence b is rows cu_seqlens[b] to cu_seqlens[b + 1]. int32 tensors
        where q is, or lists or NumPy arrays, which are copied there (on a GPU that waits: give tensors inside a CUDA
        graph). No max_seqlen is asked for: each thread block finds its sequence by binary search.
    return_lse: also return the natural logarithm of each softmax's denominator, fp32 [batch, heads_q, seqlen_q], or
        [heads_q, total_q].
    out: where to write, of q's shape and dtype; None for a new one. Objects with __cuda_array_interface__ need it, and
        return no lse: flashfit allocates no GPU memory for them.
    stream: for GPU tensors: None for torch's current stream, or the stream that __cuda_array_interface__ names; or a
        torch.cuda.Stream, an object with __cuda_stream__, or an integer handle. What is returned belongs to that
        stream. For CPU tensors: None.
    variant: a row of images() by name, for tests and tuning; None to let flashfit choose.

    Returns out, or (out, lse). Raises InvalidArgument, InvalidType, Misfit, NoGpu or CudaError, all FlashfitError, and
    then has written nothing.
    """
    maker = _maker(q)
    if layout not in ("bshd", "bhsd"):
        raise InvalidArgument(f'layout: {layout!r}; accepted: "bshd", "bhsd"')
    if variant is not None and not isinstance(variant, str):
        raise InvalidType(f"variant: {type(variant).__name__}; accepted: a name from images(), or None")
    ragged = cu_seqlens_q is not None
    if ragged != (cu_seqlens_k is not None):
        missing = "cu_seqlens_k" if ragged else "cu_seqlens_q"
        raise InvalidArgument(
            f"{missing}: None while the other is given; accepted: cu_seqlens_q and cu_seqlens_k, or neither"
        )
    if causal is not True and causal is not False:
        raise InvalidType(f"causal: {causal!r}; accepted: True, False")
    scale = _scale(softmax_scale)
    heads_first = layout == "bhsd"
    q_memory = _read(maker, "q", q, heads_first)
    k_memory = _read(maker, "k", k, heads_first)
    v_memory = _read(maker, "v", v, heads_first)
    shape = q_memory.shape
    if len(shape) != (3 if ragged else 4):
        raise InvalidArgument(f"q: {len(shape)} dimensions; accepted: {3 if ragged else 4}, {_SHAPES[layout, ragged]}")
    on_gpu = q_memory.device_type == CUDA
    if not on_gpu and (stream is not None or variant is not None):
        given = f"stream: {stream!r}" if stream is not None else f"variant: {variant!r}"
        raise InvalidArgument(f"{given} with tensors on the CPU; accepted there: None")
    raw_stream = 0
    if on_gpu and stream is not None:
        raw_stream = _raw_stream(stream)
    elif on_gpu and maker is _TORCH:
        raw_stream = _torch_stream(q_memory.device_id)

    def made() -> tuple[Any, Any, Any, Any]:
        return (
            maker.like(q) if out is None else out,
            maker.lse(q, _lse_shape(shape)) if return_lse else None,
            _offsets(maker, q, "cu_seqlens_q", cu_seqlens_q, shape[0]) if ragged else None,
            _offsets(maker, q, "cu_seqlens_k", cu_seqlens_k, k_memory.shape[0] if k_memory.shape else 0)
            if ragged
            else None,
        )

    if maker is _TORCH and on_gpu and stream is not None:
        # On the stream that uses it: torch's allocator hands freed memory only to work ordered after this call.
        with _on_stream(q, raw_stream):
            result, lse, cu_q, cu_k = made()
    else:
        result, lse, cu_q, cu_k = made()
    memories = (
        q_memory,
        k_memory,
        v_memory,
        _read(maker, "out", result, heads_first),
        None if lse is None else _read(maker, "lse", lse, False),
        None if cu_q is None else _read(maker, "cu_seqlens_q", cu_q, False),
        None if cu_k is None else _read(maker, "cu_seqlens_k", cu_k, False),
    )
    if maker is _NUMPY and not result.flags.writeable:
        raise InvalidArgument("out: read-only; accepted: a writable array")
    if maker is _CUDA_ARRAY:
        if cuda_array_interface("out", result)["data"][1]:
            raise InvalidArgument("out: read-only; accepted: a writable array")
        if stream is None:
            arrays = (q, k, v, result, None, cu_q, cu_k)
            raw_stream = cuda_array_stream({name: x for name, x in zip(_NAMES, arrays) if x is not None})
    status = _call(_CAUSAL if causal else 0, memories, raw_stream, variant, scale)
    if status:
        raise library().error(status, " (shapes and strides in bshd order)" if heads_first else "")
    return (result, lse) if return_lse else result
