"""FlashAttention-2's functions with a named parameter for sinks, which hosts look for by `inspect.signature`."""

from __future__ import annotations

from typing import Any

from .._errors import InvalidType
from .._tensors import shown
from ..flash_attn import (
    flash_attn_kvpacked_func,
    flash_attn_qkvpacked_func,
    flash_attn_varlen_kvpacked_func,
    flash_attn_varlen_qkvpacked_func,
)
from ..flash_attn._call import attend, with_probabilities
from ..flash_attn._kvcache import lengths_of
from ..flash_attn._options import check_cu_seqlens, check_max_seqlen, refuse_unsupported

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
    refuse_unsupported({"dropout_p": dropout_p})
    result = attend(
        q,
        k,
        v,
        {"sinks": "s_aux"},
        softmax_scale=softmax_scale,
        causal=causal,
        window_size=window_size,
        softcap=softcap,
        alibi_slopes=alibi_slopes,
        sinks=_sinks(s_aux),
        deterministic=deterministic,
        return_lse=bool(return_attn_probs),
    )
    return with_probabilities(q, result, return_attn_probs)


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
    refuse_unsupported({"dropout_p": dropout_p, "block_table": block_table})
    check_cu_seqlens("cu_seqlens_q", cu_seqlens_q)
    check_cu_seqlens("cu_seqlens_k", cu_seqlens_k)
    check_max_seqlen("max_seqlen_q", max_seqlen_q)
    check_max_seqlen("max_seqlen_k", max_seqlen_k)
    result = attend(
        q,
        k,
        v,
        {"sinks": "s_aux"},
        softmax_scale=softmax_scale,
        causal=causal,
        window_size=window_size,
        softcap=softcap,
        alibi_slopes=alibi_slopes,
        sinks=_sinks(s_aux),
        deterministic=deterministic,
        return_lse=bool(return_attn_probs),
        cu_seqlens_q=cu_seqlens_q,
        cu_seqlens_k=cu_seqlens_k,
    )
    return with_probabilities(q, result, return_attn_probs)


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
        raise InvalidType(f"q: {shown(q)}; accepted: a torch tensor, [batch, seqlen_q, heads_q, head_dim]")
    return attend(
        q,
        k_cache,
        v_cache,
        {"k": "k_cache", "v": "v_cache", "seqused_k": "cache_seqlens", "sinks": "s_aux"},
        softmax_scale=softmax_scale,
        causal=causal,
        window_size=window_size,
        softcap=softcap,
        alibi_slopes=alibi_slopes,
        sinks=_sinks(s_aux),
        return_lse=bool(return_softmax_lse),
        seqused_k=lengths_of(q, cache_seqlens),
    )
