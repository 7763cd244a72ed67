"""flashfit.fused_moe and flashfit.grouped_mlp: what they take, and their call of arrays of any package. _operations has
the functions themselves."""

from __future__ import annotations

import math
import operator
import re
from typing import Any, NamedTuple

from ._binding import binding, failure
from ._calls import Call
from ._errors import FlashfitError, InvalidArgument, InvalidType
from ._packages import Package
from ._route import LEAST, MOST, chosen_of, flags_of, groups_of, scale_of
from ._tensors import Memory, shown, truth_of, whole_numbers_list

_TRANSPOSED, _INTERLEAVED, _WEIGHT_ON_INPUT, KEEPING = 8192, 16384, 32768, 65536  # FLASHFIT_TRANSPOSED and so on
_ROUTED_BY = ("router_logits", "topk_weights", "topk_ids")


class Swiglu(NamedTuple):
    """SwiGLU with clamps, an activation of fused_moe(): with g' = min(g, limit) and u' = clamp(u, -limit, limit),
    h = g' / (1 + exp(-alpha g')) (u' + shift). limit None: no clamps. GPT-OSS has Swiglu(1.702, 7.0, 1.0), DeepSeek-V4
    Swiglu(limit=10.0)."""

    alpha: float = 1.0
    limit: float | None = None
    shift: float = 0.0


#: FLASHFIT_SWIGLU and so on, by name, with alpha, limit and shift as the C API has them.
ACTIVATIONS: dict[str, tuple[int, float, float, float]] = {
    "swiglu": (0, 0.0, 0.0, 0.0),
    "gpt_oss": (0, 1.702, 7.0, 1.0),
    "geglu_tanh": (1, 0.0, 0.0, 0.0),
    "geglu_erf": (2, 0.0, 0.0, 0.0),
    "silu": (3, 0.0, 0.0, 0.0),
    "relu2": (4, 0.0, 0.0, 0.0),
}


class Asked(NamedTuple):
    """What fused_moe() or grouped_mlp() was given beyond x, w13 and w2."""

    router_logits: Any = None
    topk_weights: Any = None
    topk_ids: Any = None
    offsets: Any = None
    top_k: Any = None
    router: Any = "softmax"
    renormalize: Any = True
    router_bias: Any = None
    groups: Any = None
    scale: Any = 1.0
    b13: Any = None
    b2: Any = None
    activation: Any = "swiglu"
    gate_up: Any = "concatenated"
    transposed: Any = False
    weight_on: Any = "output"
    experts: Any = None
    shared: Any = None
    recompute: Any = False


class Numbers(NamedTuple):
    """What of a call is no tensor, as the C API takes it."""

    flags: int
    low: int
    high: int
    activation: int
    alpha: float
    limit: float
    shift: float
    top_k: int
    groups: int
    groups_kept: int
    scale: float


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidType(f"activation: its {name} is {shown(value)}; accepted: a number")
    if value > MOST or value < -MOST:  # past fp32, or as an integer past any float
        return math.inf if value > 0 else -math.inf
    return float(value)


def activation_of(activation: Any) -> tuple[int, float, float, float]:
    """The C API's activation, alpha, limit and shift."""
    if isinstance(activation, Swiglu):
        alpha, shift = _number("alpha", activation.alpha), _number("shift", activation.shift)
        limit = 0.0 if activation.limit is None else _number("limit", activation.limit)
        if not (LEAST < abs(alpha) <= MOST and abs(shift) <= MOST):
            accepted = "finite numbers, and alpha other than 0, in fp32"
            raise InvalidArgument(f"activation: {shown(activation)}; accepted: {accepted}")
        if activation.limit is not None and not limit > LEAST:
            raise InvalidArgument(f"activation: its limit is {limit:g}; accepted: above 0 in fp32, or None for none")
        return 0, alpha, limit, shift
    found = ACTIVATIONS.get(activation) if isinstance(activation, str) else None
    if found is None:
        names = ", ".join(f'"{name}"' for name in ACTIVATIONS)
        raise InvalidArgument(f"activation: {shown(activation)}; accepted: {names}, or a flashfit.Swiglu")
    return found


def has_gate(activation: Any) -> bool:
    """Whether w13 has a gate and an up for each feature; else it has one output."""
    return activation not in ("silu", "relu2")


def _one_of(name: str, value: Any, flags: dict[str, int]) -> int:
    found = flags.get(value) if isinstance(value, str) else None
    if found is None:
        raise InvalidArgument(f"{name}: {shown(value)}; accepted: " + ", ".join(f'"{each}"' for each in flags))
    return found


def layout_of(gate_up: Any, transposed: Any, weight_on: Any) -> int:
    """The C API's flags of where numbers lie, and what weights multiply."""
    return (
        _one_of("gate_up", gate_up, {"concatenated": 0, "interleaved": _INTERLEAVED})
        | _one_of("weight_on", weight_on, {"output": 0, "input": _WEIGHT_ON_INPUT})
        | (_TRANSPOSED if truth_of("transposed", transposed) else 0)
    )


def _is_whole(value: Any) -> bool:
    """Of what torch.compile holds as a symbol it knows the type, not the attributes."""
    return not isinstance(value, bool) and (isinstance(value, int) or hasattr(value, "__index__"))


def _is(value: Any, default: Any) -> bool:
    """Whether an option is its default. Arrays compare as arrays."""
    return isinstance(value, (str, int, float)) and value == default


def range_of(experts: Any) -> tuple[int, int] | None:
    """experts as (low, high); None where it is a map, or None."""
    if not isinstance(experts, tuple):
        return None
    if len(experts) != 2 or not all(map(_is_whole, experts)):
        raise InvalidType(f"experts: {shown(experts)}; accepted: (low, high), or an array of each expert's place")
    low, high = (each if isinstance(each, int) else operator.index(each) for each in experts)
    if not 0 <= low < high < 2**31:
        raise InvalidArgument(f"experts: ({shown(low)}, {shown(high)}); accepted: 0 <= low < high < 2**31")
    return low, high


def shared_of(shared: Any) -> tuple[Any, Any, Any]:
    """(w13, w2, gate) of a shared expert."""
    if shared is None:
        return None, None, None
    if not isinstance(shared, (tuple, list)) or len(shared) not in (2, 3) or shared[0] is None or shared[1] is None:
        raise InvalidType(f"shared: {shown(shared)}; accepted: (w13, w2), (w13, w2, gate), or None for no such expert")
    return shared[0], shared[1], shared[2] if len(shared) == 3 else None


def numbers_of(asked: Asked) -> Numbers:
    """Refuses what makes no sense, whatever the tensors are."""
    if asked.offsets is None:
        given = [name for name in _ROUTED_BY if getattr(asked, name) is not None]
        if given not in (["router_logits"], ["topk_weights", "topk_ids"]):
            if len(given) == 1:  # of the two that come together
                (missing,) = set(_ROUTED_BY[1:]) - set(given)
                raise InvalidArgument(f"{missing}: None with {given[0]}; accepted: an array of its shape")
            said = " and ".join(given) if given else "nothing"
            raise InvalidArgument(
                f"router_logits: {said} given; accepted: router_logits with top_k, or topk_weights with topk_ids"
            )
    flags = layout_of(asked.gate_up, asked.transposed, asked.weight_on)
    activation = activation_of(asked.activation)
    if flags & _INTERLEAVED and not has_gate(asked.activation):
        raise InvalidArgument(
            f'gate_up: "interleaved" with activation "{asked.activation}", which has no gate; accepted: "concatenated"'
        )
    truth_of("recompute", asked.recompute)
    routed = asked.router_logits is not None
    if not routed:
        plain = Asked()
        for name in ("top_k", "router_bias", "groups"):
            if getattr(asked, name) is not None:
                raise InvalidArgument(f"{name}: given without router_logits; accepted: None")
        of_router = {"router": asked.router, "renormalize": asked.renormalize, "scale": scale_of(asked.scale)}
        for name, x in of_router.items():
            if not _is(x, getattr(plain, name)):
                raise InvalidArgument(f"{name}: {shown(x)} without router_logits; accepted: with it")
    top_k, groups, kept, scale = 0, 0, 0, 0.0
    if routed:
        flags |= flags_of(asked.router, asked.renormalize, asked.router_bias, asked.groups)
        if asked.top_k is None:
            raise InvalidArgument("top_k: None with router_logits; accepted: an integer from 1 to 16")
        top_k = chosen_of(asked.top_k)
        if not 1 <= top_k <= 16:
            raise InvalidArgument(f"top_k: {shown(top_k)}; accepted: 1 to 16")
        groups, kept = groups_of(asked.groups)
        scale = scale_of(asked.scale)
    low, high = range_of(asked.experts) or (0, 0)
    return Numbers(flags, low, high, *activation, top_k, groups, kept, scale)


def _map_of(package: Package, x: Any, experts: Any) -> Any:
    """experts where it is a map."""
    if experts is None or isinstance(experts, tuple):
        return None
    return _int32("experts", package, x, experts, -1)


def _int32(name: str, package: Package, x: Any, values: Any, least: int) -> Any:
    """An int32 array where x is."""
    if package.owns(values):
        return package.whole(name, values)
    return package.array(name, x, whole_numbers_list(name, values, least, "one dimension"), "int32")


def _check_range(numbers: Numbers, w13: Memory | None) -> None:
    """Refuses a range of experts of which w13 has not each, or more."""
    there = w13.shape[0] if w13 is not None and len(w13.shape) == 3 else None
    if numbers.high and there is not None and numbers.high - numbers.low != there:
        raise InvalidArgument(
            f"experts: ({numbers.low}, {numbers.high}); accepted: a range of {there} experts, as many as w13 has"
        )


#: What the C API calls otherwise than fused_moe() does.
_SAID = {"expert_map": "experts", "experts_high": "experts"}
#: The dtype that the C API takes of what is copied where it has another, and all that a call takes.
_COPIED = {
    **dict.fromkeys(("topk_ids", "offsets", "experts"), ("int32", "int32 or int64")),
    "topk_weights": ("fp32", "fp16, bf16 or fp32"),
}
_AT = re.compile(r"(topk_ids|offsets): -1 at \[(\d+)(?:, (\d+))?\]")


def _in_own_words(error: FlashfitError, asked: Asked) -> FlashfitError:
    """What the C API refused, by the arguments' names and values: it knows int64 only as the int32 copied of it."""
    said = str(error)
    for name, own in _SAID.items():
        if said.startswith(f"{name}: "):
            said = said.replace(name, own, 1)
    said = said.replace("experts of expert_map", "entries of experts").replace(": NULL; accepted", ": None; accepted")
    for name, (taken, accepted) in _COPIED.items():
        if said.startswith(f"{name}: dtype is ") and said.endswith(f"; accepted: {taken}"):
            said = said.removesuffix(taken) + accepted
    at = _AT.match(said)
    if at and hasattr(getattr(asked, at[1]), "dtype"):
        value = getattr(asked, at[1])[tuple(int(each) for each in at.groups()[1:] if each)]
        said = said.replace("-1 at", f"{int(value)} at", 1)
    return type(error)(said)


def moe_with_care(
    package: Package, x: Any, w13: Any, w2: Any, asked: Asked, out: Any, workspace: Any, z: Any = None
) -> Any:
    """fused_moe() and grouped_mlp() of any package's arrays: each is read in Python, and what is odd is refused in
    words. z: where a GPU is to write what comes before the activation, as flashfit_fused_moe_args has it."""
    numbers = numbers_of(asked)
    shared = shared_of(asked.shared)
    given = {"x": x, "w13": w13, "w2": w2, "out": out, "b13": asked.b13, "b2": asked.b2, "offsets": asked.offsets}
    given.update(router_logits=asked.router_logits, topk_weights=asked.topk_weights, topk_ids=asked.topk_ids)
    given.update(zip(("shared_w13", "shared_w2", "shared_gate"), shared))
    arrays = {name: each for name, each in given.items() if package.owns(each)}
    call = Call(package, "x", x, arrays, None, None, workspace)
    with call.allocating():
        result = out
        if out is None:
            call.expect_allocator("out: None", f"{package.kind}, as x")
            result = package.like(x)
        # int64 ids and 16-bit weights, as frameworks give them, are copied.
        given["topk_ids"] = asked.topk_ids if asked.topk_ids is None else package.whole("topk_ids", asked.topk_ids)
        if asked.topk_weights is not None:
            given["topk_weights"] = package.single("topk_weights", asked.topk_weights)
        given["router_bias"] = asked.router_bias
        if asked.router_bias is not None:
            given["router_bias"] = package.numbers("router_bias", x, asked.router_bias)
        if asked.offsets is not None:
            given["offsets"] = _int32("offsets", package, x, asked.offsets, 0)
        given["expert_map"] = _map_of(package, x, asked.experts)
    given["out"], given["z"] = result, z
    tensors = {
        name: None if given[name] is None else call.read(_SAID.get(name, name), given[name])
        for name in binding().moe_tensors
    }
    if out is not None:
        call.read_result("out", out, True)
    _check_range(numbers, tensors["w13"])
    status = binding().layer(tuple(tensors.values()), numbers, call.queue, call.workspace())
    if status:
        raise _in_own_words(failure(status), asked)
    call.queued()
    return result
