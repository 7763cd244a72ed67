"""A call on torch tensors with memory of their own, on torch's current stream: eager and in torch.ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ._attention import attend_with_care, check_ndim, heads_are_first, is_ragged, lse_shape, scale_of
from ._binding import UNREADABLE, binding, failure
from ._options import Asked, flags_of, numbers_of
from ._packages import TORCH
from ._packages.torch_tensors import module_connection
from ._torch_calls import is_for_the_cpu

_binding = binding()
if _binding.native:
    _binding.native.connect_torch(*module_connection())
_attend = _binding.attend
_native: Any = _binding.native
_new_out: Any = _binding.native.new_out if _binding.native else lambda *_: NotImplemented
_empty_like, _float32 = torch.empty_like, torch.float32
_INVALID_ARGUMENT = 1  # FLASHFIT_INVALID_ARGUMENT


def all_plain(tensors: Sequence[Any]) -> bool:
    """Whether these are plain torch tensors, or None, in plain eager mode, and none needs a gradient."""
    # is_plain() takes eight at once.
    return _native is not None and all(_native.is_plain(*tensors[i : i + 8]) for i in range(0, len(tensors), 8))


def new_out(q: Any, v: Any) -> Any:
    """Memory for a result: as q lies, or row-major where v's head_dim is another."""
    found = _new_out(q, v)
    if found is not NotImplemented:
        return found
    try:
        size = v.shape[-1]
        if size != q.shape[-1]:
            return q.new_empty((*q.shape[:-1], size))
    except (AttributeError, IndexError, RuntimeError):  # no plain tensors: refused later, in words
        pass
    return _empty_like(q)


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
    asked: Asked | None = None,
) -> Any:
    """The call, unaware of modes and transforms: plain eager code and the operators' kernels come here."""
    heads_first = heads_are_first(layout)
    flags, scale = flags_of(causal), scale_of(softmax_scale)
    lse = None
    if return_lse and not q.is_nested:  # a nested tensor has no shape
        check_ndim(q.dim(), layout, is_ragged(cu_seqlens_q, cu_seqlens_k))
        lse = q.new_empty(lse_shape(q.shape, heads_first), dtype=_float32)
    result = new_out(q, v) if out is None else out
    if asked is None:
        status = _attend(q, k, v, result, lse, cu_seqlens_q, cu_seqlens_k, flags, scale, None, None, heads_first)
    else:
        more, left, right, softcap = numbers_of(asked)
        slopes, sinks, bias, seqused_k = asked.tensors()
        if bias is not None and bias.dim() < 4 and bias.layout is torch.strided:
            bias = bias[(None,) * (4 - bias.dim())]
        options = (left, right, softcap, slopes, sinks, bias, seqused_k, 0, 0, None)
        plain = (q, k, v, result, lse, cu_seqlens_q, cu_seqlens_k, flags | more, scale, None, None, heads_first)
        status = _attend(*plain, options)
    if status == 0:
        return (result, lse) if return_lse else result
    if status in (UNREADABLE, _INVALID_ARGUMENT):  # the careful way has the words
        return attend_with_care(
            *(TORCH, q, k, v, causal, softmax_scale, cu_seqlens_q, cu_seqlens_k, layout, return_lse, out),
            *(None, None, asked),
        )
    error = failure(status, heads_first)
    if is_for_the_cpu(error, q):
        return _on_cpu(q, k, v, cu_seqlens_q, cu_seqlens_k, (causal, softmax_scale, layout, return_lse), out, asked)
    raise error


def _on_cpu(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    options: tuple[Any, ...],
    out: Any,
    asked: Asked | None,
) -> Any:
    """compute() of GPU tensors on the CPU, copied there and back: what FLASHFIT_DISABLE=gpu asks for."""
    q_here, k_here, v_here, cu_q, cu_k = (x if x is None else x.cpu() for x in (q, k, v, cu_seqlens_q, cu_seqlens_k))
    causal, softmax_scale, layout, return_lse = options
    if asked is not None:
        asked = Asked(*(x.cpu() if isinstance(x, torch.Tensor) else x for x in asked))
    answer = compute(q_here, k_here, v_here, cu_q, cu_k, causal, softmax_scale, layout, return_lse, None, asked)
    result, lse = answer if return_lse else (answer, None)
    result = (new_out(q, v) if out is None else out).copy_(result)
    return result if lse is None else (result, lse.to(q.device))
