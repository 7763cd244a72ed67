"""What torch's tracers see in place of a call: results without values, after the checks that need none.

Sizes may be symbolic. Conditions on them go through torch._check, which turns them into guards.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

from ._attention import check_ndim, heads_are_first, is_ragged, lse_shape
from ._errors import InvalidArgument
from ._options import Asked
from ._route import MOST_CHOSEN, MOST_EXPERTS, flags_of, groups_of, scale_of

_HALVES = (torch.float16, torch.bfloat16)


def _require(condition: Any, words: Callable[[], str]) -> None:
    """Refuses unless the condition holds. One on symbolic sizes raises torch's RuntimeError with the same words."""
    if not isinstance(condition, bool):
        torch._check(condition, words)
    elif not condition:
        raise InvalidArgument(words())


def check_like_q(q: Any, tensors: dict[str, Any]) -> None:
    """Number of dimensions, device and dtype of the others."""
    for name, x in tensors.items():
        if x.dim() != q.dim():
            raise InvalidArgument(f"{name}: {x.dim()} dimensions; accepted: {q.dim()}, as q")
        if x.device != q.device:
            raise InvalidArgument(f"{name}: device is {x.device}; accepted: {q.device}, where q is")
        if x.dtype != q.dtype:
            raise InvalidArgument(f"{name}: dtype is {x.dtype}; accepted: {q.dtype}, as q")


def _check_offsets(q: Any, offsets: dict[str, Any]) -> None:
    for name, x in offsets.items():
        if x.dim() != 1:
            raise InvalidArgument(f"{name}: {x.dim()} dimensions; accepted: 1, [batch + 1]")
        if x.device != q.device:
            raise InvalidArgument(f"{name}: device is {x.device}; accepted: {q.device}, where q is")
        if x.dtype != torch.int32:
            raise InvalidArgument(f"{name}: dtype is {x.dtype}; accepted: torch.int32")
    lengths_q, lengths_k = (x.shape[0] for x in offsets.values())
    _require(lengths_q >= 1, lambda: f"cu_seqlens_q: {lengths_q} offsets; accepted: batch + 1")
    _require(
        lengths_k == lengths_q, lambda: f"cu_seqlens_k: {lengths_k} offsets; accepted: {lengths_q}, as cu_seqlens_q"
    )


def _check_sizes(q: Any, k: Any, v: Any, heads: int, ragged: bool) -> None:
    head_dim, heads_q, heads_k = q.shape[-1], q.shape[heads], k.shape[heads]
    _require(head_dim >= 1, lambda: f"q: shape is {tuple(q.shape)}; accepted: head_dim from 1")
    _require(k.shape[-1] == head_dim, lambda: f"k: shape is {tuple(k.shape)}; accepted: head_dim {head_dim}, as q")
    if not ragged:
        batch = q.shape[0]
        _require(k.shape[0] == batch, lambda: f"k: shape is {tuple(k.shape)}; accepted: batch {batch}, as q")
    none = heads_k == 0
    divides = heads_q == 0 if isinstance(none, bool) and none else heads_q % heads_k == 0
    _require(divides, lambda: f"k: {heads_k} heads; accepted: a divisor of q's {heads_q}")
    for mine, other in zip(v.shape[:-1], k.shape[:-1]):
        _require(
            mine == other, lambda: f"v: shape is {tuple(v.shape)}; accepted: {tuple(k.shape)}, as k, with any head_dim"
        )
    size = v.shape[-1]
    _require(size >= 1, lambda: f"v: shape is {tuple(v.shape)}; accepted: head_dim from 1")


def _check_options(q: Any, k: Any, asked: Asked, heads: int, cu_seqlens: Any) -> None:
    """Number of dimensions, device, dtype and sizes of the options that are tensors."""
    batch = q.shape[0] if cu_seqlens is None else cu_seqlens.shape[0] - 1
    of_heads = q.shape[heads]
    for name, x, dims, dtypes in (
        ("alibi_slopes", asked.alibi_slopes, (1, 2), (torch.float32,)),
        ("sinks", asked.sinks, (1,), (torch.float32,)),
        ("bias", asked.bias, range(5), (q.dtype, torch.float32, torch.bool)),
        ("seqused_k", asked.seqused_k, (1,), (torch.int32,)),
    ):
        if x is None:
            continue
        if x.dim() not in dims:
            raise InvalidArgument(f"{name}: {x.dim()} dimensions; accepted: {max(dims)} at most")
        if x.device != q.device:
            raise InvalidArgument(f"{name}: device is {x.device}; accepted: {q.device}, where q is")
        if x.dtype not in dtypes:
            accepted = ", ".join(dict.fromkeys(map(str, dtypes)))
            raise InvalidArgument(f"{name}: dtype is {x.dtype}; accepted: {accepted}")
        if name == "bias":
            tokens = -2 if heads == -3 else -3
            whole = (batch, of_heads, q.shape[tokens], k.shape[tokens])
            for mine, other in zip(reversed(x.shape), reversed(whole)):
                if not isinstance(mine, int) or mine != 1:
                    _require(mine == other, _shape_words(name, x, f"{tuple(whole)}, or 1 for any of them"))
        else:
            whole = (batch,) if name == "seqused_k" else (batch, of_heads)[-x.dim() :]
            for mine, other in zip(x.shape, whole):
                _require(mine == other, _shape_words(name, x, f"{tuple(whole)}"))
    if asked.bias is not None and cu_seqlens is not None:
        raise InvalidArgument("bias: given with cu_seqlens; accepted: none there")


def _shape_words(name: str, x: Any, accepted: str) -> Callable[[], str]:
    return lambda: f"{name}: shape is {tuple(x.shape)}; accepted: {accepted}"


def check_call(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    softmax_scale: Any,
    layout: str,
    asked: Asked | None = None,
) -> None:
    """Refuses what a call refuses without a look at memory."""
    ragged, heads = is_ragged(cu_seqlens_q, cu_seqlens_k), -3 if heads_are_first(layout) else -2
    check_ndim(q.dim(), layout, ragged)
    on_cpu = q.device.type in ("cpu", "meta")
    if q.dtype not in _HALVES and not (on_cpu and q.dtype == torch.float32):
        raise InvalidArgument(
            f"q: dtype is {q.dtype} on {q.device}; "
            "accepted: torch.float16, torch.bfloat16, on the CPU also torch.float32"
        )
    check_like_q(q, {"k": k, "v": v})
    _check_sizes(q, k, v, heads, ragged)
    if ragged:
        _check_offsets(q, {"cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k})
    if asked is not None:
        _check_options(q, k, asked, heads, cu_seqlens_q)
        if asked.softcap is not None:
            _require(
                asked.softcap >= 0, lambda: f"softcap: {asked.softcap}; accepted: above 0 and finite, or 0 for none"
            )
    if softmax_scale is not None:
        _require(
            softmax_scale > 0,
            lambda: f"softmax_scale: {softmax_scale}; accepted: above 0 and finite, or None for 1 / sqrt(head_dim)",
        )


def fake(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    causal: bool,
    softmax_scale: Any,
    layout: str,
    return_lse: bool,
    out: Any,
    asked: Asked | None = None,
) -> Any:
    """out, or (out, lse), of the shapes, dtypes, devices and strides that a call gives."""
    check_call(q, k, v, cu_seqlens_q, cu_seqlens_k, softmax_scale, layout, asked)
    if out is not None:
        check_like_q(q, {"out": out})
    size = v.shape[-1]
    if out is None:
        # The sizes of most graphs say whether they are the same; of others a guard does.
        out = torch.empty_like(q) if size == q.shape[-1] else q.new_empty((*q.shape[:-1], size))
    else:
        whole = (*q.shape[:-1], size)
        for mine, other in zip(out.shape, whole):
            _require(mine == other, lambda: f"out: shape is {tuple(out.shape)}; accepted: {tuple(whole)}, as q and v")
    if not return_lse:
        return out
    return out, q.new_empty(lse_shape(q.shape, heads_are_first(layout)), dtype=torch.float32)


def check_router(name: str, logits: Any, top_k: int, groups: tuple[int, int], router_bias: Any) -> None:
    """Refuses logits, the argument `name`, of experts that such a router does not choose from, and another bias."""
    experts, (count, kept) = logits.shape[1], groups
    for fits in (experts >= 1, experts <= MOST_EXPERTS):
        _require(fits, _shape_words(name, logits, f"1 to {MOST_EXPERTS} experts"))
    if not 1 <= top_k <= MOST_CHOSEN:
        raise InvalidArgument(f"top_k: {top_k}; accepted: 1 to {MOST_CHOSEN}")
    _require(top_k <= experts, lambda: f"top_k: {top_k}; accepted: 1 to {experts}")
    if count:
        _require(experts % count == 0, lambda: f"groups: {count}; accepted: a divisor of {experts}, the experts")
        most = experts // count * kept
        _require(
            top_k <= most, lambda: f"top_k: {top_k}; accepted: 1 to {most}, the experts of the groups that are kept"
        )
    if router_bias is not None:
        accepted = f"({experts},), a number for each expert"
        _require(router_bias.shape[0] == experts, _shape_words("router_bias", router_bias, accepted))


def fake_route(
    logits: Any,
    top_k: int,
    router: str,
    renormalize: bool,
    weights: Any = None,
    ids: Any = None,
    router_bias: Any = None,
    groups: Any = None,
    scale: float = 1.0,
) -> tuple[Any, Any]:
    """(weights, ids) of the shapes, dtypes and devices that a call gives."""
    flags_of(router, renormalize, router_bias, groups)
    scale_of(scale)
    if logits.dim() != 2:
        raise InvalidArgument(f"logits: {logits.dim()} dimensions; accepted: 2, [tokens, experts]")
    if logits.dtype not in (*_HALVES, torch.float32):
        raise InvalidArgument(
            f"logits: dtype is {logits.dtype}; accepted: torch.float16, torch.bfloat16, torch.float32"
        )
    if router_bias is not None:
        if router_bias.dim() != 1:
            raise InvalidArgument(f"router_bias: {router_bias.dim()} dimensions; accepted: 1, [experts]")
        if router_bias.device != logits.device:
            accepted = f"{logits.device}, where logits is"
            raise InvalidArgument(f"router_bias: device is {router_bias.device}; accepted: {accepted}")
        if router_bias.dtype != torch.float32:
            raise InvalidArgument(f"router_bias: dtype is {router_bias.dtype}; accepted: {torch.float32}")
    check_router("logits", logits, top_k, groups_of(groups), router_bias)
    tokens = logits.shape[0]
    results = []
    for name, x, dtype in (("weights", weights, torch.float32), ("ids", ids, torch.int32)):
        if x is None:
            results.append(logits.new_empty((tokens, top_k), dtype=dtype))
            continue
        if x.device != logits.device:
            raise InvalidArgument(f"{name}: device is {x.device}; accepted: {logits.device}, where logits is")
        if x.dtype != dtype:
            raise InvalidArgument(f"{name}: dtype is {x.dtype}; accepted: {dtype}")
        if x.dim() != 2:
            raise InvalidArgument(f"{name}: {x.dim()} dimensions; accepted: 2, [tokens, top_k]")
        for mine, other in zip(x.shape, (tokens, top_k)):
            _require(mine == other, _shape_words(name, x, f"({tokens}, {top_k}), [tokens, top_k]"))
        results.append(x)
    return results[0], results[1]
