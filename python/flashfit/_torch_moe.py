"""flashfit.fused_moe and grouped_mlp of torch tensors: operators, their fake, and what takes several calls on GPUs."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any

import torch

from ._binding import binding, failure
from ._errors import FlashfitError, InvalidArgument
from ._frames import MOE_GRADIENTS
from ._gradients import experts_over_wgmma
from ._moe import (
    Asked,
    Numbers,
    Swiglu,
    activation_of,
    has_gate,
    layout_of,
    moe_with_care,
    numbers_of,
    range_of,
    shared_of,
)
from ._packages import TORCH
from ._route import MOST_CHOSEN, MOST_EXPERTS
from ._tensors import shown, whole_numbers_list
from ._torch_calls import check_tensors
from ._torch_fakes import _HALVES, _require, _shape_words, check_router
from ._torch_moe_gradients import experts_gradients
from ._torch_operators import Gradients, Operator
from ._torch_rules import NO_KEEPING, NO_OUT, NO_SECOND

#: Tensors that may be None, in the operators' order.
OPTIONS = (
    *("router_logits", "topk_weights", "topk_ids", "offsets", "b13", "b2", "router_bias", "expert_map"),
    *("shared_w13", "shared_w2", "shared_gate"),
)
_NUMBERS = (
    "*, int top_k=0, str router='softmax', bool renormalize=True, int groups=0, int groups_kept=0, float scale=1.0, "
    "str activation='swiglu', float alpha=1.0, float limit=0.0, float shift=0.0, str gate_up='concatenated', "
    "bool transposed=False, str weight_on='output', int experts_low=0, int experts_high=0, "
    "bool recompute=False"
).replace("'", '"')


#: Of Asked, what numbers_of() looks at: of these whether they are given, and of the others what they are.
_GIVEN = ("router_logits", "topk_weights", "topk_ids", "offsets", "router_bias")
_VALUES = (
    *("top_k", "router", "renormalize", "scale", "activation", "gate_up"),
    *("transposed", "weight_on", "recompute"),
)
_given_of, _values_of = attrgetter(*_GIVEN), attrgetter(*_VALUES)
_SIMPLE = frozenset((int, float, str, bool, type(None)))
#: Of the arguments that the compiled module reads.
_TENSORS = frozenset((torch.Tensor, torch.nn.Parameter, type(None)))
#: None where it is ctypes', which reads no torch tensors.
_layer: Any = binding().layer if binding().native else None


def _asked(
    tensors: tuple[Any, ...],
    *,
    top_k: int = 0,
    router: str = "softmax",
    renormalize: bool = True,
    groups: int = 0,
    groups_kept: int = 0,
    scale: float = 1.0,
    activation: str = "swiglu",
    alpha: float = 1.0,
    limit: float = 0.0,
    shift: float = 0.0,
    gate_up: str = "concatenated",
    transposed: bool = False,
    weight_on: str = "output",
    experts_low: int = 0,
    experts_high: int = 0,
    recompute: bool = False,
    **named: Any,
) -> Asked:
    """An operator's options as fused_moe() has them. Tensors come by place, or by name."""
    given = dict.fromkeys(OPTIONS)
    given.update(zip(OPTIONS, tensors))
    given.update(named)
    first, second, gate = (given.pop(name) for name in OPTIONS[-3:])
    experts = given.pop("expert_map")
    for name, value, without, there in (
        ("groups_kept", groups_kept, "groups", bool(groups)),
        ("experts_low", experts_low, "experts_high", bool(experts_high)),
        ("shared_w2", second, "shared_w13", first is not None),
        ("shared_gate", gate, "shared_w13", first is not None),
    ):
        if not there and not (value is None or (isinstance(value, int) and value == 0)):
            accepted = 0 if isinstance(value, int) else None
            raise InvalidArgument(f"{name}: {shown(value)} without {without}; accepted: {accepted}")
    if first is not None and second is None:
        raise InvalidArgument("shared_w2: None with shared_w13; accepted: a tensor")
    if experts is not None and experts_high:
        raise InvalidArgument(f"experts_high: {experts_high} with expert_map; accepted: 0")
    if activation != "swiglu" and (alpha, limit, shift) != (1.0, 0.0, 0.0):
        said = f"alpha: {alpha:g}, limit: {limit:g}, shift: {shift:g}"
        raise InvalidArgument(f'{said} with activation "{activation}"; accepted: 1, 0, 0')
    if experts is None and experts_high:
        experts = (experts_low, experts_high)
    return Asked(
        **given,
        top_k=top_k or None,
        router=router,
        renormalize=renormalize,
        groups=(groups, groups_kept) if groups else None,
        scale=scale,
        activation=Swiglu(alpha, limit or None, shift) if activation == "swiglu" else activation,
        gate_up=gate_up,
        transposed=transposed,
        weight_on=weight_on,
        experts=experts,
        shared=None if first is None else (first, second, gate) if gate is not None else (first, second),
        recompute=recompute,
    )


def _ids_of_rows(offsets: Any, rows: int) -> Any:
    """Each row's expert, int32 [rows, 1]; -1 of rows of none. Nothing waits for the GPU."""
    at = torch.arange(rows, device=offsets.device)
    ids = torch.searchsorted(offsets.to(torch.int64).contiguous(), at, right=True) - 1
    return torch.where(at < offsets[-1], ids, -1).to(torch.int32)[:, None]


def _mapped(ids: Any, places: Any) -> Any:
    """Ids as places of weights, -1 where there are none."""
    known = (ids >= 0) & (ids < len(places))
    return torch.where(known, places[torch.where(known, ids, 0).long()], -1).to(torch.int32)


def _with_shared(x: Any, w13: Any, w2: Any, asked: Asked, out: Any, workspace: Any, z: Any = None) -> Any:
    """compute_moe() on a GPU, whose kernels add no shared expert: that is a call of its own, whose result is rounded
    before it is added. It comes first, for it may be refused, and then out has not been written."""
    alone = _shared_alone(x, asked, out)
    return compute_moe(x, w13, w2, asked._replace(shared=None), out, workspace, z).add_(alone)


def _refuse_overlap(out: Any, name: str, other: Any) -> None:
    spans = []
    for each in (out, other):
        reach = sum((size - 1) * stride for size, stride in zip(each.shape, each.stride())) + 1
        begin = each.data_ptr()
        spans.append((begin, begin + (reach * each.element_size() if each.numel() else 0)))
    (begin, end), (first, last) = spans
    if begin < last and first < end:
        found = f"{begin:#x} to {end:#x} overlaps {name}'s {first:#x} to {last:#x}"
        raise InvalidArgument(f"out: memory {found}; accepted: memory of its own")


def _shared_alone(x: Any, asked: Asked, out: Any) -> Any:
    """The shared expert's result, which lies apart from out, where the whole layer's goes."""
    given = dict(zip(OPTIONS[-3:], shared_of(asked.shared)))
    tensors = {name: each for name, each in given.items() if each is not None}
    check_tensors({"x": x, **tensors}, {})
    for name, each in tensors.items():
        _check_dimensions(name, each)
        if out is not None:
            _refuse_overlap(out, name, each)
    first, second, gate = given.values()
    _check_dimensions("x", x)
    _check_weights({"x": x, **tensors}, asked, "shared_w13", "shared_w2")
    rows = (x.shape[0], 1)
    weights = torch.ones(rows, dtype=torch.float32, device=x.device)
    if gate is not None:
        if gate.shape != x.shape[1:] or gate.dtype != x.dtype or gate.device != x.device:
            found = f"shape is {tuple(gate.shape)}, dtype is {gate.dtype}, device is {gate.device}"
            accepted = f"{tuple(x.shape[1:])}, [hidden], {x.dtype} and {x.device}, as x"
            raise InvalidArgument(f"shared_gate: {found}; accepted: {accepted}")
        weights = torch.sigmoid(x.float() @ gate.float())[:, None]
    routed = Asked(
        topk_ids=torch.zeros(rows, dtype=torch.int32, device=x.device),
        topk_weights=weights,
        activation=asked.activation,
        gate_up=asked.gate_up,
        transposed=asked.transposed,
    )
    try:
        return compute_moe(x, first[None], second[None], routed)
    except FlashfitError as error:  # which knows no other weights
        raise type(error)(re.sub(r"^(w13|w2):", r"shared_\1:", str(error))) from None


@lru_cache(maxsize=64, typed=True)
def _numbers_again(given: tuple[bool, ...], *values: Any) -> Numbers:
    """numbers_of() a call with these of _GIVEN, and with these _VALUES."""
    there = {name: True for name, is_there in zip(_GIVEN, given) if is_there}
    return numbers_of(Asked(**there, **dict(zip(_VALUES, values))))


def _numbers_of(asked: Asked) -> Numbers:
    """numbers_of(), remembered where nothing is given that may change, or that a cache takes for another (1 and True in
    a tuple)."""
    values = _values_of(asked)
    if asked.groups is not None or asked.experts is not None or not _SIMPLE.issuperset(map(type, values)):
        return numbers_of(asked)
    return _numbers_again(tuple([each is not None for each in _given_of(asked)]), *values)


def _compute_quickly(x: Any, w13: Any, w2: Any, asked: Asked, out: Any, z: Any) -> Any:
    """The call by the compiled module, which reads torch's tensors itself; NotImplemented where moe_with_care() has to
    read an argument, or to word a refusal."""
    numbers = _numbers_of(asked)
    ids, weights, offsets = asked.topk_ids, asked.topk_weights, asked.offsets
    experts = None if isinstance(asked.experts, tuple) else asked.experts
    others = (asked.router_logits, asked.b13, asked.b2, asked.router_bias, *shared_of(asked.shared), z)
    given = (x, w13, w2, out, ids, weights, offsets, experts, *others)
    if _layer is None or not _TENSORS.issuperset(map(type, given)):
        return NotImplemented
    if numbers.high and (w13 is None or w13.dim() != 3 or numbers.high - numbers.low != w13.shape[0]):
        return NotImplemented
    ids = ids if ids is None else TORCH.whole("topk_ids", ids)
    offsets = offsets if offsets is None else TORCH.whole("offsets", offsets)
    experts = experts if experts is None else TORCH.whole("experts", experts)
    weights = weights if weights is None else TORCH.single("topk_weights", weights)
    logits, b13, b2, bias, *shared, z = others
    result = torch.empty_like(x) if out is None else out
    tensors = (x, w13, w2, result, ids, weights, logits, offsets, b13, b2, bias, experts, *shared, z)
    return result if _layer(tensors, numbers, None, None) == 0 else NotImplemented


def compute_moe(x: Any, w13: Any, w2: Any, asked: Asked, out: Any = None, workspace: Any = None, z: Any = None) -> Any:
    """The call on the current stream, unaware of modes and transforms: plain eager code and the operators' kernels come
    here."""
    if asked.shared is not None and isinstance(x, torch.Tensor) and x.is_cuda:
        return _with_shared(x, w13, w2, asked, out, workspace, z)
    found = NotImplemented if workspace is not None else _compute_quickly(x, w13, w2, asked, out, z)
    return moe_with_care(TORCH, x, w13, w2, asked, out, workspace, z) if found is NotImplemented else found


def fake_moe(x: Any, w13: Any, w2: Any, asked: Asked, out: Any = None, z: Any = None) -> Any:
    """out, of the shape, dtype, device and strides that a call gives."""
    _check_call(x, w13, w2, asked, out, z)
    return torch.empty_like(x) if out is None else out


#: Of a call's tensors, in the order in which the C API looks at them: their dimensions, and the dtypes that they may
#: have, None for x's.
_INTS, _FLOATS = (torch.int32, torch.int64), (*_HALVES, torch.float32)
_READ: dict[str, tuple[str, tuple[Any, ...] | None]] = {
    "x": ("[tokens, hidden]", None),
    "w13": ("[experts, outputs, hidden]", None),
    "w2": ("[experts, hidden, intermediate]", None),
    "out": ("[tokens, hidden]", None),
    "topk_ids": ("[tokens, top_k]", _INTS),
    "topk_weights": ("[tokens, top_k]", _FLOATS),
    "router_logits": ("[tokens, experts]", _FLOATS),
    "offsets": ("[experts + 1]", _INTS),
    "b13": ("[experts, outputs]", None),
    "b2": ("[experts, hidden]", None),
    "router_bias": ("[experts]", (torch.float32,)),
    "experts": ("[experts]", _INTS),
    "shared_w13": ("[outputs, hidden]", None),
    "shared_w2": ("[hidden, intermediate]", None),
    "shared_gate": ("[hidden]", None),
    "z": ("[choices + experts, outputs]", None),
}


def _check_call(x: Any, w13: Any, w2: Any, asked: Asked, out: Any, z: Any) -> None:
    """Refuses what a call refuses without a look at memory, and at strides, which guards would fix."""
    numbers = numbers_of(asked)
    given = {**asked._asdict(), **dict(zip(OPTIONS[-3:], shared_of(asked.shared))), "x": x, "w13": w13, "w2": w2}
    given.update(out=out, z=z)
    tensors = {name: given[name] for name in _READ if isinstance(given[name], torch.Tensor)}
    for name, each in tensors.items():
        _check_dimensions(name, each)
        if each.device != x.device:
            raise InvalidArgument(f"{name}: device is {each.device}; accepted: {x.device}, where x is")
    on_cpu = x.device.type in ("cpu", "meta")
    if x.dtype not in _HALVES and not (on_cpu and x.dtype == torch.float32):
        raise InvalidArgument(
            f"x: dtype is {x.dtype} on {x.device}; "
            "accepted: torch.float16, torch.bfloat16, on the CPU also torch.float32"
        )
    for name, each in tensors.items():
        dtypes = _READ[name][1]
        if each.dtype not in (dtypes or (x.dtype,)):
            accepted = ", ".join(map(str, dtypes)) if dtypes else f"{x.dtype}, as x"
            raise InvalidArgument(f"{name}: dtype is {each.dtype}; accepted: {accepted}")
    _check_shapes(tensors, asked, numbers)


def _check_dimensions(name: str, each: Any) -> None:
    layout = _READ[name][0]
    if each.dim() != layout.count(",") + 1:
        raise InvalidArgument(f"{name}: {each.dim()} dimensions; accepted: {layout.count(',') + 1}, {layout}")


def _expect(tensors: dict[str, Any], name: str, *shape: Any) -> None:
    if name in tensors:
        for mine, other in zip(tensors[name].shape, shape):
            _require(mine == other, _shape_words(name, tensors[name], str(tuple(shape))))


def _turn_of(asked: Asked) -> slice:
    """What brings the last two sizes of weights as they lie and as [outputs, inputs] into each other."""
    return slice(None, None, -1 if asked.transposed else 1)


def _check_weights(tensors: dict[str, Any], asked: Asked, first: str, second: str, *experts: Any) -> None:
    """Whether both products' weights go together, and with x."""
    turn, hidden = _turn_of(asked), tensors["x"].shape[1]
    inner = tensors[second].shape[len(experts) :][turn][1]
    _expect(tensors, second, *experts, *(hidden, inner)[turn])
    _expect(tensors, first, *experts, *((2 if has_gate(asked.activation) else 1) * inner, hidden)[turn])


def _check_shapes(tensors: dict[str, Any], asked: Asked, numbers: Numbers) -> None:
    expect = partial(_expect, tensors)
    x, w13 = tensors["x"], tensors["w13"]
    (tokens, hidden), owned = x.shape, w13.shape[0]
    for fits in (owned >= 1, owned <= MOST_EXPERTS):
        _require(fits, _shape_words("w13", w13, f"1 to {MOST_EXPERTS} experts"))
    _check_weights(tensors, asked, "w13", "w2", owned)
    if "shared_w13" in tensors:
        _check_weights(tensors, asked, "shared_w13", "shared_w2")
    expect("out", tokens, hidden)
    expect("b13", owned, w13.shape[1:][_turn_of(asked)][0])
    expect("b2", owned, hidden)
    expect("offsets", owned + 1)
    expect("shared_gate", hidden)
    low, high = numbers.low, numbers.high
    if isinstance(asked.experts, tuple):
        _require(high - low == owned, lambda: f"experts: ({low}, {high}); accepted: a range of {owned} experts")
    if "topk_ids" in tensors:
        chosen = tensors["topk_ids"].shape[1]
        for fits in (chosen >= 1, chosen <= MOST_CHOSEN):
            _require(fits, _shape_words("topk_ids", tensors["topk_ids"], f"top_k from 1 to {MOST_CHOSEN}"))
        expect("topk_ids", tokens)
        expect("topk_weights", tokens, chosen)
    if "router_logits" in tensors:
        expect("router_logits", tokens, *(tensors["experts"].shape if "experts" in tensors else ()))
        logits, bias = tensors["router_logits"], tensors.get("router_bias")
        if "experts" not in tensors:
            fits = logits.shape[1] >= high if high else logits.shape[1] == owned
            accepted = f"{high} experts or more" if high else f"{owned} experts, as many as w13 has"
            _require(fits, _shape_words("router_logits", logits, accepted))
        check_router("router_logits", logits, numbers.top_k, (numbers.groups, numbers.groups_kept), bias)


def _allocating(run: Any) -> Any:
    """An operator's kernel over compute_moe() or fake_moe()."""

    def kernel(x: Any, w13: Any, w2: Any, *tensors: Any, **numbers: Any) -> Any:
        return run(x, w13, w2, _asked(tensors, **numbers))

    return kernel


def _keeping(run: Any) -> Any:
    """The same, and what comes before the activation, of no elements where that is not kept."""

    def kernel(x: Any, w13: Any, w2: Any, *tensors: Any, **numbers: Any) -> Any:
        asked = _asked(tensors, **numbers)
        z = _new_kept(x, w13, asked)
        return run(x, w13, w2, asked, z=z if z.dim() == 2 else None), z

    return kernel


def keeps(x: Any) -> bool:
    """Whether the kernels where x is can write what comes before the activation."""
    if not (x.is_cuda and torch.cuda.is_available()):
        return False
    return experts_over_wgmma(tuple(torch.cuda.get_device_capability(x.device)))


def _new_kept(x: Any, w13: Any, asked: Asked) -> Any:
    """Memory for z, [choices + experts, outputs of w13]; of one dimension and no elements where nothing keeps it, and
    where tensors are to be refused."""
    plain = w13.dim() == 3 and x.dim() == 2 and (asked.topk_ids is None or asked.topk_ids.dim() == 2)
    if asked.recompute or asked.offsets is not None or not plain or not keeps(x):
        return x.new_empty((0,))
    chosen = asked.top_k if asked.topk_ids is None else asked.topk_ids.shape[1]
    outputs = w13.shape[2 if asked.transposed else 1]
    return x.new_empty((x.shape[0] * (chosen or 0) + w13.shape[0], outputs))


def _writing(run: Any) -> Any:
    def kernel(x: Any, w13: Any, w2: Any, out: Any, *tensors: Any, **numbers: Any) -> None:
        run(x, w13, w2, _asked(tensors, **numbers), out)

    return kernel


def _router_gradient(logits: Any, ids: Any, dweights: Any, asked: Asked) -> Any:
    """The gradient of router_logits, given that of the weights."""
    x, at, d = logits.float(), ids.long(), dweights * asked.scale
    if asked.router == "softmax" and not asked.renormalize:
        shares = torch.softmax(x, dim=1)
        chosen = shares.gather(1, at)
        found = -shares * (d * chosen).sum(dim=1, keepdim=True)
        return found.scatter_add(1, at, d * chosen).to(logits.dtype)
    mine = x.gather(1, at)
    if asked.router in ("softmax", "topk_softmax"):
        shares = torch.softmax(mine, dim=1)
        found = shares * (d - (d * shares).sum(dim=1, keepdim=True))
    else:
        if asked.router == "sigmoid":
            scores = torch.sigmoid(mine)
            slope = scores * torch.sigmoid(-mine)
        else:  # sigmoid(x) = 1 - exp(-softplus(x)), which is not 0 before softplus is: of a logit below -104
            squares = torch.nn.functional.softplus(mine)
            scores = squares.sqrt()
            slope = torch.where(scores > 0, -torch.expm1(-squares) / (2 * scores), 0)
        if asked.renormalize:
            total = scores.sum(dim=1, keepdim=True) + 1e-20
            d = (d - (d * scores).sum(dim=1, keepdim=True) / total) / total
        found = d * slope
    return torch.zeros_like(x).scatter(1, at, found).to(logits.dtype)


def _choices(x: Any, w13: Any, asked: Asked) -> tuple[Any, Any, Any]:
    """Each token's weights, ids and places of their experts' weights, as the call chose them."""
    weights, ids = asked.topk_weights, asked.topk_ids
    if asked.router_logits is not None:
        groups = asked.groups or (0, 0)
        options = (asked.router, asked.renormalize, asked.router_bias, *groups, asked.scale)
        weights, ids = torch.ops.flashfit.moe_route(asked.router_logits, asked.top_k, *options)
    elif asked.offsets is not None:
        ids = _ids_of_rows(asked.offsets, x.shape[0])
        weights = torch.ones(ids.shape, dtype=torch.float32, device=x.device)
    mapped = isinstance(asked.experts, torch.Tensor)
    return weights.float().contiguous(), ids, _mapped(ids, asked.experts) if mapped else ids


def _backward(ctx: Any, needs: tuple[bool, ...], dout: Any) -> tuple[Any, ...]:
    """Gradients of the operator's tensors, in their order."""
    z, x, w13, w2, *tensors = ctx.saved_tensors
    if torch.is_grad_enabled():  # create_graph=True
        for name, each in zip(("x", "w13", "w2", *OPTIONS), (x, w13, w2, *tensors)):
            if each is not None and each.requires_grad:
                raise InvalidArgument(f"{name}: {NO_SECOND}")
    asked = _asked(tuple(tensors), **ctx.options)
    wanted = dict(zip(("x", "w13", "w2", *OPTIONS), needs))
    layout = {name: ctx.options.get(name, plain) for name, plain in _LAYOUT.items()}
    weights, ids, places = _choices(x, w13, asked)
    owned = range_of(asked.experts)
    if owned is None and (asked.offsets is not None or asked.experts is not None):
        owned = (0, w13.shape[0])
    dout = dout.contiguous()
    whole = [wanted[name] for name in ("x", "w13", "w2", "b13", "b2")]
    whole.append(wanted["topk_weights"] or wanted["router_logits"])
    ranges = dict(zip(("experts_low", "experts_high"), owned or (0, 0)))
    kept = z if z.dim() == 2 else None
    given: tuple[Any, ...] = (dout, x, w13, w2, weights, places, asked.b13, asked.b2, whole, kept)
    dx, dw13, dw2, db13, db2, dweights = torch.ops.flashfit.fused_moe_backward(*given, **layout, **ranges)
    found = {"x": dx, "w13": dw13, "w2": dw2, "b13": db13, "b2": db2}
    if wanted["router_logits"]:
        found["router_logits"] = _router_gradient(asked.router_logits, ids, dweights, asked)
    if wanted["topk_weights"]:
        found["topk_weights"] = dweights.to(asked.topk_weights.dtype)
    first, second, gate = shared_of(asked.shared)
    if first is not None:
        shares = torch.ones((x.shape[0], 1), dtype=torch.float32, device=x.device)
        if gate is not None:
            opening = (x.float() @ gate.float())[:, None]
            shares = torch.sigmoid(opening)
        none = torch.zeros(shares.shape, dtype=torch.int32, device=x.device)
        shared = {**layout, "weight_on": "output"}
        of_gate = gate is not None and (wanted["shared_gate"] or wanted["x"])
        whole = [wanted["x"], wanted["shared_w13"], wanted["shared_w2"], False, False, of_gate]
        given = (dout, x, first[None], second[None], shares, none, None, None, whole)
        more, dfirst, dsecond, _, _, dshares = torch.ops.flashfit.fused_moe_backward(*given, **shared)
        found["shared_w13"], found["shared_w2"] = dfirst.squeeze(0), dsecond.squeeze(0)
        if gate is not None and of_gate:
            slope = dshares * shares * torch.sigmoid(-opening)  # 1 - shares has no digits where shares are near 1
            found["shared_gate"] = (slope * x.float()).sum(dim=0).to(gate.dtype)
            more = more + (slope * gate.float()).to(more.dtype) if wanted["x"] else more
        found["x"] = dx + more if wanted["x"] else dx
    return tuple(found.get(name) if asks else None for name, asks in wanted.items())


_LAYOUT: dict[str, Any] = {
    "activation": "swiglu",
    "alpha": 1.0,
    "limit": 0.0,
    "shift": 0.0,
    "gate_up": "concatenated",
    "transposed": False,
    "weight_on": "output",
}


def _gradients(run: Any) -> Any:
    """The backward operator's kernel over `run`, which gives the gradients; those that are not wanted have no
    elements."""

    def kernel(
        dout: Any,
        x: Any,
        w13: Any,
        w2: Any,
        topk_weights: Any,
        topk_ids: Any,
        b13: Any,
        b2: Any,
        wanted: list[bool],
        z: Any = None,
        **numbers: Any,
    ) -> tuple[Any, ...]:
        asked = _asked((None, topk_weights, topk_ids, None, b13, b2), **numbers)
        if len(wanted) != len(MOE_GRADIENTS):
            raise InvalidArgument(f"wanted: {len(wanted)} values; accepted: {len(MOE_GRADIENTS)}, one a gradient")
        for name, each, asks in zip(("b13", "b2"), (b13, b2), wanted[3:5]):
            if asks and each is None:
                raise InvalidArgument(f"wanted: True for {name}, which is None; accepted: False")
        _check_call(x, w13, w2, asked, None, z)
        if dout.dim() != 2 or dout.dtype != x.dtype or dout.device != x.device:
            given = f"{dout.dim()} dimensions of {dout.dtype} on {dout.device}"
            raise InvalidArgument(f"dout: {given}; accepted: 2 of {x.dtype} on {x.device}, as x")
        for mine, other in zip(dout.shape, x.shape):
            _require(mine == other, _shape_words("dout", dout, f"{tuple(x.shape)}, as x"))
        found: tuple[Any, ...] = run(dout, x, w13, w2, asked, wanted, z)
        return found

    return kernel


def _new_gradients(
    dout: Any, x: Any, w13: Any, w2: Any, asked: Asked, wanted: list[bool], z: Any = None
) -> tuple[Any, ...]:
    """Memory for them, which is all that tracers want."""
    of = (x, w13, w2, asked.b13, asked.b2, asked.topk_weights)
    return tuple(
        x.new_empty((0,)) if each is None or not asks else torch.empty_like(each, memory_format=_ROW_MAJOR)
        for each, asks in zip(of, wanted)
    )


_ROW_MAJOR = torch.contiguous_format


def has_own_gradients(x: Any) -> bool:
    """Whether flashfit computes gradients where x is by itself; else PyTorch multiplies for them."""
    return not x.is_cuda


def _compute_gradients(
    dout: Any, x: Any, w13: Any, w2: Any, asked: Asked, wanted: list[bool], z: Any
) -> tuple[Any, ...]:
    if not has_own_gradients(x):
        return experts_gradients(dout, x, w13, w2, asked, wanted, z)
    if z is not None:
        raise InvalidArgument("z: given with tensors on the CPU; accepted there: None")
    made = _new_gradients(dout, x, w13, w2, asked, wanted)
    given = {"x": x, "w13": w13, "w2": w2, "dout": dout, "b13": asked.b13, "b2": asked.b2}
    given["topk_weights"] = TORCH.single("topk_weights", asked.topk_weights)
    given["topk_ids"] = TORCH.whole("topk_ids", asked.topk_ids)
    given.update((name, each if asks else None) for name, each, asks in zip(MOE_GRADIENTS, made, wanted))
    with torch.no_grad():
        memories = {name: None if each is None else TORCH.read(name, each, 0) for name, each in given.items()}
    status = binding().moe_backward(memories, numbers_of(asked))
    if status:
        raise failure(status)
    return made


_BACKWARD = Operator(
    "fused_moe_backward",
    _gradients(_compute_gradients),
    _gradients(_new_gradients),
    inputs=("dout", "x", "w13", "w2", "topk_weights", "topk_ids"),
    arguments="Tensor? b13, Tensor? b2, bool[] wanted, Tensor? z=None, *, str activation='swiglu', "
    "float alpha=1.0, float limit=0.0, float shift=0.0, str gate_up='concatenated', bool transposed=False, "
    "str weight_on='output', int experts_low=0, int experts_high=0".replace("'", '"'),
    returns="(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    batches=False,
    refusal=NO_SECOND,
)


def _operator(name: str, kernel: Any, returns: str, writes: tuple[str, ...] = ()) -> Operator:
    """Shapes are flashfit.fused_moe's; with offsets they are grouped_mlp's. Autocast casts what has x's dtype."""
    return Operator(
        name,
        kernel(compute_moe),
        kernel(fake_moe),
        inputs=("x", "w13", "w2"),
        writes=writes,
        options=OPTIONS,
        arguments=_NUMBERS,
        returns=returns,
        casts=True,
        cast_like_inputs=("b13", "b2", "shared_w13", "shared_w2", "shared_gate"),
        batches=False,
        gradients=Gradients("fused_moe_keeping", _backward, saves=1) if name == "fused_moe" else None,
        refusal=NO_OUT if writes else NO_KEEPING,
    )


OPERATORS = (
    _operator("fused_moe", _allocating, "Tensor"),
    _operator("fused_moe_out", _writing, "()", ("out",)),
    _operator("fused_moe_keeping", _keeping, "(Tensor, Tensor)"),
    _BACKWARD,
)


def _tensor(name: str, x: Any, values: Any, least: int) -> Any:
    if values is None or isinstance(values, torch.Tensor):
        return values
    return TORCH.array(name, x, whole_numbers_list(name, values, least, "one dimension"), "int32")


def moe_by_operators(x: Any, w13: Any, w2: Any, asked: Asked, out: Any, workspace: Any) -> Any:
    """fused_moe() and grouped_mlp() through torch.ops.flashfit. torch.compile traces it without a graph break.

    workspace is None in compiled code.
    """
    if workspace is not None:
        raise InvalidArgument("workspace: given in compiled code or under a mode of torch; accepted: None")
    layout_of(asked.gate_up, asked.transposed, asked.weight_on)
    kind, alpha, limit, shift = activation_of(asked.activation)
    shared = shared_of(asked.shared)
    owned = range_of(asked.experts)
    bias = asked.router_bias
    tensors = {
        "router_logits": asked.router_logits,
        "topk_weights": asked.topk_weights,
        "topk_ids": asked.topk_ids,
        "offsets": _tensor("offsets", x, asked.offsets, 0),
        "b13": asked.b13,
        "b2": asked.b2,
        "router_bias": bias if bias is None else TORCH.numbers("router_bias", x, bias),
        "expert_map": None if owned else _tensor("experts", x, asked.experts, -1),
        **dict(zip(OPTIONS[-3:], shared)),
    }
    given = {name: each for name, each in tensors.items() if each is not None}
    check_tensors({"x": x, "w13": w13, "w2": w2, **given}, {"out": out})
    numbers = numbers_of(asked)
    options = {
        "top_k": numbers.top_k,
        "router": asked.router,
        "renormalize": asked.renormalize,
        "groups": numbers.groups,
        "groups_kept": numbers.groups_kept,
        "scale": float(asked.scale),
        "activation": "swiglu" if kind == 0 else asked.activation,
        "alpha": alpha or 1.0,
        "limit": limit,
        "shift": shift,
        "gate_up": asked.gate_up,
        "transposed": asked.transposed,
        "weight_on": asked.weight_on,
        "experts_low": numbers.low,
        "experts_high": numbers.high,
        "recompute": asked.recompute,
    }
    if out is None:
        return torch.ops.flashfit.fused_moe(x, w13, w2, *tensors.values(), **options)
    torch.ops.flashfit.fused_moe_out(x, w13, w2, out, *tensors.values(), **options)
    return out
