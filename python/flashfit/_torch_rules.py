"""What torch's dispatcher does to the operators above their kernels: gradients, autocast, vmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad, graph

from ._errors import InvalidArgument
from ._options import TENSORS

_Keys, _Key = torch._C.DispatchKeySet, torch._C.DispatchKey
_KERNEL_KEYS = (_Key.CPU, _Key.CUDA)
_AUTOCAST = _Keys(_Key.AutocastCPU) | _Keys(_Key.AutocastCUDA)
_AFTER_AUTOGRAD = torch._C._after_autograd_keyset
#: A key set as something that hashes quickly; torch 2.4 offers its text alone.
_identity: Callable[[Any], Any] = getattr(_Keys, "raw_repr", repr)
_HALVES = (torch.float16, torch.bfloat16)
_is_grad_enabled = torch.is_grad_enabled


def _refuse_gradient(name: str, x: Any) -> None:
    if x.requires_grad and _is_grad_enabled():
        raise InvalidArgument(
            f"{name}: requires grad, and flashfit has no backward yet; "
            "accepted: tensors without, or a call under torch.no_grad()"
        )
    if forward_ad._current_level >= 0 and forward_ad.unpack_dual(x).tangent is not None:
        raise InvalidArgument(
            f"{name}: has a tangent, and flashfit has no forward-mode derivative; accepted: tensors without"
        )


def guard_gradients(op: Any, kernel: Any, has_out: bool) -> Any:
    """The autograd kernel: refuses what would need a derivative, for a result without history would be wrong silently.

    A second trip through the dispatcher would double the cost of a call, so where the CPU's or CUDA's kernel is all
    that is left below autograd, it is called directly. A backward will take the place of the refusal.
    """
    nothing_between = set()
    names = (*(["out"] if has_out else []), "cu_seqlens_q", "cu_seqlens_k", *TENSORS)

    def guarded(keys: Any, q: Any, k: Any, v: Any, *rest: Any, **options: Any) -> Any:
        out = rest[0] if has_out else None
        if forward_ad._current_level >= 0 or (
            _is_grad_enabled()
            and (
                q.requires_grad
                or k.requires_grad
                or v.requires_grad
                or (rest and any(x is not None and x.requires_grad for x in rest))
            )
        ):
            others = zip(names, rest)
            for name, x in (("q", q), ("k", k), ("v", v), *others):
                if x is not None:
                    _refuse_gradient(name, x)
        if out is not None and not out.is_inference():
            graph.increment_version(out)  # so that a backward that saved it notices
        if _identity(keys) in nothing_between:
            return kernel(q, k, v, *rest, **options)
        below = keys & _AFTER_AUTOGRAD
        if below.highestPriorityTypeId() in _KERNEL_KEYS:
            nothing_between.add(_identity(keys))
        return op.redispatch(below, q, k, v, *rest, **options)

    return guarded


def autocast(op: Any, device: str, has_out: bool) -> Any:
    """The autocast kernel: q, k and v in the autocast dtype, as F.scaled_dot_product_attention takes them, and a bias
    of the other 16-bit type."""
    of_bias = 5 if has_out else 4

    def cast(x: Any, dtype: Any) -> Any:
        eligible = x.is_floating_point() and x.dtype is not torch.float64 and x.device.type == device
        return x.to(dtype) if eligible else x

    def autocasting(q: Any, k: Any, v: Any, *rest: Any, **options: Any) -> Any:
        dtype = torch.get_autocast_dtype(device)
        with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST):
            if len(rest) > of_bias and rest[of_bias] is not None and rest[of_bias].dtype in _HALVES:
                rest = (*rest[:of_bias], cast(rest[of_bias], dtype), *rest[of_bias + 1 :])
            return op(cast(q, dtype), cast(k, dtype), cast(v, dtype), *rest, **options)

    return autocasting


def batch(op: Any) -> Any:
    """The vmap rule: a mapped dimension becomes part of the batch; of variable lengths, and with options that are
    tensors, each is a call."""

    def fold(x: Any, dim: int | None, count: int) -> Any:
        x = x.expand(count, *x.shape) if dim is None else x.movedim(dim, 0)
        return x.flatten(0, 1)

    def unfold(x: Any, count: int) -> Any:
        return x.unflatten(0, (count, x.shape[0] // count))

    def batched(info: Any, in_dims: tuple[int | None, ...], *tensors: Any, **options: Any) -> tuple[Any, Any]:
        count, mapped = info.batch_size, list(zip(tensors, in_dims))
        if all(x is None for x in tensors[3:]):
            found = op(*(fold(x, dim, count) for x, dim in mapped[:3]), **options)
            if isinstance(found, tuple):
                return tuple(unfold(x, count) for x in found), (0, 0)
            return unfold(found, count), 0
        calls = [op(*(x if dim is None else x.select(dim, i) for x, dim in mapped), **options) for i in range(count)]
        if isinstance(calls[0], tuple):
            return tuple(torch.stack(each) for each in zip(*calls)), (0, 0)
        return torch.stack(calls), 0

    return batched
