"""flashfit.attention through torch.ops.flashfit: the operators, and the call that chooses one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad

from ._attention import check_ndim, heads_are_first, is_ragged, scale_of
from ._errors import InvalidArgument, InvalidType
from ._options import TENSORS, Asked, flags_of, softcap_of, window_of
from ._packages.torch_tensors import check_of_sizes
from ._tensors import full_name, lengths_list, numbers_list, offsets_list, truth_of
from ._torch_calls import check_queue, check_tensors, queue_of
from ._torch_compute import compute
from ._torch_fakes import fake
from ._torch_gradients import check_gradients, gradients
from ._torch_node import Node, own_node
from ._torch_operators import Operator
from ._torch_rules import NO_OUT, in_graph


def _asked(
    tensors: tuple[Any, ...],
    *,
    window_left: int = -1,
    window_right: int = -1,
    softcap: float = 0.0,
    batch_invariant: bool = False,
    deterministic: bool = False,
    **named: Any,
) -> Asked:
    """An operator's options as flashfit.attention has them. Tensors come by place, or by name. deterministic is the
    backward's alone."""
    named.update(zip(TENSORS, tensors))
    return Asked((window_left, window_right), softcap, batch_invariant=batch_invariant, **named)


def _kernel(run: Any, return_lse: bool, has_out: bool) -> Any:
    """An operator's kernel over compute() or fake()."""

    def allocating(
        q: Any,
        k: Any,
        v: Any,
        cu_seqlens_q: Any = None,
        cu_seqlens_k: Any = None,
        *tensors: Any,
        causal: bool = False,
        softmax_scale: float | None = None,
        layout: str = "bshd",
        **numbers: Any,
    ) -> Any:
        asked = _asked(tensors, **numbers) if tensors or numbers else None
        return run(q, k, v, cu_seqlens_q, cu_seqlens_k, causal, softmax_scale, layout, return_lse, None, asked)

    def writing(
        q: Any,
        k: Any,
        v: Any,
        out: Any,
        cu_seqlens_q: Any = None,
        cu_seqlens_k: Any = None,
        *tensors: Any,
        causal: bool = False,
        softmax_scale: float | None = None,
        layout: str = "bshd",
        **numbers: Any,
    ) -> Any:
        asked = _asked(tensors, **numbers) if tensors or numbers else None
        found = run(q, k, v, cu_seqlens_q, cu_seqlens_k, causal, softmax_scale, layout, return_lse, out, asked)
        return found[1] if return_lse else None

    return writing if has_out else allocating


def _operator(name: str, returns: str) -> Operator:
    """attention, with lse or without, into a new tensor or one that is given. Shapes are flashfit.attention's."""
    return_lse, has_out = "lse" in name, "out" in name
    return Operator(
        name,
        _kernel(compute, return_lse, has_out),
        _kernel(fake, return_lse, has_out),
        inputs=("q", "k", "v"),
        writes=("out",) if has_out else (),
        options=("cu_seqlens_q", "cu_seqlens_k", *TENSORS),
        arguments='*, bool causal=False, float? softmax_scale=None, str layout="bshd", SymInt window_left=-1, '
        "SymInt window_right=-1, float softcap=0.0, bool batch_invariant=False, bool deterministic=False",
        returns=returns,
        casts=True,
        cast_halves=("bias",),
        gradients=None if has_out else gradients(return_lse),
        refusal=NO_OUT,
    )


OPERATORS = (
    _operator("attention", "Tensor"),
    _operator("attention_lse", "(Tensor, Tensor)"),
    _operator("attention_out", "()"),
    _operator("attention_lse_out", "Tensor"),
)


_KEEPING_LSE = _kernel(compute, return_lse=True, has_out=False)
_GRADIENTS = {return_lse: gradients(return_lse) for return_lse in (False, True)}
#: A call without options.
NOTHING_ASKED = Asked()
_count_modes = torch._C._len_torch_dispatch_stack


#: By what is told at once of a call that got a node: torch's guard of tensors like its own, and the node.
_known: dict[tuple[Any, ...], tuple[Callable[..., bool], Node]] = {}
_MOST = 4096  # of calls that differ


def _key(q: Any, k: Any, v: Any, causal: bool, layout: str) -> tuple[Any, ...]:
    return q.shape, k.shape, q.dtype, q.device, q.requires_grad, k.requires_grad, v.requires_grad, causal, layout


def _remember(q: Any, k: Any, v: Any, causal: bool, layout: str, node: Node) -> None:
    check = check_of_sizes(q, k, v)
    if check is None:
        return
    if len(_known) >= _MOST:
        _known.clear()
    _known[_key(q, k, v, causal, layout)] = check, node


def known_node(q: Any, k: Any, v: Any, causal: Any, layout: Any) -> Node | None:
    """The node of a call without options like one that got it before, of torch tensors of no subclass where gradients
    are recorded; None if the call has to be looked at in full, since it is unlike, or something watches or changes
    it."""
    if (causal is not True and causal is not False) or type(layout) is not str:
        return None
    found = _known.get(_key(q, k, v, causal, layout))
    if found is None or forward_ad._current_level >= 0 or _count_modes():
        return None
    check, node = found
    strided = torch.strided
    if q.layout is not strided or k.layout is not strided or v.layout is not strided:
        return None  # the guard ends the process where it meets a tensor without strides
    if q.is_nested or k.is_nested or v.is_nested or check(q, k, v) is not True:
        return None
    return node


def call_in_graph(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    causal: Any,
    softmax_scale: Any,
    layout: Any,
    return_lse: bool,
    asked: Asked,
) -> Any:
    """call() of plain tensors alone in plain eager mode of which one needs a gradient: what the dispatcher would do, by
    a shorter way."""
    if asked is NOTHING_ASKED and cu_seqlens_q is None and cu_seqlens_k is None and not return_lse:
        node = own_node(q, k, v, causal, layout)
        if node is not None:
            _remember(q, k, v, causal, layout, node)
            return node(q, k, v, softmax_scale)
    heads_are_first(layout)  # refuses others
    flags_of(causal)
    if softmax_scale is not None:
        softmax_scale = scale_of(softmax_scale)
    check_ndim(q.dim(), layout, is_ragged(cu_seqlens_q, cu_seqlens_k))
    options = {"causal": causal, "softmax_scale": softmax_scale, "layout": layout, **_numbers_of(asked, False)}
    others = (cu_seqlens_q, cu_seqlens_k, *asked.tensors())
    tensors = (q, k, v) if all(x is None for x in others) else (q, k, v, *others)
    check_gradients(tensors, options)
    return in_graph(_GRADIENTS[return_lse], _KEEPING_LSE, tensors, options)


def way_in_graph(q: Any, k: Any, v: Any, bias: Any, causal: bool) -> Callable[..., Any]:
    """call_in_graph() of "bhsd", as a function of (q, k, v, bias, causal, softmax_scale), for tensors of which torch's
    guard says that they are like these, which were taken with such options before."""
    node = own_node(q, k, v, causal, "bhsd") if bias is None else None

    def own(q: Any, k: Any, v: Any, bias: Any, causal: bool, softmax_scale: float | None) -> Any:
        return node(q, k, v, softmax_scale)  # type: ignore[misc]

    def ours(q: Any, k: Any, v: Any, bias: Any, causal: bool, softmax_scale: float | None) -> Any:
        options = {"causal": causal, "softmax_scale": softmax_scale, "layout": "bhsd"}
        tensors = (q, k, v) if bias is None else (q, k, v, None, None, None, None, bias)
        return in_graph(_GRADIENTS[False], _KEEPING_LSE, tensors, options, guarded=True)

    return ours if node is None else own


def _offsets(name: str, q: Any, cu_seqlens: Any, x: Any, row: int) -> Any:
    """cu_seqlens of x's rows as a tensor. Compiled code is made once for many values: a list would make it anew."""
    if isinstance(cu_seqlens, torch.Tensor):
        if cu_seqlens.layout is not torch.strided:
            raise InvalidArgument(f"{name}: layout is {cu_seqlens.layout}; accepted: torch.strided")
        return cu_seqlens
    if torch.compiler.is_compiling():
        given = full_name(cu_seqlens)
        raise InvalidType(f"{name}: {given} in compiled code; accepted there: an int32 tensor where q is")
    rows = x.shape[row] if x.dim() > row else 0
    return torch.tensor(offsets_list(name, cu_seqlens, rows), dtype=torch.int32, device=q.device)


def _given(name: str, q: Any, x: Any, values: Any, dtype: Any) -> Any:
    """An option as a tensor; None as it is. Compiled code is made once for many values: a list would make it anew."""
    if x is None:
        return None
    if isinstance(x, torch.Tensor):
        if x.layout is not torch.strided:
            raise InvalidArgument(f"{name}: layout is {x.layout}; accepted: torch.strided")
        return x
    if torch.compiler.is_compiling():
        given = full_name(x)
        raise InvalidType(f"{name}: {given} in compiled code; accepted there: a {dtype} tensor where q is")
    return torch.tensor(values(name, x), dtype=dtype, device=q.device)


def _no_array(name: str, x: Any) -> Any:
    raise InvalidType(f"{name}: {full_name(x)}; accepted: a torch tensor, as q")


def _traced_number(x: Any) -> float:
    """A number in compiled code, where an operator takes no symbol for it. The comparison breaks the graph if the
    number comes from a tensor, as PyTorch's own attention does; without it the operator would raise an error."""
    # The products make torch 2.4 guard a symbolic integer: float() of one alone would stay what it first was.
    number = float(x) * 1.0
    return number if number > 0 else number * 1.0  # what is not above 0 is the operator's to refuse


def _options_of(q: Any, asked: Asked, compiling: bool) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The options as the operators take them: tensors, and what is none.

    What asks for nothing is left out: it would cost the dispatcher time.
    """
    tensors: tuple[Any, ...] = (
        _given("alibi_slopes", q, asked.alibi_slopes, numbers_list, torch.float32),
        _given("sinks", q, asked.sinks, numbers_list, torch.float32),
        _given("bias", q, asked.bias, _no_array, torch.float32),
        _given("seqused_k", q, asked.seqused_k, lengths_list, torch.int32),
    )
    return () if all(x is None for x in tensors) else tensors, _numbers_of(asked, compiling)


def _numbers_of(asked: Asked, compiling: bool) -> dict[str, Any]:
    """The options that are no tensors and ask for something, as the operators take them."""
    numbers: dict[str, Any] = {}
    left, right = window_of(asked.window)
    if asked.window is not None:
        # PyTorch 2.4 does not trace update().
        numbers["window_left"], numbers["window_right"] = left, right
    if asked.softcap is not None:
        numbers["softcap"] = _traced_number(asked.softcap) if compiling else softcap_of(asked.softcap)
    if truth_of("batch_invariant", asked.batch_invariant):
        numbers["batch_invariant"] = True
    return numbers


def _run(q: Any, k: Any, v: Any, out: Any, tensors: tuple[Any, ...], return_lse: bool, options: dict[str, Any]) -> Any:
    ops = torch.ops.flashfit
    if out is None:
        return (ops.attention_lse if return_lse else ops.attention)(q, k, v, *tensors, **options)
    lse = (ops.attention_lse_out if return_lse else ops.attention_out)(q, k, v, out, *tensors, **options)
    return (out, lse) if return_lse else out


def call(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    softmax_scale: float | None = None,
    window: tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    alibi_slopes: Any = None,
    sinks: Any = None,
    bias: Any = None,
    cu_seqlens_q: Any = None,
    cu_seqlens_k: Any = None,
    seqused_k: Any = None,
    batch_invariant: bool = False,
    deterministic: bool = False,
    layout: str = "bshd",
    return_lse: bool = False,
    out: Any = None,
    stream: Any = None,
    variant: str | None = None,
) -> Any:
    """flashfit.attention of torch tensors through torch.ops.flashfit. torch.compile traces it without a graph break.

    As flashfit.attention, but for variant, which is None. In compiled code stream is None too, and what may be a list
    is a tensor. deterministic: the gradients' bits are the same in every run, as the result's always are; also where
    torch.use_deterministic_algorithms asks for it.
    """
    compiling = torch.compiler.is_compiling()
    check_tensors({"q": q, "k": k, "v": v}, {"out": out})
    check_queue(q, stream, variant)
    flags_of(causal)
    row = 1 if heads_are_first(layout) else 0
    if is_ragged(cu_seqlens_q, cu_seqlens_k):
        check_ndim(q.dim(), layout, True)
        check_ndim(k.dim(), layout, True, "k")
        cu_seqlens_q = _offsets("cu_seqlens_q", q, cu_seqlens_q, q, row)
        cu_seqlens_k = _offsets("cu_seqlens_k", q, cu_seqlens_k, k, row)
    if softmax_scale is not None:
        if not compiling or isinstance(softmax_scale, (str, bytes)):  # which float() would read
            scale_of(softmax_scale)
        softmax_scale = _traced_number(softmax_scale) if compiling else float(softmax_scale)
    asked = Asked(window, softcap, alibi_slopes, sinks, bias, seqused_k, batch_invariant)
    tensors, numbers = _options_of(q, asked, compiling)
    tensors = (cu_seqlens_q, cu_seqlens_k, *tensors)
    options = {"causal": causal, "softmax_scale": softmax_scale, "layout": layout, **numbers}
    if deterministic:
        options["deterministic"] = True
    with queue_of(q, stream):
        return _run(q, k, v, out, tensors, return_lse, options)
