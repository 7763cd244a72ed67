"""Attention over a kv-cache: not here yet."""

from __future__ import annotations

from typing import Any

from .._errors import Unsupported


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
    """FlashAttention-2's decoding over a kv-cache, of which flashfit has the signature alone.

    q: [batch, seqlen_q, heads_q, head_dim], fp16 or bf16; k_cache, v_cache: [batch, seqlen_cache, heads_kv, head_dim].
    Raises Unsupported, whatever is given, so that programs that import it load and say what they miss.
    """
    raise Unsupported(
        "k_cache: a kv-cache is not in flashfit yet; accepted: whole keys and values, "
        "through flash_attn_func or flash_attn_varlen_func"
    )
