"""flashfit.attention of torch tensors: plain ones in eager mode go straight to the C API, all else
by torch.ops.flashfit.

Imported when the first torch tensor is met.
"""

from __future__ import annotations

from typing import Any

import torch

from ._attention import attend_with_care
from ._packages import TORCH
from ._torch_compute import compute
from .torch_ops import call

_Tensor = torch.Tensor
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
    """flashfit.attention() with its arguments in their order."""
    if _is_compiling() or not _is_plain(q, k, v):
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
