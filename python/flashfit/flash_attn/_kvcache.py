"""Attention over a kv-cache that is written already: what decoding reads."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal, TypeVar, overload

from .._errors import InvalidArgument, InvalidType
from .._packages import TORCH
from .._tensors import shown
from ._call import attend
from ._options import refuse_unsupported

T = TypeVar("T")


def _lengths_of(q: Any, cache_seqlens: Any) -> Any:
    """One number for all sequences as a number for each."""
    if isinstance(cache_seqlens, (bool, float)):
        raise InvalidType(f"cache_seqlens: {cache_seqlens}; accepted: an integer, or int32 [batch]")
    if not isinstance(cache_seqlens, int):
        if not isinstance(cache_seqlens, Integral):
            return cache_seqlens
        cache_seqlens = int(cache_seqlens)  # NumPy's
    if not 0 <= cache_seqlens < 2**31:
        raise InvalidArgument(f"cache_seqlens: {shown(cache_seqlens)}; accepted: 0 to the keys of k_cache")
    if TORCH.owns(q):
        import torch

        return q.new_full(q.shape[:1], cache_seqlens, dtype=torch.int32)
    return [cache_seqlens] * q.shape[0]


def attend_cached(
    q: Any,
    k_cache: Any,
    v_cache: Any,
    k: Any,
    v: Any,
    rotary_cos: Any,
    rotary_sin: Any,
    cache_seqlens: Any,
    cache_batch_idx: Any,
    cache_leftpad: Any,
    block_table: Any,
    softmax_scale: float | None,
    causal: bool,
    window_size: Any,
    softcap: Any,
    alibi_slopes: Any,
    return_softmax_lse: Any,
    sinks: Any = None,
) -> Any:
    """What flash_attn_with_kvcache does; sinks: as in attend_dense()."""
    refuse_unsupported(
        {
            "k": k,
            "v": v,
            "rotary_cos": rotary_cos,
            "rotary_sin": rotary_sin,
            "cache_batch_idx": cache_batch_idx,
            "cache_leftpad": cache_leftpad,
            "block_table": block_table,
        }
    )
    if not hasattr(q, "shape") or len(q.shape) != 4:
        raise InvalidType(
            f"q: {shown(q)}; accepted: a NumPy array or a torch tensor, [batch, seqlen_q, heads_q, head_dim]"
        )
    return attend(
        q,
        k_cache,
        v_cache,
        {"k": "k_cache", "v": "v_cache", "seqused_k": "cache_seqlens"},
        softmax_scale=softmax_scale,
        causal=causal,
        window_size=window_size,
        softcap=softcap,
        alibi_slopes=alibi_slopes,
        sinks=sinks,
        return_lse=bool(return_softmax_lse),
        seqused_k=_lengths_of(q, cache_seqlens),
    )


@overload
def flash_attn_with_kvcache(
    q: T,
    k_cache: T,
    v_cache: T,
    k: Any = ...,
    v: Any = ...,
    rotary_cos: Any = ...,
    rotary_sin: Any = ...,
    cache_seqlens: Any = ...,
    cache_batch_idx: Any = ...,
    cache_leftpad: Any = ...,
    block_table: Any = ...,
    softmax_scale: float | None = ...,
    causal: bool = ...,
    window_size: tuple[int, int] = ...,
    softcap: float = ...,
    rotary_interleaved: bool = ...,
    alibi_slopes: Any = ...,
    num_splits: int = ...,
    return_softmax_lse: Literal[False] = ...,
) -> T: ...


@overload
def flash_attn_with_kvcache(
    q: T,
    k_cache: T,
    v_cache: T,
    k: Any = ...,
    v: Any = ...,
    rotary_cos: Any = ...,
    rotary_sin: Any = ...,
    cache_seqlens: Any = ...,
    cache_batch_idx: Any = ...,
    cache_leftpad: Any = ...,
    block_table: Any = ...,
    softmax_scale: float | None = ...,
    causal: bool = ...,
    window_size: tuple[int, int] = ...,
    softcap: float = ...,
    rotary_interleaved: bool = ...,
    alibi_slopes: Any = ...,
    num_splits: int = ...,
    *,
    return_softmax_lse: Literal[True],
) -> tuple[T, T]: ...


def flash_attn_with_kvcache(
    q: Any,
    k_cache: Any,
    v_cache: Any,
    k: Any = None,
    v: Any = None,
    rotary_cos: Any = None,
    rotary_sin: Any = None,
    cache_seqlens: Any = None,
    cache_batch_idx: Any = None,
    cache_leftpad: Any = None,
    block_table: Any = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    rotary_interleaved: bool = True,
    alibi_slopes: Any = None,
    num_splits: int = 0,
    return_softmax_lse: bool = False,
) -> Any:
    """flash_attn_func over the keys and values that a cache holds already: what FlashAttention-2's decoding reads.

    q: [batch, seqlen_q, heads_q, head_dim]; k_cache, v_cache: [batch, seqlen_cache, heads_kv, head_dim]: torch tensors
        or NumPy arrays, fp16 or bf16, on the CPU also fp32.
    cache_seqlens: how many keys of each sequence are there: int32 [batch], where q is, or an integer for all; None: the
        whole cache. Masks are aligned with their end: the last query is that of the last key.
    softmax_scale, causal, window_size, softcap, alibi_slopes: as in flash_attn_func.
    rotary_interleaved, num_splits: taken, and change nothing.
    k, v, rotary_cos, rotary_sin, cache_batch_idx, cache_leftpad, block_table: None alone is taken: appending to
        a cache, rotating, choosing and paging are not here yet.

    Returns out, like q; with return_softmax_lse=True (out, softmax_lse), softmax_lse fp32 [batch, heads_q, seqlen_q].
    Raises Unsupported for an option that flashfit does not compute, and what flashfit.attention raises.
    """
    appended = (k, v, rotary_cos, rotary_sin)
    cache = (cache_seqlens, cache_batch_idx, cache_leftpad, block_table)
    options = (softmax_scale, causal, window_size, softcap, alibi_slopes, return_softmax_lse)
    return attend_cached(q, k_cache, v_cache, *appended, *cache, *options)
