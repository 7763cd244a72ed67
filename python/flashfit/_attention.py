"""flashfit.attention: what it takes, and its call of arrays of any package."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

from ._binding import UNREADABLE, binding, failure
from ._calls import Call, handler_of
from ._errors import InvalidArgument, InvalidType
from ._options import Asked, flags_of, four_dimensions, numbers_of
from ._other_names import refuse
from ._packages import Package
from ._tensors import bytes_of, shown

T = TypeVar("T")

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
    asked: Asked | None = None,
) -> Any:
    """attention() of any package's arrays: each is read in Python, and what is odd is refused in words."""
    heads_first = heads_are_first(layout)
    ragged = is_ragged(cu_seqlens_q, cu_seqlens_k)
    flags, scale = flags_of(causal), scale_of(softmax_scale)
    more = asked or Asked()
    more_flags, left, right, softcap = numbers_of(more)
    given = {"q": q, "k": k, "v": v, "out": out, "cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k}
    given.update(alibi_slopes=more.alibi_slopes, sinks=more.sinks, bias=more.bias, seqused_k=more.seqused_k)
    makes_workspace = callable(more.workspace) and not package.owns(more.workspace)
    if not makes_workspace:
        given["workspace"] = more.workspace
    call = Call(package, "q", q, given, stream, variant)
    read, q_memory = call.read, call.memory

    def scratch_of(x: Any, of_caller: bool) -> tuple[int, int]:
        memory = call.read_result("workspace", x, of_caller)
        if (memory.device_type, memory.device_id) != (q_memory.device_type, q_memory.device_id):
            raise InvalidArgument(f"workspace: device is {memory.device}; accepted: {q_memory.device}, where q is")
        return memory.data, bytes_of("workspace", memory)

    k_memory, v_memory = read("k", k), read("v", v)
    check_ndim(len(q_memory.shape), layout, ragged)
    check_ndim(len(k_memory.shape), layout, ragged, "k")
    check_ndim(len(v_memory.shape), layout, ragged, "v")
    rows = 1 if heads_first else 0
    with call.allocating():
        result = out
        if out is None:
            call.expect_allocator("out: None", f"{package.kind}, as q")
            same = q_memory.shape[-1] == v_memory.shape[-1]
            result = package.like(q) if same else package.empty(q, (*q_memory.shape[:-1], v_memory.shape[-1]))
        lse = None
        if return_lse:
            call.expect_allocator("return_lse: True", f"False where q is {package.kind}")
            lse = package.empty(q, lse_shape(q_memory.shape, heads_first), "float32")
        cu_q = cu_k = None
        if ragged:
            cu_q = package.offsets("cu_seqlens_q", q, cu_seqlens_q, q_memory.shape[rows])
            cu_k = package.offsets("cu_seqlens_k", q, cu_seqlens_k, k_memory.shape[rows])
        slopes, sinks = (
            None if x is None else package.numbers(name, q, x)
            for name, x in (("alibi_slopes", more.alibi_slopes), ("sinks", more.sinks))
        )
        seqused = None if more.seqused_k is None else package.lengths("seqused_k", q, more.seqused_k)
    out_memory = call.read_result("out", result, out is not None)
    memories = (
        q_memory,
        k_memory,
        v_memory,
        out_memory,
        None if lse is None else read("lse", lse),
        None if cu_q is None else read("cu_seqlens_q", cu_q),
        None if cu_k is None else read("cu_seqlens_k", cu_k),
    )
    bias_memory = None if more.bias is None else read("bias", more.bias)
    plain = (*memories, flags | more_flags, scale, call.queue, call.variant, heads_first)
    options: tuple[Any, ...] = (
        left,
        right,
        softcap,
        None if slopes is None else read("alibi_slopes", slopes),
        None if sinks is None else read("sinks", sinks),
        None if bias_memory is None else four_dimensions(bias_memory),
        None if seqused is None else read("seqused_k", seqused),
    )
    space = None if more.workspace is None or makes_workspace else scratch_of(more.workspace, True)
    status = binding().attend(*plain, (*options, *(space or (0, 0))))
    if status < UNREADABLE and space is None:
        needed = UNREADABLE - status
        if makes_workspace:
            scratch = more.workspace(needed)
        else:
            with call.allocating():
                scratch = package.scratch(q, needed)
        space = scratch_of(scratch, makes_workspace)
        status = binding().attend(*plain, (*options, *space))
        # Now the memory may go: its package hands it on only to work that is queued behind this call's.
    if status < UNREADABLE and space:
        raise InvalidArgument(f"workspace: {space[1]} bytes; accepted: {UNREADABLE - status} or more")
    if status:
        raise failure(status, heads_first)
    call.queued()
    return (result, lse) if return_lse else result


def _handler(q: Any) -> Callable[..., Any]:
    """What serves arrays of q's type from now on."""
    found = _handlers[type(q)] = handler_of("q", q, attend_with_care, "attention")
    return found


@overload
def attention(
    q: T,
    k: T,
    v: T,
    *,
    causal: bool = ...,
    softmax_scale: float | None = ...,
    window: tuple[int | None, int | None] | None = ...,
    softcap: float | None = ...,
    alibi_slopes: Any = ...,
    sinks: Any = ...,
    bias: Any = ...,
    cu_seqlens_q: Any = ...,
    cu_seqlens_k: Any = ...,
    seqused_k: Any = ...,
    batch_invariant: bool = ...,
    workspace: Any = ...,
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
    window: tuple[int | None, int | None] | None = ...,
    softcap: float | None = ...,
    alibi_slopes: Any = ...,
    sinks: Any = ...,
    bias: Any = ...,
    cu_seqlens_q: Any = ...,
    cu_seqlens_k: Any = ...,
    seqused_k: Any = ...,
    batch_invariant: bool = ...,
    workspace: Any = ...,
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
    window: tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    alibi_slopes: Any = None,
    sinks: Any = None,
    bias: Any = None,
    cu_seqlens_q: Any = None,
    cu_seqlens_k: Any = None,
    seqused_k: Any = None,
    batch_invariant: bool = False,
    workspace: Any = None,
    layout: Literal["bshd", "bhsd"] = "bshd",
    return_lse: bool = False,
    out: Any = None,
    stream: Any = None,
    variant: str | None = None,
    **others: Any,
) -> Any:
    """softmax(score(q k^T)) v over the keys that each query sees.

    The score of query i and key j is s = softmax_scale * q_i k_j; with softcap then s = softcap * tanh(s / softcap);
    with alibi_slopes then s -= slope * |i + seqlen_k - seqlen_q - j|; with bias then s += bias[i, j]. A query that sees
    no key gives 0, and -inf in lse.

    q, k, v: arrays of NumPy, torch, CuPy or JAX, or objects with __dlpack__ or __cuda_array_interface__, all alike:
        fp16, bf16 or, on the CPU, fp32; on the CPU or on one NVIDIA GPU; any strides with 1 in the last dimension.
        layout "bshd": q [batch, seqlen_q, heads_q, head_dim], k [batch, seqlen_k, heads_kv, head_dim], v [batch,
        seqlen_k, heads_kv, head_dim_v]; "bhsd": heads before seqlen. heads_q is a multiple of heads_kv: query head h
        reads key head h // (heads_q / heads_kv).
    causal: query i sees key j iff j <= i + seqlen_k - seqlen_q: aligned at the bottom right.
    softmax_scale: above 0; None for 1 / sqrt(head_dim).
    window: (left, right), in keys: query i sees keys i + seqlen_k - seqlen_q - left to i + seqlen_k - seqlen_q + right,
        both included; None or -1 on a side: no limit there. With causal, right counts as 0.
    softcap: above 0, in units of scores; None or 0 for none.
    alibi_slopes: fp32 [heads_q] or [batch, heads_q], contiguous, where q is; or lists or NumPy arrays, copied there.
    sinks: fp32 [heads_q] alike: a logit of each head that no value belongs to. It adds exp(sink) to the sum of each
        softmax, and so to lse.
    bias: [batch, heads_q, seqlen_q, seqlen_k] in any layout, where q is, any strides; each size may be 1, and leading
        dimensions left out, as broadcasting has it. q's dtype or fp32: added to the scores; -inf hides a key. bool:
        True where the key is seen. Not with cu_seqlens.
    cu_seqlens_q, cu_seqlens_k: both or neither. Sequences of any lengths, one after another: q [total_q, heads_q,
        head_dim] and so on ("bhsd": heads first); sequence b is rows cu_seqlens[b] to cu_seqlens[b + 1]. int32 arrays
        where q is, or lists or NumPy arrays, which are copied there (on a GPU that waits: give tensors inside a CUDA
        graph). No max_seqlen is asked for: each thread block finds its sequence by binary search.
    seqused_k: int32 [batch], where q is, or a list or NumPy array: only the first so many keys of each sequence are
        there, and masks are aligned with their end.
    batch_invariant: the bits of a sequence's result do not depend on the batch around it.
    return_lse: also return the natural logarithm of each softmax's denominator, fp32 [batch, heads_q, seqlen_q], or
        [heads_q, total_q].
    out: where to write, of q's shape but for head_dim_v, and q's dtype; None for a new array (a JAX array never
        changes: None). Objects that only have __dlpack__ or __cuda_array_interface__ need it, and return no lse:
        flashfit allocates no memory for them.
    stream: for GPU arrays: None for the current stream of torch or CuPy, or the one that __cuda_array_interface__
        names, else the legacy default stream; or a torch.cuda.Stream, an object with __cuda_stream__, or an integer
        handle. What is returned belongs to that stream; of JAX arrays it is complete. For CPU arrays: None.
    workspace: where few query rows leave a GPU empty, as in decoding, the keys are cut into parts, whose results lie in
        this memory until they are combined. None: q's package allocates it, as it does out. An array of that package,
        contiguous, of any dtype; or a function that is called with the bytes, where the call needs any, and returns
        one: what has only __dlpack__ or __cuda_array_interface__ needs this. It is the caller's to keep until the
        stream has passed the call. In compiled code: None.
    variant: a row of images() by name, for tests and tuning; None to let flashfit choose.
    others: no argument has another name; those of other libraries (is_causal, attn_mask) are answered with ours.

    torch.compile, torch.export, autocast and fake tensors go through torch.ops.flashfit (docs/pytorch.md).

    Returns out, or (out, lse). Raises InvalidArgument, InvalidType, Misfit, NoGpu, Disabled or CudaError, all
    FlashfitError, and then has written nothing.
    """
    if others:
        refuse(others)
    if return_lse is not True and return_lse is not False:
        raise InvalidType(f"return_lse: {shown(return_lse)}; accepted: True, False")
    handler = _handlers.get(type(q)) or _handler(q)
    if (
        window is None
        and softcap is None
        and alibi_slopes is None
        and sinks is None
        and bias is None
        and seqused_k is None
        and workspace is None
        and batch_invariant is False
    ):
        return handler(
            q, k, v, causal, softmax_scale, cu_seqlens_q, cu_seqlens_k, layout, return_lse, out, stream, variant
        )
    asked = Asked(window, softcap, alibi_slopes, sinks, bias, seqused_k, batch_invariant, workspace)
    return handler(
        q, k, v, causal, softmax_scale, cu_seqlens_q, cu_seqlens_k, layout, return_lse, out, stream, variant, asked
    )
