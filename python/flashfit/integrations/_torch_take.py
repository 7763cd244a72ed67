"""A call of attention with PyTorch's meaning, by flashfit where it serves it: what sdpa, diffusers and xformers share.

All tensors are "bhsd": query [..., heads, rows, head_dim], key and value [..., heads_kv, keys, head_dim]. torch.compile
traces these functions, but for the checks of what it keeps away from them itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from .._binding import binding
from .._errors import CudaError, FlashfitError, OutOfMemory
from .._operations import attention
from .._packages.torch_tensors import check_of_sizes
from .._tensors import shown
from .._torch_attention import way_in_graph
from ._log import Log
from ._torch_fit import constant, misfit, misfit_of_gradients
from ._torch_words import GRADIENTS, dtype_of_call, in_words, words

Note = Callable[[str, str], None]

_is_compiling = torch.compiler.is_dynamo_compiling
_plain_types: dict[type, bool] = {}


def is_plain_type(kind: type) -> bool:
    """Whether flashfit's operators serve such tensors: those of no subclass that dispatches by itself, and those that
    torch.compile traces with."""
    found = _plain_types.get(kind)
    if found is None:
        disabled = torch._C._disabled_torch_dispatch_impl
        found = getattr(kind, "__torch_dispatch__", disabled) is disabled or kind.__module__ in (
            "torch._subclasses.fake_tensor",
            "torch._subclasses.functional_tensor",
        )
        _plain_types[kind] = found
    return found


def place_of(x: Any) -> str:
    """ "cpu", "cuda:0", "mps:0", "meta"."""
    kind = x.device.type
    return str(kind) if kind in ("cpu", "meta") else f"{kind}:{x.get_device()}"


def _is_negated(*tensors: Any) -> bool:
    """Whether one is a negated view, as a complex conjugate's imaginary part is: its memory has the other sign, of
    which the dispatcher takes care."""
    return any(x is not None and x.is_neg() for x in tensors)


def wants_gradients(*tensors: Any) -> bool:
    """Whether a result of these tensors is to have a history."""
    if not torch.is_grad_enabled():
        return False
    for x in tensors:  # any() of a generator takes twice the time  # noqa: SIM110
        if x is not None and x.requires_grad:
            return True
    return False


#: Why such a call is left, if it needs gradients.
FOR_MATH = "gradients under sdpa_kernel(SDPBackend.MATH), which may be differentiated again"


def asks_for_math() -> bool:
    """Whether PyTorch may compute attention by its plain products alone, as under sdpa_kernel(SDPBackend.MATH): of its
    ways only those have second derivatives."""
    c = torch._C
    return not (c._get_flash_sdp_enabled() or c._get_mem_efficient_sdp_enabled() or c._get_cudnn_sdp_enabled())


def _in_a_transform(tensors: dict[str, Any]) -> str:
    for name, x in tensors.items():
        if x is not None and not is_plain_type(type(x)):
            return f"{name}: a {type(x).__name__}"
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "a transform of torch.func"
    if torch.autograd.forward_ad._current_level >= 0:
        return "forward-mode derivatives"
    return ""


def why_query_is_left(q: Any, dropout_p: float) -> str:
    """Why a call goes on to the host whatever else it has; "" if that depends on the rest."""
    if dropout_p:
        return f"dropout_p: {shown(dropout_p)}"
    if q.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        return f"query: dtype is {q.dtype}"
    return ""


def _is_above_0(scale: Any) -> bool:
    """Also False of what is no number, for which the host has words."""
    try:
        return bool(scale > 0)
    except (RuntimeError, TypeError, ValueError):
        return False


def why_left(q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, scale: Any, enable_gqa: bool) -> str:
    """Why a call goes on to the host, which also says what is wrong with it; "" if flashfit takes it."""
    reason = why_query_is_left(q, dropout_p)
    if reason:
        return reason
    if not _is_compiling():
        reason = _in_a_transform({"query": q, "key": k, "value": v, "attn_mask": mask})
        if reason:
            return reason
    dims = q.dim()
    if dims not in (3, 4) or k.dim() != dims or v.dim() != dims:
        return f"query: {dims} dimensions"
    if q.layout is not torch.strided or k.layout is not torch.strided or v.layout is not torch.strided:
        return "query, key or value is not strided"
    dtype = dtype_of_call(q)
    if dtype_of_call(k) != dtype or dtype_of_call(v) != dtype or k.device != q.device or v.device != q.device:
        return "query, key and value differ in dtype or device"
    if 0 in q.shape or 0 in k.shape or 0 in v.shape:
        return "no elements"
    if k.shape[-1] != q.shape[-1] or v.shape[:-1] != k.shape[:-1] or (dims == 4 and k.shape[0] != q.shape[0]):
        return "shapes that broadcast"
    heads, of_k = q.shape[-3], k.shape[-3]
    if heads != of_k and not (enable_gqa and dims == 4 and heads % of_k == 0):
        return "heads that broadcast"
    if scale is not None and not _is_above_0(scale):
        return f"scale: {shown(scale)}"
    if mask is not None:
        if is_causal:
            return "attn_mask and is_causal"
        if mask.dtype not in (torch.bool, dtype, torch.float32) or mask.device != q.device:
            return f"attn_mask: {mask.dtype} on {mask.device}"
        whole = (*q.shape[:-1], k.shape[-2])
        if mask.dim() > dims or any(n not in (1, m) for n, m in zip(mask.shape[::-1], whole[::-1])):
            return "attn_mask: its shape"
        if wants_gradients(mask):
            return "attn_mask: requires grad"
    if wants_gradients(q, k, v):
        if not _is_compiling() and asks_for_math():
            return FOR_MATH
        reason = misfit_of_gradients(place_of(q), q.shape[-1], v.shape[-1], 0.0, mask is not None)
        if reason:
            return reason
    return misfit(place_of(q), str(dtype), q.shape[-1], v.shape[-1])


def attend(q: Any, k: Any, v: Any, mask: Any, is_causal: bool, scale: Any) -> Any:
    """The call by flashfit. PyTorch's causal mask begins at the first key, flashfit's ends with the last."""
    dims, window = q.dim(), None
    if is_causal and q.shape[-2] != k.shape[-2]:
        if q.shape[-2] < k.shape[-2]:  # nobody sees the keys behind
            k, v = k[..., : q.shape[-2], :], v[..., : q.shape[-2], :]
        else:
            is_causal, window = False, (-1, q.shape[-2] - k.shape[-2])
    if dims == 3:
        q, k, v = q[None], k[None], v[None]
    out = attention(q, k, v, causal=is_causal, softmax_scale=scale, window=window, bias=mask, layout="bhsd")
    # Of three dimensions PyTorch's result is contiguous whatever q's strides, and models take views of it.
    return out[0].contiguous() if dims == 3 else out


def noting(note: Note) -> Callable[..., None]:
    """What notes a call in a log, in the words of its tensors; traced, in words that are constants."""

    @constant
    def of_trace(call: str, reason: str) -> None:
        note(call, reason)

    def log(q: Any, k: Any, heads: int, causal: Any, mask: Any, more: str, reason: str = "") -> None:
        if _is_compiling():  # sizes may be symbolic
            of_trace(f"{in_words(dtype_of_call(q))} on {q.device.type}, compiled{', ' + more if more else ''}", reason)
        else:
            note(words(q, k, heads, causal, mask, more), reason)

    return log


class _Known(NamedTuple):
    """What was decided about a call."""

    note: Callable[[], Any]  # counts one more
    #: of (q, k, v, mask, is_causal, scale): what computes it; None for a call that is left
    way: Callable[..., Any] | None
    #: torch's guard of tensors like the call's. None where it has not to be asked: the native module, which computes it
    #: then, looks at them itself, or the call is left for what it is known by
    check: Callable[..., bool] | None


def _never(*_: Any) -> bool:
    """The guard where torch has none that may be asked."""
    return False


def _are_strided(q: Any, k: Any, v: Any, mask: Any) -> bool:
    """Whether torch's guard may be asked of them."""
    layout = torch.strided
    if q.layout is not layout or k.layout is not layout or v.layout is not layout:
        return False
    return not (q.is_nested or k.is_nested or v.is_nested) and (mask is None or mask.layout is layout)


def _again(way: Callable[..., Any], check: Callable[..., bool], is_causal: bool, scale: Any) -> Callable[..., Any]:
    """A way and its guard, as _Known has them, as a function of (q, k, v) that gives NotImplemented for other tensors,
    and for what flashfit refuses."""
    forward_ad, strided = torch.autograd.forward_ad, torch.strided
    takes_flash = torch._C._get_flash_sdp_enabled  # which answers nearly all calls without a function of Python's

    def again(q: Any, k: Any, v: Any) -> Any:
        if q.layout is not strided or k.layout is not strided or v.layout is not strided:
            return NotImplemented
        if q.is_nested or k.is_nested or v.is_nested or forward_ad._current_level >= 0 or check(q, k, v) is not True:
            return NotImplemented
        if not takes_flash() and asks_for_math():
            return NotImplemented
        try:
            return way(q, k, v, None, is_causal, scale)
        except (CudaError, OutOfMemory):
            raise
        except FlashfitError:
            return NotImplemented

    return again


#: notes.counter for calls that decide of all which are alike in dtypes, devices, layouts, sizes and options. Those are
#: left or, with "" for the reason, go straight to the C API if they are plain; where there is a third argument, that
#: answers them, a function of (q, k, v), if it does not give NotImplemented. What is returned is called for each such
#: call that comes.
Knower = Callable[..., Callable[[], Any]]


def taker(notes: Log, knower: Knower | None = None) -> Callable[..., Any]:
    """A function of (q, k, v, mask, dropout_p, is_causal, scale, enable_gqa) that gives flashfit's result, or
    NotImplemented for what is left, and notes which; `left` is a reason of the caller's to leave the call, and `ask`
    gives one of calls that torch traces.

    What was decided about a call is kept, for looking at its tensors costs more than a small call does: one whose like
    was seen before goes straight to the C API, which looks at its tensors itself, or torch's guard says that they are
    alike; what is left for its dropout_p or its query's dtype goes straight back. knower: what also keeps that, and
    answers calls alike before they come here.
    """
    log = noting(notes.note)
    native = binding().native
    attend_plain: Any = native.attend_plain if native else None
    known: dict[tuple[Any, ...], _Known] = {}
    functorch, forward_ad = torch._C._functorch.peek_interpreter_stack, torch.autograd.forward_ad
    tracing, grad_enabled = torch.compiler.is_compiling, torch.is_grad_enabled
    count_modes, takes_flash = torch._C._len_torch_dispatch_stack, torch._C._get_flash_sdp_enabled
    autocast = torch._C._is_any_autocast_enabled
    tensor, parameter = torch.Tensor, torch.nn.Parameter
    most = 4096  # of calls that differ

    def decide(
        q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, scale: Any, enable_gqa: bool
    ) -> tuple[str, _Known]:
        """Why a call is left, "" if it is not, and what is kept of that."""
        reason = why_left(q, k, v, mask, dropout_p, is_causal, scale, enable_gqa)
        needs = not reason and wants_gradients(q, k, v)
        more = GRADIENTS if needs else ""
        call = words(q, k, -3, is_causal, mask, more)
        if reason and knower is not None:
            with torch.no_grad():  # what is left for its gradients is taken without
                alike = why_left(q, k, v, mask, dropout_p, is_causal, scale, enable_gqa)
            count = (knower if alike == reason else notes.counter)(call, reason)
        else:
            count = notes.counter(call, reason)
        if reason and why_query_is_left(q, dropout_p):
            return reason, _Known(count, None, None)
        way: Callable[..., Any] | None = None if reason else attend
        # Two causal masks are one where queries and keys are as many.
        if not reason and q.dim() == 4 and (not is_causal or q.shape[-2] == k.shape[-2]):
            if needs:
                way = way_in_graph(q, k, v, mask, is_causal)
            elif native and scale in (None, q.shape[-1] ** -0.5):  # the C API's
                return reason, _Known(count if knower is None else knower(call, ""), attend, None)
        tensors = (q, k, v) if mask is None else (q, k, v, mask)
        check = check_of_sizes(*tensors) if _are_strided(q, k, v, mask) else None
        # torch's guard is never true of a tensor that is given twice.
        distinct = mask is None and q is not k and k is not v and v is not q
        if knower is not None and needs and way is not None and check is not None and distinct:
            count = knower(call, "", _again(way, check, is_causal, scale))
        return reason, _Known(count, way, check or _never)

    def take(
        q: Any,
        k: Any,
        v: Any,
        mask: Any,
        dropout_p: float,
        is_causal: bool,
        scale: Any,
        enable_gqa: bool,
        left: str = "",
        ask: Callable[[], str] | None = None,
    ) -> Any:
        like = None
        kind = type(q)
        # What is known goes past the dispatcher, where a mode watches each call. An odd scale may not be remembered.
        if (
            (kind is tensor or kind is parameter)
            and not left
            and (scale is None or type(scale) is float or type(scale) is int)
            and not tracing()
            and not count_modes()
        ):
            needs = grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad)
            of_mask = None if mask is None else (mask.dtype, mask.shape)
            cast = dtype_of_call(q) if autocast() else None
            of_gradients = needs and (True, not takes_flash() and asks_for_math())
            of_call = of_mask, dropout_p, is_causal, scale, enable_gqa, of_gradients, cast, notes.cleared
            like = q.shape, k.shape, q.dtype, q.device, of_call
            seen = known.get(like)
            if seen is not None:
                count, way, check = seen
                out: Any = NotImplemented
                if check is None:
                    if way is None:
                        count()
                        return out
                    out = attend_plain(q, k, v, None, None, None, is_causal, "bhsd", mask)
                elif (
                    _are_strided(q, k, v, mask)
                    and (check(q, k, v) if mask is None else check(q, k, v, mask)) is True
                    and forward_ad._current_level < 0
                ):
                    if way is None:
                        count()
                        return out
                    try:
                        out = way(q, k, v, mask, is_causal, scale)
                    except (CudaError, OutOfMemory):
                        raise
                    except FlashfitError as error:
                        log(q, k, -3, is_causal, mask, "", str(error))
                        return out
                if out is not NotImplemented:
                    count()
                    return out
        if ask is not None:
            left = ask()
        reason, found = left, None
        if (
            like is not None
            and not left
            and type(k) in (tensor, parameter)
            and type(v) in (tensor, parameter)
            and (mask is None or type(mask) is tensor)
            and functorch() is None
            and forward_ad._current_level < 0
            and not _is_negated(q, k, v, mask)
        ):
            reason, found = decide(q, k, v, mask, dropout_p, is_causal, scale, enable_gqa)
        elif not left:
            reason = why_left(q, k, v, mask, dropout_p, is_causal, scale, enable_gqa)
        if not reason:
            # A checkpoint asks twice, and expects the same node: that of later calls.
            way = attend if found is None or found.way is None else found.way
            try:
                out = way(q, k, v, mask, is_causal, scale)
            except FlashfitError as error:
                if _is_compiling() or isinstance(error, (CudaError, OutOfMemory)):
                    raise
                log(q, k, -3, is_causal, mask, "", str(error))
                return NotImplemented
        if found is not None and like is not None:
            found.note()
            if len(known) >= most:
                known.clear()
            known[like] = found
        else:
            more = GRADIENTS if not reason and wants_gradients(q, k, v) else ""
            log(q, k, -3, is_causal, mask, more, reason)
        return NotImplemented if reason else out

    return take
