"""The functions of flash-attn 2.8's compiled module, flash_attn_2_cuda, by position as that module takes them, and
those of its flash_attn_interface that hosts import although their names are private.

Shapes and dtypes are those of flash_attn_func and its like. The forwards return what flash-attn returns: rng_state has
the state of a dropout that there is not. The backwards refuse: gradients are those of the public functions.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .._errors import Unsupported
from .functions import flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache


def _with_state(q: Any, result: Any, out: Any) -> list[Any]:
    """[out, softmax_lse, S_dmask, rng_state]."""
    import torch

    found, lse, probabilities = result
    if out is not None:
        found = out.copy_(found)
    return [found, lse, probabilities, torch.zeros(2, dtype=torch.int64, device=q.device)]


def _refuse(name: str, given: Any, accepted: str = "None") -> None:
    if given is not None:
        raise Unsupported(f"{name}: given, and flashfit's stand-in for flash-attn has none; accepted: {accepted}")


def fwd(
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    alibi_slopes: Any,
    dropout_p: float,
    softmax_scale: float,
    causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    return_softmax: bool,
    generator: Any = None,
) -> list[Any]:
    """Sequences of one length: [out, softmax_lse, S_dmask, rng_state]; out: where to write, or None."""
    options = (dropout_p, softmax_scale, causal, (window_size_left, window_size_right), softcap, alibi_slopes)
    return _with_state(q, flash_attn_func(q, k, v, *options, return_attn_probs=True), out)


def varlen_fwd(
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    seqused_k: Any,
    leftpad_k: Any,
    block_table: Any,
    alibi_slopes: Any,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float,
    softmax_scale: float,
    zero_tensors: bool,
    causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    return_softmax: bool,
    generator: Any = None,
) -> list[Any]:
    """Sequences of any lengths: [out, softmax_lse, S_dmask, rng_state]; out: where to write, or None."""
    _refuse("seqused_k", seqused_k)
    _refuse("leftpad_k", leftpad_k)
    result = flash_attn_varlen_func(
        q,
        k,
        v,
        cu_seqlens_q,
        cu_seqlens_k,
        max_seqlen_q,
        max_seqlen_k,
        dropout_p,
        softmax_scale,
        causal,
        (window_size_left, window_size_right),
        softcap,
        alibi_slopes,
        return_attn_probs=True,
        block_table=block_table,
    )
    return _with_state(q, result, out)


def fwd_kvcache(
    q: Any,
    k_cache: Any,
    v_cache: Any,
    k: Any,
    v: Any,
    cache_seqlens: Any,
    rotary_cos: Any,
    rotary_sin: Any,
    cache_batch_idx: Any,
    cache_leftpad: Any,
    block_table: Any,
    alibi_slopes: Any,
    out: Any,
    softmax_scale: float,
    causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    rotary_interleaved: bool,
    num_splits: int,
) -> list[Any]:
    """A cache that is written already: [out, softmax_lse]; out: where to write, or None."""
    found, lse = flash_attn_with_kvcache(
        q,
        k_cache,
        v_cache,
        k,
        v,
        rotary_cos,
        rotary_sin,
        cache_seqlens,
        cache_batch_idx,
        cache_leftpad,
        block_table,
        softmax_scale,
        causal,
        (window_size_left, window_size_right),
        softcap,
        rotary_interleaved,
        alibi_slopes,
        num_splits,
        return_softmax_lse=True,
    )
    return [found if out is None else out.copy_(found), lse]


def bwd(*_: Any, **__: Any) -> NoReturn:
    """Refuses, whatever is given."""
    raise Unsupported(
        "bwd: flashfit's stand-in for flash-attn has no backward by this name; accepted: the gradients of "
        "flash_attn_func and flash_attn_varlen_func, by autograd"
    )


varlen_bwd = bwd


def _wrapped_flash_attn_forward(
    q: Any,
    k: Any,
    v: Any,
    dropout_p: float,
    softmax_scale: float,
    causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    alibi_slopes: Any,
    return_softmax: bool,
) -> tuple[Any, Any, Any, Any]:
    """(out, softmax_lse, S_dmask, rng_state), without gradients."""
    window = (window_size_left, window_size_right)
    out, lse, mask, state = fwd(
        q, k, v, None, alibi_slopes, dropout_p, softmax_scale, causal, *window, softcap, return_softmax
    )
    return out, lse, mask, state


def _wrapped_flash_attn_varlen_forward(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float,
    softmax_scale: float,
    causal: bool,
    window_size_left: int = -1,
    window_size_right: int = -1,
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    return_softmax: bool = False,
    block_table: Any = None,
    leftpad_k: Any = None,
    seqused_k: Any = None,
    zero_tensors: bool = False,
) -> tuple[Any, Any, Any, Any]:
    """(out, softmax_lse, S_dmask, rng_state), without gradients."""
    before = (None, cu_seqlens_q, cu_seqlens_k, seqused_k, leftpad_k, block_table, alibi_slopes)
    sizes = (max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale, zero_tensors, causal)
    out, lse, mask, state = varlen_fwd(
        q, k, v, *before, *sizes, window_size_left, window_size_right, softcap, return_softmax
    )
    return out, lse, mask, state


_flash_attn_forward = _wrapped_flash_attn_forward
_flash_attn_varlen_forward = _wrapped_flash_attn_varlen_forward
_wrapped_flash_attn_backward = _wrapped_flash_attn_varlen_backward = bwd
_flash_attn_backward = _flash_attn_varlen_backward = bwd
