"""FlashAttention-2's functions for batches of sequences of one length."""

from __future__ import annotations

from typing import Any, Literal, TypeVar, overload

from ._call import attend, unpack, with_probabilities
from ._options import refuse_unsupported

T = TypeVar("T")


def attend_dense(
    q: Any,
    k: Any,
    v: Any,
    names: dict[str, str],
    dropout_p: Any,
    softmax_scale: float | None,
    causal: bool,
    window_size: Any,
    softcap: Any,
    alibi_slopes: Any,
    deterministic: Any,
    return_attn_probs: Any,
    sinks: Any = None,
) -> Any:
    """What flash_attn_func and its packed forms do. names: of q, k and v, where a caller calls them otherwise; sinks:
    fp32, [heads_q]: one more logit in each softmax, of a key without a value."""
    if type(dropout_p) is not float or dropout_p:  # quicker than asking in general
        refuse_unsupported({"dropout_p": dropout_p})
    result = attend(
        q,
        k,
        v,
        names,
        softmax_scale=softmax_scale,
        causal=causal,
        window_size=window_size,
        softcap=softcap,
        alibi_slopes=alibi_slopes,
        sinks=sinks,
        deterministic=deterministic,
        return_lse=bool(return_attn_probs),
    )
    return with_probabilities(q, result, return_attn_probs)


@overload
def flash_attn_func(
    q: T,
    k: T,
    v: T,
    dropout_p: float = ...,
    softmax_scale: float | None = ...,
    causal: bool = ...,
    window_size: tuple[int, int] = ...,
    softcap: float = ...,
    alibi_slopes: Any = ...,
    deterministic: bool = ...,
    return_attn_probs: Literal[False] = ...,
) -> T: ...


@overload
def flash_attn_func(
    q: T,
    k: T,
    v: T,
    dropout_p: float = ...,
    softmax_scale: float | None = ...,
    causal: bool = ...,
    window_size: tuple[int, int] = ...,
    softcap: float = ...,
    alibi_slopes: Any = ...,
    deterministic: bool = ...,
    *,
    return_attn_probs: Literal[True],
) -> tuple[T, T, T]: ...


def flash_attn_func(
    q: Any,
    k: Any,
    v: Any,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Any:
    """softmax(softmax_scale * q k^T) v over the keys that each query sees.

    q: [batch, seqlen_q, heads_q, head_dim]; k, v: [batch, seqlen_k, heads_kv, head_dim]: torch tensors or NumPy arrays,
        fp16 or bf16, on the CPU also fp32; heads_q a multiple of heads_kv.
    softmax_scale: above 0; None for 1 / sqrt(head_dim).
    causal: query i sees key j iff j <= i + seqlen_k - seqlen_q: aligned at the bottom right. A query that sees no key
        gives 0, and -inf in softmax_lse.
    deterministic: gradients have the same bits in every run, as every result has whatever is given.
    window_size: (left, right), in keys: query i sees keys i + seqlen_k - seqlen_q - left to i + seqlen_k - seqlen_q +
        right, both included; -1 for no limit on that side. With causal, right counts as 0.
    softcap: above 0: scores become softcap * tanh(score / softcap); 0.0 for none.
    alibi_slopes: fp32, [heads_q] or [batch, heads_q]: -slope * |i + seqlen_k - seqlen_q - j| is added to each score.
    dropout_p: 0.0 alone is taken.

    Returns out, [batch, seqlen_q, heads_q, head_dim] of q's dtype; with return_attn_probs=True (out, softmax_lse,
    S_dmask): softmax_lse fp32 [batch, heads_q, seqlen_q], the natural logarithm of each softmax's denominator; S_dmask
    with no elements, as without dropout. Raises Unsupported for an option that flashfit does not compute, and what
    flashfit.attention raises.
    """
    options = (dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs)
    return attend_dense(q, k, v, {}, *options)


@overload
def flash_attn_kvpacked_func(
    q: T,
    kv: T,
    dropout_p: float = ...,
    softmax_scale: float | None = ...,
    causal: bool = ...,
    window_size: tuple[int, int] = ...,
    softcap: float = ...,
    alibi_slopes: Any = ...,
    deterministic: bool = ...,
    return_attn_probs: Literal[False] = ...,
) -> T: ...


@overload
def flash_attn_kvpacked_func(
    q: T,
    kv: T,
    dropout_p: float = ...,
    softmax_scale: float | None = ...,
    causal: bool = ...,
    window_size: tuple[int, int] = ...,
    softcap: float = ...,
    alibi_slopes: Any = ...,
    deterministic: bool = ...,
    *,
    return_attn_probs: Literal[True],
) -> tuple[T, T, T]: ...


def flash_attn_kvpacked_func(
    q: Any,
    kv: Any,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Any:
    """flash_attn_func with keys and values in one tensor, of which they are views.

    q: [batch, seqlen_q, heads_q, head_dim]; kv: [batch, seqlen_k, 2, heads_kv, head_dim], keys first; dtypes, the other
    parameters, results and errors are those of flash_attn_func.
    """
    k, v = unpack("kv", kv, 2, 2, "[batch, seqlen_k, 2, heads_kv, head_dim]")
    names = {"k": "kv[:, :, 0]", "v": "kv[:, :, 1]"}
    options = (dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs)
    return attend_dense(q, k, v, names, *options)


@overload
def flash_attn_qkvpacked_func(
    qkv: T,
    dropout_p: float = ...,
    softmax_scale: float | None = ...,
    causal: bool = ...,
    window_size: tuple[int, int] = ...,
    softcap: float = ...,
    alibi_slopes: Any = ...,
    deterministic: bool = ...,
    return_attn_probs: Literal[False] = ...,
) -> T: ...


@overload
def flash_attn_qkvpacked_func(
    qkv: T,
    dropout_p: float = ...,
    softmax_scale: float | None = ...,
    causal: bool = ...,
    window_size: tuple[int, int] = ...,
    softcap: float = ...,
    alibi_slopes: Any = ...,
    deterministic: bool = ...,
    *,
    return_attn_probs: Literal[True],
) -> tuple[T, T, T]: ...


def flash_attn_qkvpacked_func(
    qkv: Any,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Any:
    """flash_attn_func with queries, keys and values in one tensor, of which they are views.

    qkv: [batch, seqlen, 3, heads, head_dim], queries first, then keys; dtypes, the other parameters, results and errors
    are those of flash_attn_func.
    """
    q, k, v = unpack("qkv", qkv, 3, 2, "[batch, seqlen, 3, heads, head_dim]")
    names = {"q": "qkv[:, :, 0]", "k": "qkv[:, :, 1]", "v": "qkv[:, :, 2]"}
    options = (dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs)
    return attend_dense(q, k, v, names, *options)
