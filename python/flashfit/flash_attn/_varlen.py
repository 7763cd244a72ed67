"""FlashAttention-2's functions for batches of sequences of any lengths, one after another."""

from __future__ import annotations

from typing import Any, Literal, TypeVar, overload

from ._call import attend, unpack, with_probabilities
from ._options import check_cu_seqlens, check_max_seqlen, refuse_unsupported

T = TypeVar("T")


def attend_varlen(
    q: Any,
    k: Any,
    v: Any,
    names: dict[str, str],
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: Any,
    max_seqlen_k: Any,
    dropout_p: Any,
    softmax_scale: float | None,
    causal: bool,
    window_size: Any,
    softcap: Any,
    alibi_slopes: Any,
    deterministic: Any,
    return_attn_probs: Any,
    block_table: Any = None,
    sinks: Any = None,
) -> Any:
    """What flash_attn_varlen_func and its packed forms do. names: of the arguments from q to max_seqlen_k, where a
    caller calls them otherwise; sinks: as in attend_dense()."""
    refuse_unsupported({"dropout_p": dropout_p, "block_table": block_table})
    for name, value in (("cu_seqlens_q", cu_seqlens_q), ("cu_seqlens_k", cu_seqlens_k)):
        check_cu_seqlens(names.get(name, name), value)
    for name, value in (("max_seqlen_q", max_seqlen_q), ("max_seqlen_k", max_seqlen_k)):
        check_max_seqlen(names.get(name, name), value)
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
        cu_seqlens_q=cu_seqlens_q,
        cu_seqlens_k=cu_seqlens_k,
    )
    return with_probabilities(q, result, return_attn_probs)


@overload
def flash_attn_varlen_func(
    q: T,
    k: T,
    v: T,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: Any,
    max_seqlen_k: Any,
    dropout_p: float = ...,
    softmax_scale: float | None = ...,
    causal: bool = ...,
    window_size: tuple[int, int] = ...,
    softcap: float = ...,
    alibi_slopes: Any = ...,
    deterministic: bool = ...,
    return_attn_probs: Literal[False] = ...,
    block_table: Any = ...,
) -> T: ...


@overload
def flash_attn_varlen_func(
    q: T,
    k: T,
    v: T,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: Any,
    max_seqlen_k: Any,
    dropout_p: float = ...,
    softmax_scale: float | None = ...,
    causal: bool = ...,
    window_size: tuple[int, int] = ...,
    softcap: float = ...,
    alibi_slopes: Any = ...,
    deterministic: bool = ...,
    *,
    return_attn_probs: Literal[True],
    block_table: Any = ...,
) -> tuple[T, T, T]: ...


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
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    block_table: Any = None,
) -> Any:
    """flash_attn_func over sequences of any lengths: sequence b is rows cu_seqlens[b] to cu_seqlens[b + 1].

    q: [total_q, heads_q, head_dim]; k, v: [total_k, heads_kv, head_dim]: torch tensors or NumPy arrays, fp16 or bf16,
        on the CPU also fp32; heads_q a multiple of heads_kv.
    cu_seqlens_q, cu_seqlens_k: [batch + 1], int32 tensors where q is, or lists or NumPy arrays, which are copied there;
        they start with 0, never fall and end with total_q and total_k.
    max_seqlen_q, max_seqlen_k: integers, or tensors of one; not needed and never read from a GPU.
    softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic: as in flash_attn_func.
    dropout_p, block_table: only their defaults are taken.

    Returns out, [total_q, heads_q, head_dim] of q's dtype; with return_attn_probs=True (out, softmax_lse, S_dmask):
    softmax_lse fp32 [heads_q, total_q], S_dmask with no elements. Raises as flash_attn_func does.
    """
    sizes = (cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    options = (dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs)
    return attend_varlen(q, k, v, {}, *sizes, *options, block_table)


@overload
def flash_attn_varlen_kvpacked_func(
    q: T,
    kv: T,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: Any,
    max_seqlen_k: Any,
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
def flash_attn_varlen_kvpacked_func(
    q: T,
    kv: T,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: Any,
    max_seqlen_k: Any,
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


def flash_attn_varlen_kvpacked_func(
    q: Any,
    kv: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: Any,
    max_seqlen_k: Any,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Any:
    """flash_attn_varlen_func with keys and values in one tensor, of which they are views.

    q: [total_q, heads_q, head_dim]; kv: [total_k, 2, heads_kv, head_dim], keys first; dtypes, the other parameters,
    results and errors are those of flash_attn_varlen_func.
    """
    k, v = unpack("kv", kv, 2, 1, "[total_k, 2, heads_kv, head_dim]")
    names = {"k": "kv[:, 0]", "v": "kv[:, 1]"}
    sizes = (cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    options = (dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs)
    return attend_varlen(q, k, v, names, *sizes, *options)


@overload
def flash_attn_varlen_qkvpacked_func(
    qkv: T,
    cu_seqlens: Any,
    max_seqlen: Any,
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
def flash_attn_varlen_qkvpacked_func(
    qkv: T,
    cu_seqlens: Any,
    max_seqlen: Any,
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


def flash_attn_varlen_qkvpacked_func(
    qkv: Any,
    cu_seqlens: Any,
    max_seqlen: Any,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Any:
    """flash_attn_varlen_func with queries, keys and values in one tensor, of which they are views.

    qkv: [total, 3, heads, head_dim], queries first, then keys; cu_seqlens: [batch + 1], int32; max_seqlen: an integer,
    not needed; dtypes, the other parameters, results and errors are those of flash_attn_varlen_func.
    """
    q, k, v = unpack("qkv", qkv, 3, 1, "[total, 3, heads, head_dim]")
    names = {
        "q": "qkv[:, 0]",
        "k": "qkv[:, 1]",
        "v": "qkv[:, 2]",
        "cu_seqlens_q": "cu_seqlens",
        "cu_seqlens_k": "cu_seqlens",
        "max_seqlen_q": "max_seqlen",
        "max_seqlen_k": "max_seqlen",
    }
    sizes = (cu_seqlens, cu_seqlens, max_seqlen, max_seqlen)
    options = (dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs)
    return attend_varlen(q, k, v, names, *sizes, *options)
