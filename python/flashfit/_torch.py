"""torch's quick way: plain tensors in eager mode go straight to the C API, all else through torch.ops.flashfit.

Imported when the first torch tensor is met.
"""

from __future__ import annotations

import os
from typing import Any

import torch

from ._attention import attend_with_care, check_ndim, flags_of, heads_are_first, is_ragged, lse_shape, scale_of
from ._binding import UNREADABLE, binding, failure
from ._errors import Disabled
from ._packages import TORCH
from ._packages.torch_tensors import module_reader

_binding = binding()
if _binding.native:
    _binding.native.connect_torch(*module_reader())
_attend = _binding.attend

_Tensor, _empty_like, _float32 = torch.Tensor, torch.empty_like, torch.float32
_is_compiling = torch.compiler.is_dynamo_compiling
_is_grad_enabled = torch.is_grad_enabled
_dispatch_modes = torch._C._len_torch_dispatch_stack
_transform = torch._C._functorch.peek_interpreter_stack
_tracing = torch._C._get_tracing_state
_autocasting = torch._C._is_any_autocast_enabled


def _is_plain(q: Any, k: Any, v: Any) -> bool:
    """Whether the tensors are torch's own and nothing watches or changes calls: no mode, transform, trace, autocast,
    gradient or lazily negated view."""
    return (
        type(q) is _Tensor
        and type(k) is _Tensor
        and type(v) is _Tensor
        and not (_is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad))
        and not _dispatch_modes()
        and _transform() is None
        and _tracing() is None
        and not _autocasting()
        and not (q.is_neg() or k.is_neg() or v.is_neg())
    )


def attention(
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
) -> Any:
    """flashfit.attention() of torch tensors."""
    if _is_compiling() or not _is_plain(q, k, v):
        from .torch_ops import call

        return call(
            q,
            k,
            v,
            causal=causal,
            softmax_scale=softmax_scale,
            cu_seqlens_q=cu_seqlens_q,
            cu_seqlens_k=cu_seqlens_k,
            layout=layout,
            return_lse=return_lse,
            out=out,
            stream=stream,
            variant=variant,
        )
    if stream is not None or variant is not None:
        return attend_with_care(
            TORCH, q, k, v, causal, softmax_scale, cu_seqlens_q, cu_seqlens_k, layout, return_lse, out, stream, variant
        )
    return compute(q, k, v, cu_seqlens_q, cu_seqlens_k, causal, softmax_scale, layout, return_lse, out)


def compute(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    causal: Any,
    softmax_scale: Any,
    layout: Any,
    return_lse: bool,
    out: Any,
) -> Any:
    """The call itself on torch's current stream; what torch.ops.flashfit runs too. Never goes back to torch.ops."""
    heads_first = heads_are_first(layout)
    flags, scale = flags_of(causal), scale_of(softmax_scale)
    lse = None
    if return_lse:
        check_ndim(q.dim(), layout, is_ragged(cu_seqlens_q, cu_seqlens_k))
        lse = q.new_empty(lse_shape(q.shape, heads_first), dtype=_float32)
    result = _empty_like(q) if out is None else out
    status = _attend(q, k, v, result, lse, cu_seqlens_q, cu_seqlens_k, flags, scale, None, None, heads_first)
    if status == 0:
        return (result, lse) if return_lse else result
    if status in (UNREADABLE, 1):  # the careful way has the words
        return attend_with_care(
            TORCH, q, k, v, causal, softmax_scale, cu_seqlens_q, cu_seqlens_k, layout, return_lse, out, None, None
        )
    error = failure(status, heads_first)
    if isinstance(error, Disabled) and q.is_cuda and os.environ.get("FLASHFIT_DISABLE") == "gpu":
        return _on_cpu(q, k, v, cu_seqlens_q, cu_seqlens_k, (causal, softmax_scale, layout, return_lse), out)
    raise error


def _on_cpu(q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, options: tuple[Any, ...], out: Any) -> Any:
    """compute() of GPU tensors on the CPU, copied there and back: what FLASHFIT_DISABLE=gpu asks for."""
    q_here, k_here, v_here, cu_q, cu_k = (x if x is None else x.cpu() for x in (q, k, v, cu_seqlens_q, cu_seqlens_k))
    causal, softmax_scale, layout, return_lse = options
    answer = compute(q_here, k_here, v_here, cu_q, cu_k, causal, softmax_scale, layout, return_lse, None)
    result, lse = answer if return_lse else (answer, None)
    result = (_empty_like(q) if out is None else out).copy_(result)
    return result if lse is None else (result, lse.to(q.device))
