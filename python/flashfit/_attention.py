"""flashfit.attention: what it takes, and its call of arrays of any package. _operations has the function itself."""

from __future__ import annotations

import struct
from typing import Any, TypeVar

from ._binding import binding, failure
from ._calls import Call
from ._errors import InvalidArgument
from ._options import Asked, flags_of, four_dimensions, numbers_of
from ._packages import Package
from ._tensors import number_of, shown

T = TypeVar("T")

_SHAPES = {
    ("bshd", False): "[batch, seqlen, heads, head_dim]",
    ("bhsd", False): "[batch, heads, seqlen, head_dim]",
    ("bshd", True): "[total, heads, head_dim] with cu_seqlens",
    ("bhsd", True): "[heads, total, head_dim] with cu_seqlens",
}


def scale_of(softmax_scale: Any) -> float:
    """What the C API takes: 0 for the default, which a caller here names None."""
    if softmax_scale is None:
        return 0.0
    scale: float = softmax_scale
    if type(scale) is not float:
        scale = number_of("softmax_scale", softmax_scale, "a number above 0, or None for 1 / sqrt(head_dim)")
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
    return tuple(q[:-1]) if heads_first else (*q[:-3], q[-2], q[-3])


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
    call = Call(package, "q", q, given, stream, variant, more.workspace)
    read, q_memory = call.read, call.memory
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
    status = binding().attend(*plain, (*options, *call.workspace()))
    if status:
        raise failure(status, heads_first)
    call.queued()
    return (result, lse) if return_lse else result
