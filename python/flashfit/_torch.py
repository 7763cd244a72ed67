"""flashfit's operations on torch tensors: plain ones in eager mode go straight to the C API, all else by
torch.ops.flashfit.

Imported when the first torch tensor is met.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import torch

from ._attention import attend_with_care
from ._binding import binding
from ._errors import InvalidArgument
from ._moe import Asked as AskedLayer
from ._moe import shared_of
from ._options import Asked
from ._packages import TORCH
from ._route import route_with_care
from ._torch_attention import NOTHING_ASKED, call_in_graph, known_node
from ._torch_compute import all_plain, compute
from ._torch_moe import compute_moe, moe_by_operators
from ._torch_route import compute_route
from .torch_ops import call
from .torch_ops import moe_route as route_by_operators

_native: Any = binding().native
is_compiling = torch.compiler.is_dynamo_compiling
_is_grad_enabled = torch.is_grad_enabled
_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter)


def _change_counter() -> Callable[[tuple[Any]], None]:
    """What counts a change of a tensor, so that a backward that saved it notices. The function that
    torch.autograd.graph shows does the same and costs as much as a tensor's reading."""
    count = torch._C._increment_version
    try:
        count(())
    except (RuntimeError, TypeError):  # older releases take one tensor, and none of inference mode

        def count_one(tensors: tuple[Any]) -> None:
            if not tensors[0].is_inference():
                count(tensors[0])

        return count_one
    counter: Callable[[tuple[Any]], None] = count
    return counter


_count_change = _change_counter()


def _has_memory(x: Any) -> bool:
    """Of a torch tensor: whether it has elements in memory. A meta tensor's results are the operators' to make, and
    they refuse other layouts in words."""
    return x.layout is torch.strided and not x.is_meta


def _is_plain(q: Any, k: Any, v: Any, out: Any, asked: Asked | None) -> bool:
    tensors = (q, k, v, out) if asked is None else (q, k, v, out, *asked.tensors())
    return bool(_native.is_plain(*tensors)) and _has_memory(q)


def _is_plain_but_for_gradients(q: Any, k: Any, v: Any, cu_q: Any, cu_k: Any, asked: Asked | None) -> bool:
    tensors = (q, k, v, cu_q, cu_k, *(asked.tensors() if asked else ()))
    if not _native.is_plain_but_for_gradients(*tensors):
        return False
    return all(_has_memory(x) and not x.is_nested for x in (q, k, v))


def _resolved(router_bias: Any) -> Any:
    """A router's bias, whose memory has the values: the checks of the other tensors do not look at it. Without
    gradients, too: models keep it as a parameter, but it only chooses."""
    if not isinstance(router_bias, torch.Tensor):
        return router_bias
    return router_bias.detach().resolve_neg()


def _refuse_gradients(given: dict[str, Any]) -> None:
    """A stream, a variant and a workspace bypass the operators, and so autograd."""
    for name, x in given.items():
        if isinstance(x, torch.Tensor) and x.requires_grad and torch.is_grad_enabled():
            raise InvalidArgument(
                f"{name}: requires grad in a call with stream, variant or workspace; accepted: None of them, or a call "
                "under torch.no_grad()"
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
    asked: Asked | None = None,
) -> Any:
    """flashfit.attention() with its arguments in their order."""
    if not is_compiling():
        if stream is not None or variant is not None or (asked is not None and asked.workspace is not None):
            _refuse_gradients({"q": q, "k": k, "v": v, "out": out, **(asked._asdict() if asked else {})})
            arguments = (q, k, v, causal, softmax_scale, cu_seqlens_q, cu_seqlens_k, layout, return_lse, out)
            return attend_with_care(TORCH, *arguments, stream, variant, asked)
        if (
            q.requires_grad  # where k or v alone does, all below is asked, too
            and _native
            and asked is None
            and out is None
            and not return_lse
            and cu_seqlens_q is None
            and cu_seqlens_k is None
            and type(q) in _PLAIN_TYPES
            and type(k) in _PLAIN_TYPES
            and type(v) in _PLAIN_TYPES
            and _is_grad_enabled()
        ):
            node = known_node(q, k, v, causal, layout)
            if node is not None:
                return node(q, k, v, softmax_scale)
        found = NotImplemented
        if _native and softmax_scale is None and not return_lse and asked is None:
            found = _native.attend_plain(q, k, v, cu_seqlens_q, cu_seqlens_k, out, causal, layout)
        if found is NotImplemented and _native and _is_plain(q, k, v, out, asked):
            found = compute(q, k, v, cu_seqlens_q, cu_seqlens_k, causal, softmax_scale, layout, return_lse, out, asked)
        if found is not NotImplemented:
            if out is not None:
                _count_change((out,))
            return found
        if out is None and _native and _is_plain_but_for_gradients(q, k, v, cu_seqlens_q, cu_seqlens_k, asked):
            return call_in_graph(
                *(q, k, v, cu_seqlens_q, cu_seqlens_k, causal, softmax_scale, layout, return_lse),
                NOTHING_ASKED if asked is None else asked,
            )
    more = NOTHING_ASKED if asked is None else asked
    if more.workspace is not None:
        raise InvalidArgument("workspace: given in compiled code; accepted there: None")
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
        window=more.window,
        softcap=more.softcap,
        alibi_slopes=more.alibi_slopes,
        sinks=more.sinks,
        bias=more.bias,
        seqused_k=more.seqused_k,
        batch_invariant=more.batch_invariant,
    )


def answer_first(function: Callable[..., Any]) -> None:
    """Lets the compiled module answer plain calls of this function, flashfit.attention, before Python makes a frame for
    it and one for attention(). Only from CPython 3.12 on, with its lock; once."""
    set_vectorcall = getattr(ctypes.pythonapi, "PyFunction_SetVectorcall", None)
    if not _native or set_vectorcall is None or "t" in getattr(sys, "abiflags", ""):
        return
    functions = (set_vectorcall, ctypes.pythonapi.PyVectorcall_Function)
    _native.answer_first(function, *(ctypes.cast(each, ctypes.c_void_p).value for each in functions), _count_change)


def moe_route(
    logits: Any,
    top_k: Any,
    router: Any,
    renormalize: Any,
    weights: Any,
    ids: Any,
    stream: Any,
    variant: Any,
    router_bias: Any = None,
    groups: Any = None,
    scale: Any = 1.0,
) -> tuple[Any, Any]:
    """flashfit.moe_route() with its arguments in their order."""
    if not is_compiling():
        router_bias = _resolved(router_bias)
        if stream is not None or variant is not None:
            given = (
                TORCH,
                logits,
                top_k,
                router,
                renormalize,
                weights,
                ids,
                stream,
                variant,
                router_bias,
                groups,
                scale,
            )
            return route_with_care(*given)
        if _native and _native.is_plain(logits, weights, ids) and _has_memory(logits):
            found = compute_route(logits, top_k, router, renormalize, weights, ids, router_bias, groups, scale)
            for given in (weights, ids):
                if given is not None:
                    _count_change((given,))
            return found
    return route_by_operators(
        logits,
        top_k,
        router=router,
        renormalize=renormalize,
        router_bias=router_bias,
        groups=groups,
        scale=scale,
        weights=weights,
        ids=ids,
        stream=stream,
        variant=variant,
    )


def moe(x: Any, w13: Any, w2: Any, asked: AskedLayer, out: Any, workspace: Any) -> Any:
    """flashfit.fused_moe() and flashfit.grouped_mlp()."""
    if isinstance(asked.router_bias, torch.Tensor):
        bias = asked.router_bias
        asked = asked._replace(router_bias=bias.detach() if is_compiling() else _resolved(bias))
    if not is_compiling():
        given = [x, w13, w2, out, asked.router_logits, asked.topk_weights, asked.topk_ids, asked.b13, asked.b2]
        given += shared_of(asked.shared)
        given = [each for each in given if each is not None]
        odd = not all(isinstance(each, torch.Tensor) for each in given)
        if odd or workspace is not None or (all_plain(given) and _has_memory(x)):
            found = compute_moe(x, w13, w2, asked, out, workspace)
            if out is not None:
                _count_change((out,))
            return found
    return moe_by_operators(x, w13, w2, asked, out, workspace)
