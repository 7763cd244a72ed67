"""The way from FlashAttention-2's arguments to flashfit.attention, and from its result to theirs."""

from __future__ import annotations

import re
from typing import Any

from .._errors import FlashfitError, InvalidArgument, InvalidType
from .._operations import attention
from .._packages import TORCH
from .._tensors import shown

#: Where a message compares an argument with another.
_OTHER = re.compile(r", as (\w+)")


def _unit_stride(x: Any) -> Any:
    """x, copied where its last dimension is strided, as FlashAttention-2 does."""
    try:
        return x if x.stride(-1) == 1 else x.contiguous()
    except (AttributeError, TypeError, IndexError, RuntimeError):
        return x  # no strided tensor: flashfit.attention says what it is


def _window(window_size: Any) -> tuple[Any, Any] | None:
    """(left, right), or None for no limit: FlashAttention-2 takes whatever has two integers, a tensor of them too, as
    its own tests do."""
    try:
        left, right = window_size
        return None if left == -1 and right == -1 else (left, right)
    except (TypeError, ValueError, RuntimeError):  # the last two by what compares as several numbers, or as none
        raise InvalidType(f"window_size: {shown(window_size)}; accepted: (left, right), -1 for no limit") from None


def _wants_gradients(*tensors: Any) -> bool:
    import torch

    return torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in tensors)


def _with_deterministic_backward(*tensors: Any, **options: Any) -> Any:
    from ..torch_ops import call

    return call(*tensors, **options, deterministic=True)


def _no_probabilities(q: Any) -> Any:
    """S_dmask: FlashAttention-2 returns no elements without dropout."""
    return q.new_empty((0,)) if TORCH.owns(q) else q[:0].reshape(0)


def attend(
    q: Any,
    k: Any,
    v: Any,
    names: dict[str, str],
    *,
    softmax_scale: float | None,
    causal: bool,
    window_size: Any,
    softcap: Any,
    alibi_slopes: Any,
    return_lse: bool,
    sinks: Any = None,
    cu_seqlens_q: Any = None,
    cu_seqlens_k: Any = None,
    seqused_k: Any = None,
    deterministic: Any = False,
) -> Any:
    """out, or (out, softmax_lse). `names` has what the caller calls flashfit.attention's arguments; sinks is s_aux, as
    code that has it beside flash-attn calls it."""
    window = _window(window_size)
    call: Any = attention
    if TORCH.owns(q):
        try:
            as_they_are = q.stride(-1) == 1 and k.stride(-1) == 1 and v.stride(-1) == 1
        except (AttributeError, TypeError, IndexError, RuntimeError):
            as_they_are = False
        if not as_they_are:
            q, k, v = _unit_stride(q), _unit_stride(k), _unit_stride(v)
        if deterministic and _wants_gradients(q, k, v):
            call = _with_deterministic_backward
    try:
        result: Any = call(
            q,
            k,
            v,
            causal=causal,
            softmax_scale=softmax_scale,
            # What asks for nothing is left out, so that plain calls are as quick here.
            window=window,
            softcap=None if type(softcap) is float and softcap == 0 else softcap,
            alibi_slopes=alibi_slopes,
            sinks=sinks,
            cu_seqlens_q=cu_seqlens_q,
            cu_seqlens_k=cu_seqlens_k,
            seqused_k=seqused_k,
            return_lse=return_lse,
        )
    except FlashfitError as error:
        name, colon, words = str(error).partition(": ")
        named = {"window": "window_size", "sinks": "s_aux", **names}.get(name, name)
        words = _OTHER.sub(lambda found: ", as " + names.get(found[1], found[1]), words)
        said = named + colon + words
        if said == str(error):
            raise
        raise type(error)(said) from None
    return result


def with_probabilities(q: Any, result: Any, return_attn_probs: Any) -> Any:
    """out, or (out, softmax_lse, S_dmask)."""
    return (*result, _no_probabilities(q)) if return_attn_probs else result


def unpack(name: str, packed: Any, parts: int, dim: int, accepted: str) -> tuple[Any, ...]:
    """The slices of a packed tensor along `dim`: views, never copies. `accepted` is its shape in words."""
    shape = getattr(packed, "shape", None)
    if not isinstance(shape, tuple):
        raise InvalidType(f"{name}: {shown(packed)}; accepted: a NumPy array or a torch tensor, {accepted}")
    if len(shape) != dim + 3:
        raise InvalidArgument(f"{name}: {len(shape)} dimensions; accepted: {dim + 3}, {accepted}")
    if shape[dim] != parts:
        raise InvalidArgument(f"{name}: shape is {tuple(shape)}; accepted: {accepted}")
    if TORCH.owns(packed):
        return tuple(packed.unbind(dim))
    before = (slice(None),) * dim
    return tuple([packed[(*before, part)] for part in range(parts)])
