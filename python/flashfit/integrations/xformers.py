"""xformers' memory_efficient_attention, however it was imported: the two functions under it, which read its arguments,
are taken. Each class of biases is served or named as left.

xformers' results go on to xformers where flashfit leaves a call, or where the caller names an `op`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from .._errors import CudaError, FlashfitError, OutOfMemory
from ._host import Host


class _Taken(NamedTuple):
    """A call in flashfit's terms, "bshd", and how its result becomes xformers'."""

    q: Any
    k: Any
    v: Any
    options: dict[str, Any]
    shape: tuple[int, ...]  # of the result


class _LeftError(Exception):
    """Why a call goes on to xformers."""


def _heads(inp: Any) -> tuple[Any, Any, Any]:
    """q, k, v as [batch, rows, heads, head_dim]: xformers also has [batch, rows, head_dim], and [batch, rows, groups,
    heads, head_dim] with keys that are expanded along the heads of a group."""
    q, k, v = inp.query, inp.key, inp.value
    if q.dim() == 3:
        return q[:, :, None], k[:, :, None], v[:, :, None]
    if q.dim() == 4:
        if k.shape[2] != q.shape[2]:
            raise _LeftError(f"key: {k.shape[2]} heads, query {q.shape[2]}, in four dimensions")
        return q, k, v
    if q.dim() != 5:
        raise _LeftError(f"query: {q.dim()} dimensions")
    shared = k.stride(3) == v.stride(3) == 0 or k.shape[3] == 1
    return q.flatten(2, 3), *(x[:, :, :, 0] if shared else x.flatten(2, 3) for x in (k, v))


def _from_the_first_key(rows: int, keys: int) -> dict[str, Any]:
    """A causal mask that begins at the first key: flashfit's ends with the last."""
    if rows == keys:
        return {"causal": True}
    if rows > keys:
        return {"window": (None, rows - keys)}
    raise _LeftError("LowerTriangularMask of more keys than queries")


def _same_lengths(bias: Any) -> None:
    if bias.q_seqinfo.seqstart_py != bias.k_seqinfo.seqstart_py:
        raise _LeftError(f"{type(bias).__name__} of sequences whose queries and keys differ in number")


def _of_sequences(bias: Any, options: dict[str, Any]) -> dict[str, Any]:
    return {**options, "cu_seqlens_q": bias.q_seqinfo.seqstart, "cu_seqlens_k": bias.k_seqinfo.seqstart}


def _padded(q: Any, k: Any, v: Any, bias: Any, causal: bool) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Keys of one capacity a sequence, of which each uses some; queries of one number a sequence."""
    starts, capacity = bias.q_seqinfo.seqstart_py, bias.k_seqinfo.padding
    batch = len(starts) - 1
    rows = starts[1] - starts[0] if batch else 0
    if any(last - first != rows for first, last in zip(starts, starts[1:])):
        raise _LeftError(f"{type(bias).__name__} of sequences whose queries differ in number")
    q, k, v = q.unflatten(1, (batch, rows))[0], *(x.unflatten(1, (batch, capacity))[0] for x in (k, v))
    return q, k, v, {"causal": causal, "seqused_k": bias.k_seqinfo.seqlen}


def _put_in() -> Callable[[], None]:
    import torch
    from xformers.ops import fmha
    from xformers.ops.fmha import attn_bias as kinds

    from .. import torch_ops  # noqa: F401 - registers the operators, before anything traces
    from .._operations import attention
    from ._torch_fit import misfit, misfit_of_gradients
    from ._torch_take import is_plain_type, noting, place_of, wants_gradients
    from ._torch_words import GRADIENTS

    log = noting(HOST.notes.note)

    def taken(inp: Any) -> _Taken:
        """Raises _LeftError."""
        q, k, v = _heads(inp)
        bias, (rows, keys) = inp.attn_bias, (q.shape[1], k.shape[1])
        kind, options = type(bias), {}
        if bias is None:
            pass
        elif isinstance(bias, torch.Tensor):
            if inp.query.dim() == 5:
                bias = bias.flatten(1, 2) if bias.dim() == 5 else bias
            options = {"bias": bias[:, None] if inp.query.dim() == 3 and bias.dim() == 3 else bias}
        elif kind is kinds.LowerTriangularMask:
            options = _from_the_first_key(rows, keys)
        elif kind is kinds.LowerTriangularMaskWithTensorBias:
            options = {**_from_the_first_key(rows, keys), "bias": bias._bias}
        elif kind is kinds.LowerTriangularFromBottomRightMask:
            options = {"causal": True}
        elif kind is kinds.LowerTriangularFromBottomRightLocalAttentionMask:
            options = {"causal": True, "window": (bias._window_size - 1, 0)}
        elif kind is kinds.LocalAttentionFromBottomRightMask:
            options = {"window": (bias.window_left, bias.window_right)}
        elif kind is kinds.BlockDiagonalMask:
            options = _of_sequences(bias, {})
        elif kind is kinds.BlockDiagonalCausalMask:
            _same_lengths(bias)
            options = _of_sequences(bias, {"causal": True})
        elif kind is kinds.BlockDiagonalCausalFromBottomRightMask:
            options = _of_sequences(bias, {"causal": True})
        elif kind is kinds.BlockDiagonalCausalLocalAttentionMask:
            _same_lengths(bias)
            options = _of_sequences(bias, {"causal": True, "window": (bias._window_size - 1, 0)})
        elif kind is kinds.BlockDiagonalCausalLocalAttentionFromBottomRightMask:
            options = _of_sequences(bias, {"causal": True, "window": (bias._window_size - 1, 0)})
        elif kind is kinds.BlockDiagonalPaddedKeysMask:
            q, k, v, options = _padded(q, k, v, bias, False)
        elif kind is kinds.BlockDiagonalCausalWithOffsetPaddedKeysMask:
            q, k, v, options = _padded(q, k, v, bias, True)
        else:
            raise _LeftError(f"attn_bias: {kind.__name__}")
        if "cu_seqlens_q" in options:
            if q.shape[0] != 1:
                raise _LeftError(f"{kind.__name__} of a batch of {q.shape[0]}")
            q, k, v = q[0], k[0], v[0]
        return _Taken(q, k, v, options, (*inp.query.shape[:-1], v.shape[-1]))

    def check(inp: Any, op: Any, call: _Taken) -> None:
        """Raises _LeftError."""
        q, k, v = call.q, call.k, call.v
        if op is not None:
            raise _LeftError("op: named by the caller")
        if inp.p:
            raise _LeftError(f"p: {inp.p:g}")
        if inp.output_dtype not in (None, q.dtype):
            raise _LeftError(f"output_dtype: {inp.output_dtype}")
        for x in (q, k, v):
            if not is_plain_type(type(x)) or x.dtype != q.dtype or x.device != q.device:
                raise _LeftError("query, key and value differ in dtype or device, or are of a subclass")
        bias = call.options.get("bias")
        if wants_gradients(bias):
            raise _LeftError("attn_bias: requires grad")
        reason = misfit(place_of(q), str(q.dtype), q.shape[-1], v.shape[-1])
        if not reason and wants_gradients(q, k, v):
            has_bias = bias is not None or (q.is_cuda and "seqused_k" in call.options)
            reason = misfit_of_gradients(place_of(q), q.shape[-1], v.shape[-1], 0.0, has_bias)
        if reason:
            raise _LeftError(reason)

    def take(inp: Any, op: Any) -> Any:
        device = inp.query.device.type
        # xformers' functions keep the dtype of their tensors.
        if device in ("cpu", "cuda") and torch.is_autocast_enabled(device):
            with torch.autocast(device, enabled=False):
                return take(inp, op)
        kind = "" if inp.attn_bias is None else type(inp.attn_bias).__name__
        try:
            call = taken(inp)
            check(inp, op, call)
            out = attention(call.q, call.k, call.v, softmax_scale=inp.scale, **call.options)
        except (CudaError, OutOfMemory):
            raise
        except (_LeftError, FlashfitError) as reason:
            log(inp.query, inp.key, 2 if inp.query.dim() > 3 else 1, False, None, "", str(reason))
            return NotImplemented
        gradients = GRADIENTS if wants_gradients(call.q, call.k, call.v) else ""
        log(call.q, call.k, -2, False, None, ", ".join(word for word in (kind, gradients) if word))
        return out.reshape(call.shape)

    of_both, of_forward = fmha._memory_efficient_attention, fmha._memory_efficient_attention_forward

    inside = threading.local()  # xformers' own function of both calls that of the forward

    def fit_attention(inp: Any, op: Any = None) -> Any:
        out = take(inp, op)
        if out is not NotImplemented:
            return out
        inside.left = True
        try:
            return of_both(inp, op)
        finally:
            inside.left = False

    def fit_forward(inp: Any, op: Any = None) -> Any:
        if getattr(inside, "left", False) or wants_gradients(inp.query, inp.key, inp.value):
            return of_forward(inp, op)
        out = take(inp, op)
        return of_forward(inp, op) if out is NotImplemented else out

    fmha._memory_efficient_attention, fmha._memory_efficient_attention_forward = fit_attention, fit_forward

    def take_out() -> None:
        if fmha._memory_efficient_attention is fit_attention:
            fmha._memory_efficient_attention = of_both
        if fmha._memory_efficient_attention_forward is fit_forward:
            fmha._memory_efficient_attention_forward = of_forward

    return take_out


HOST = Host("xformers", _put_in)
install, uninstall, installed, log = HOST.install, HOST.uninstall, HOST.installed, HOST.log
