"""FlashAttention-2's functions with a named parameter for sinks, which hosts look for by `inspect.signature`."""

from __future__ import annotations

from typing import Any

from ..flash_attn import (
    flash_attn_kvpacked_func,
    flash_attn_qkvpacked_func,
    flash_attn_varlen_kvpacked_func,
    flash_attn_varlen_qkvpacked_func,
)
from ..flash_attn._dense import attend_dense
from ..flash_attn._kvcache import attend_cached
from ..flash_attn._varlen import attend_varlen

__all__ = [
    "flash_attn_func",
    "flash_attn_kvpacked_func",
    "flash_attn_qkvpacked_func",
    "flash_attn_varlen_func",
    "flash_attn_varlen_kvpacked_func",
    "flash_attn_varlen_qkvpacked_func",
    "flash_attn_with_kvcache",
]


def _sinks(s_aux: Any) -> Any:
    """fp32 logits of each head; hosts keep them in the model's dtype."""
    if s_aux is None or not hasattr(s_aux, "float"):
        return s_aux
    return s_aux.float()


def flash_attn_func(
    q: Any,
    k: Any,
    v: Any,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: Any = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    s_aux: Any = None,
) -> Any:
    """flashfit.flash_attn.flash_attn_func; s_aux: a sink of each query head, [heads_q], or None."""
    options = (dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs)
    return attend_dense(q, k, v, {}, *options, _sinks(s_aux))


def flash_attn_varlen_func(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: Any,
    max_seqlen_k: Any,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: Any = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    block_table: Any = None,
    s_aux: Any = None,
) -> Any:
    """flashfit.flash_attn.flash_attn_varlen_func; s_aux: a sink of each query head, [heads_q], or None."""
    sizes = (cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    options = (dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs)
    return attend_varlen(q, k, v, {}, *sizes, *options, block_table, _sinks(s_aux))


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
    window_size: Any = (-1, -1),
    softcap: float = 0.0,
    rotary_interleaved: bool = True,
    alibi_slopes: Any = None,
    num_splits: int = 0,
    return_softmax_lse: bool = False,
    s_aux: Any = None,
) -> Any:
    """flashfit.flash_attn.flash_attn_with_kvcache; s_aux: a sink of each query head, [heads_q], or None."""
    appended = (k, v, rotary_cos, rotary_sin)
    cache = (cache_seqlens, cache_batch_idx, cache_leftpad, block_table)
    options = (softmax_scale, causal, window_size, softcap, alibi_slopes, return_softmax_lse)
    return attend_cached(q, k_cache, v_cache, *appended, *cache, *options, _sinks(s_aux))
