"""flashfit.moe_route: what it takes, and its call of arrays of any package. _operations has the function itself."""

from __future__ import annotations

from typing import Any, TypeVar

from ._binding import binding, failure
from ._calls import Call
from ._errors import InvalidArgument, InvalidType
from ._packages import Package
from ._tensors import index_of, number_of, shown, truth_of

T = TypeVar("T")

MOST_EXPERTS, MOST_CHOSEN = 512, 16  # flashfit.h: of logits, and of top_k
_RENORMALIZE = 512  # FLASHFIT_RENORMALIZE
#: FLASHFIT_TOPK_FIRST, FLASHFIT_SIGMOID, FLASHFIT_SQRT_SOFTPLUS
_FLAGS = {"softmax": 0, "topk_softmax": 256, "sigmoid": 2048, "sqrt_softplus": 4096}
_SCORES = ("sigmoid", "sqrt_softplus")  # whose choice may have a bias and groups
#: The C API takes numbers in fp32, where 0 means the default: what is no larger than LEAST is 0 there.
LEAST, MOST = 2.0**-150, 3.4028234663852886e38


def flags_of(router: Any, renormalize: Any, router_bias: Any = None, groups: Any = None) -> int:
    """The C API's flags. Refuses a bias and groups that the router does not have."""
    flags = _FLAGS.get(router) if isinstance(router, str) else None
    if flags is None:
        raise InvalidArgument(f"router: {shown(router)}; accepted: " + ", ".join(f'"{name}"' for name in _FLAGS))
    if router not in _SCORES:
        more = " or ".join(f'"{name}"' for name in _SCORES)
        if router_bias is not None:
            raise InvalidArgument(f'router_bias: given with router "{router}"; accepted: None, or router {more}')
        if groups_of(groups)[0] > 1:
            raise InvalidArgument(f'groups: {shown(groups)} with router "{router}"; accepted: None, or router {more}')
    return flags | (_RENORMALIZE if truth_of("renormalize", renormalize) else 0)


def groups_of(groups: Any) -> tuple[int, int]:
    """(groups, how many of them a token keeps), both 0 for none."""
    if groups is None:
        return 0, 0
    pair = isinstance(groups, (tuple, list)) and len(groups) == 2
    if not pair or not all(type(each) is int for each in groups):
        raise InvalidType(f"groups: {shown(groups)}; accepted: (groups, groups kept), or None for one group")
    if not 1 <= groups[1] <= groups[0] <= MOST_EXPERTS:
        raise InvalidArgument(
            f"groups: {shown(groups)}; accepted: (groups, groups kept), 1 to {MOST_EXPERTS} groups, of which 1 to all "
            "are kept"
        )
    return groups[0], groups[1]


def scale_of(scale: Any) -> float:
    """What multiplies weights."""
    if isinstance(scale, bool):
        raise InvalidType(f"scale: {shown(scale)}; accepted: a number")
    factor: float = scale if type(scale) is float else number_of("scale", scale, "a number")
    if not LEAST < abs(factor) <= MOST:
        raise InvalidArgument(f"scale: {factor:g}; accepted: finite numbers other than 0, in fp32")
    return factor


def chosen_of(top_k: Any) -> int:
    """top_k as an integer, of whatever size."""
    if type(top_k) is int:  # torch.compile follows integers no further than this
        return top_k
    try:
        return index_of(top_k)
    except TypeError:
        raise InvalidType(f"top_k: {shown(top_k)}; accepted: an integer") from None


def check_sizes(shape: tuple[int, ...], top_k: int) -> tuple[int, int]:
    """The shape of weights and ids, for logits of this shape. What would make no result is refused before one is
    made."""
    if len(shape) != 2:
        raise InvalidArgument(f"logits: {len(shape)} dimensions; accepted: 2, [tokens, experts]")
    tokens, experts = shape
    if not 1 <= experts <= MOST_EXPERTS:
        raise InvalidArgument(f"logits: shape is {tuple(shape)}; accepted: 1 to {MOST_EXPERTS} experts")
    if not 1 <= top_k <= min(experts, MOST_CHOSEN):
        raise InvalidArgument(f"top_k: {shown(top_k)}; accepted: 1 to {min(experts, MOST_CHOSEN)}")
    return tokens, top_k


def check_result(name: str, shape: tuple[int, ...], wanted: tuple[int, int]) -> None:
    """Refuses weights or ids of another shape."""
    if tuple(shape) != wanted:
        raise InvalidArgument(f"{name}: shape is {tuple(shape)}; accepted: {wanted}, [tokens, top_k]")


def route_with_care(
    package: Package,
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
    """moe_route() of any package's arrays: each is read in Python, and what is odd is refused in words."""
    flags, chosen = flags_of(router, renormalize, router_bias, groups), chosen_of(top_k)
    options = (*groups_of(groups), scale_of(scale))
    given = {"logits": logits, "weights": weights, "ids": ids}
    call = Call(package, "logits", logits, given, stream, variant)
    shape = check_sizes(call.memory.shape, chosen)
    results, memories = [], []
    for name, x, dtype in (("weights", weights, "float32"), ("ids", ids, "int32")):
        with call.allocating():
            result = call.empty(name, shape, dtype) if x is None else x
        memory = call.read_result(name, result, x is not None)
        check_result(name, memory.shape, shape)
        results.append(result)
        memories.append(memory)
    plain = (call.memory, *memories, flags, call.queue, call.variant)
    if router_bias is None and options == (0, 0, 1.0):
        status = binding().route(*plain)
    else:
        with call.allocating():
            bias = None if router_bias is None else package.numbers("router_bias", logits, router_bias)
        bias_memory = None if bias is None else call.read("router_bias", bias)
        status = binding().route(*plain, (bias_memory, *options))
    if status:
        raise failure(status)
    call.queued()
    return results[0], results[1]
