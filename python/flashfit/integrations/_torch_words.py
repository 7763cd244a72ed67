"""A call on torch tensors in the words of the log, the same for calls that are alike."""

from __future__ import annotations

from typing import Any

import torch

from .._tensors import shown

_DTYPES = {torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32", torch.float64: "fp64"}
#: What a call's line says that needs gradients: whose backward gives them.
GRADIENTS = "gradients by PyTorch's flash attention"
#: By what the words depend on: making them costs more than a small call.
_made: dict[tuple[Any, ...], str] = {}


def in_words(dtype: Any) -> str:
    """ "fp16", "int64"."""
    return _DTYPES.get(dtype, str(dtype).replace("torch.", ""))


def _number(size: Any) -> Any:
    return size if type(size) is int else "?"  # symbolic sizes stay symbolic


def dtype_of_call(x: Any) -> Any:
    """The dtype in which a call on this tensor is computed: autocast's where it casts, else the tensor's own."""
    kind = x.device.type
    if kind not in ("cpu", "cuda") or not torch.is_autocast_enabled(kind):
        return x.dtype
    casts = x.is_floating_point() and x.dtype is not torch.float64
    return torch.get_autocast_dtype(kind) if casts else x.dtype


def words(q: Any, k: Any, heads: int, causal: Any, mask: Any, more: str = "") -> str:
    """ "fp16 on cpu, 8/2 heads of 64, causal, bool mask". heads: the dimension that they are in."""
    if not isinstance(q, torch.Tensor) or not isinstance(k, torch.Tensor) or q.dim() < 3 or k.dim() < 3:
        return f"q {shown(q)}, k {shown(k)}"
    sizes = tuple(_number(n) for n in (q.shape[heads], k.shape[heads], q.shape[-1]))
    of_mask = None if mask is None else getattr(mask, "dtype", type(mask))
    dtype = dtype_of_call(q)
    key = (dtype, q.device.type, sizes, causal, of_mask, more)
    found = _made.get(key)
    if found is None:
        of_q, of_k, head_dim = sizes
        count = f"{of_q}" if of_q == of_k else f"{of_q}/{of_k}"
        parts = [
            f"{in_words(dtype)} on {q.device.type}",
            f"{count} heads of {head_dim}",
            *(["causal"] if causal else []),
            *([] if of_mask is None else [f"{in_words(of_mask)} mask"]),
            *([more] if more else []),
        ]
        found = _made[key] = ", ".join(parts)
    return found
