"""flashfit.attention: the one call of this package."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, Literal, TypeVar, overload

from ._binding import binding, failure
from ._errors import InvalidArgument, InvalidType
from ._packages import TORCH, Package, package_of
from ._tensors import CUDA, Memory, full_name, raw_stream, shown

T = TypeVar("T")

_CAUSAL = 1  # FLASHFIT_CAUSAL
_SHAPES = {
    ("bshd", False): "[batch, seqlen, heads, head_dim]",
    ("bhsd", False): "[batch, heads, seqlen, head_dim]",
    ("bshd", True): "[total, heads, head_dim] with cu_seqlens",
    ("bhsd", True): "[heads, total, head_dim] with cu_seqlens",
}
#: By the type of q; filled as types are met. A handler takes attention()'s arguments in their order.
_handlers: dict[type, Callable[..., Any]] = {}


def scale_of(softmax_scale: Any) -> float:
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


def flags_of(causal: Any) -> int:
    """The C API's flags."""
    if causal is True:
        return _CAUSAL
    if causal is False:
        return 0
    raise InvalidType(f"causal: {shown(causal)}; accepted: True, False")


def heads_are_first(layout: Any) -> bool:
    """Whether heads come before tokens."""
    if isinstance(layout, str) and layout in ("bshd", "bhsd"):
        return layout == "bhsd"
    raise InvalidArgument(f'layout: {shown(layout)}; accepted: "bshd", "bhsd"')


def is_ragged(cu_seqlens_q: Any, cu_seqlens_k: Any) -> bool:
    """Whether sequences are of variable length."""
    ragged = cu_seqlens_q is not None
    if ragged != (cu_seqlens_k is not None):
        missing = "cu_seqlens_k" if ragged else "cu_seqlens_q"
        raise InvalidArgument(
            f"{missing}: None while the other is given; accepted: cu_seqlens_q and cu_seqlens_k, or neither"
        )
    return ragged


def lse_shape(q: tuple[int, ...], heads_first: bool) -> tuple[int, ...]:
    """The shape of lse: heads before tokens in any layout."""
    return q[:-1] if heads_first else (*q[:-3], q[-2], q[-3])


def check_ndim(ndim: int, layout: str, ragged: bool, name: str = "q") -> None:
    """Refuses a tensor of other dimensions than the layout has."""
    if ndim != (3 if ragged else 4):
        raise InvalidArgument(f"{name}: {ndim} dimensions; accepted: {3 if ragged else 4}, {_SHAPES[layout, ragged]}")


def attend_with_care(
    package: Package,
    q: Any,
    k: Any,
    v: Any,
    causal: Any,
    softmax_scale: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    layout: Any,
    return_lse: bool,
    out: Any,
    stream: Any,
    variant: Any,
) -> Any:
    """attention() of any package's arrays: each is read in Python, and what is odd is refused in words."""
    heads_first = heads_are_first(layout)
    if variant is not None and not isinstance(variant, str):
        raise InvalidType(f"variant: {type(variant).__name__}; accepted: a name from images(), or None")
    ragged = is_ragged(cu_seqlens_q, cu_seqlens_k)
    flags, scale = flags_of(causal), scale_of(softmax_scale)
    given = {"q": q, "k": k, "v": v, "out": out, "cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k}
    arrays = {name: x for name, x in given.items() if x is not None}
    queue = package.stream(q, arrays) if stream is None else raw_stream(stream)

    def read(name: str, x: Any) -> Memory:
        if not package.owns(x):
            raise InvalidType(f"{name}: {full_name(x)}; accepted: {package.kind}, as q")
        return package.read(name, x, queue)

    q_memory, k_memory, v_memory = read("q", q), read("k", k), read("v", v)
    check_ndim(len(q_memory.shape), layout, ragged)
    check_ndim(len(k_memory.shape), layout, ragged, "k")
    on_gpu = q_memory.device_type == CUDA
    if not on_gpu and (stream is not None or variant is not None):
        said = f"stream: {shown(stream)}" if stream is not None else f"variant: {shown(variant)}"
        raise InvalidArgument(f"{said} with tensors on the CPU; accepted there: None")
    rows = 1 if heads_first else 0
    with package.allocating_on(q, queue) if on_gpu and stream is not None else nullcontext():
        result = package.like(q) if out is None else out
        lse = package.lse(q, lse_shape(q_memory.shape, heads_first)) if return_lse else None
        cu_q = cu_k = None
        if ragged:
            cu_q = package.offsets("cu_seqlens_q", q, cu_seqlens_q, q_memory.shape[rows])
            cu_k = package.offsets("cu_seqlens_k", q, cu_seqlens_k, k_memory.shape[rows])
    out_memory = read("out", result)
    if out is not None:
        package.check_writable(out, out_memory)
    memories = (
        q_memory,
        k_memory,
        v_memory,
        out_memory,
        None if lse is None else read("lse", lse),
        None if cu_q is None else read("cu_seqlens_q", cu_q),
        None if cu_k is None else read("cu_seqlens_k", cu_k),
    )
    name = None if variant is None else variant.encode()
    status = binding().attend(*memories, flags, scale, queue, name, heads_first)
    if status:
        raise failure(status, heads_first)
    if on_gpu:
        package.written(q_memory.device_id, queue)
    return (result, lse) if return_lse else result


def _handler(q: Any) -> Callable[..., Any]:
    """What serves arrays of q's type from now on."""
    package = package_of(q)
    if package is TORCH:
        from . import _torch  # imports torch, which is there: q is one of its tensors

        _handlers[type(q)] = _torch.attention
    else:
        _handlers[type(q)] = partial(attend_with_care, package)
    return _handlers[type(q)]


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

    q, k, v: arrays of NumPy, torch, CuPy or JAX, or objects with __dlpack__ or __cuda_array_interface__, all alike:
        fp16, bf16 or, on the CPU, fp32; on the CPU or on one NVIDIA GPU; any strides with 1 in the last dimension.
        layout "bshd": q [batch, seqlen_q, heads_q, head_dim], k and v [batch, seqlen_k, heads_kv, head_dim]; "bhsd":
        heads before seqlen. heads_q is a multiple of heads_kv: query head h reads key head
        h // (heads_q / heads_kv).
    causal: query i sees key j iff j <= i + seqlen_k - seqlen_q. A query that sees no key gives 0, and -inf in lse.
    softmax_scale: above 0; None for 1 / sqrt(head_dim).
    cu_seqlens_q, cu_seqlens_k: both or neither. Sequences of any lengths, one after another: q [total_q, heads_q,
        head_dim] and so on ("bhsd": heads first); sequence b is rows cu_seqlens[b] to cu_seqlens[b + 1]. int32 arrays
        where q is, or lists or NumPy arrays, which are copied there (on a GPU that waits: give tensors inside a CUDA
        graph). No max_seqlen is asked for: each thread block finds its sequence by binary search.
    return_lse: also return the natural logarithm of each softmax's denominator, fp32 [batch, heads_q, seqlen_q], or
        [heads_q, total_q].
    out: where to write, of q's shape and dtype; None for a new array (a JAX array never changes: None). Objects that
        only have __dlpack__ or __cuda_array_interface__ need it, and return no lse: flashfit allocates no memory for
        them.
    stream: for GPU arrays: None for the current stream of torch or CuPy, or the one that __cuda_array_interface__
        names, else the legacy default stream; or a torch.cuda.Stream, an object with __cuda_stream__, or an integer
        handle. What is returned belongs to that stream; of JAX arrays it is complete. For CPU arrays: None.
    variant: a row of images() by name, for tests and tuning; None to let flashfit choose.

    torch.compile, torch.export, autocast and fake tensors go through torch.ops.flashfit (docs/pytorch.md).

    Returns out, or (out, lse). Raises InvalidArgument, InvalidType, Misfit, NoGpu, Disabled or CudaError, all
    FlashfitError, and then has written nothing.
    """
    if return_lse is not True and return_lse is not False:
        raise InvalidType(f"return_lse: {shown(return_lse)}; accepted: True, False")
    handler = _handlers.get(type(q)) or _handler(q)
    return handler(q, k, v, causal, softmax_scale, cu_seqlens_q, cu_seqlens_k, layout, return_lse, out, stream, variant)
