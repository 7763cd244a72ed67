"""flashfit.moe_route of torch tensors with memory of their own, and through torch.ops.flashfit."""

from __future__ import annotations

from typing import Any

import torch

from ._binding import UNREADABLE, binding, failure
from ._errors import InvalidArgument
from ._packages import TORCH
from ._route import check_sizes, chosen_of, flags_of, groups_of, route_with_care, scale_of
from ._torch_calls import check_queue, check_tensors, is_for_the_cpu, queue_of
from ._torch_fakes import fake_route
from ._torch_operators import Operator

_route = binding().route
_INVALID_ARGUMENT = 1  # FLASHFIT_INVALID_ARGUMENT


def compute_route(
    logits: Any,
    top_k: Any,
    router: Any,
    renormalize: Any,
    weights: Any = None,
    ids: Any = None,
    router_bias: Any = None,
    groups: Any = None,
    scale: Any = 1.0,
) -> tuple[Any, Any]:
    """The call on the current stream, unaware of modes and transforms: plain eager code and the operators' kernels come
    here."""
    flags, chosen = flags_of(router, renormalize), chosen_of(top_k)
    if isinstance(router_bias, torch.Tensor):
        router_bias = router_bias.detach()  # it only chooses
    more = (router_bias, groups, scale)
    status = UNREADABLE
    # What has options goes the careful way: it is the CPU's alone.
    if (
        router_bias is None
        and groups is None
        and type(scale) is float
        and scale == 1.0
        and not any(x is not None and x.is_nested for x in (logits, weights, ids))
    ):  # a nested tensor has no shape
        shape = check_sizes(logits.shape, chosen)
        new_weights = logits.new_empty(shape, dtype=torch.float32) if weights is None else weights
        new_ids = logits.new_empty(shape, dtype=torch.int32) if ids is None else ids
        if new_weights.shape == shape and new_ids.shape == shape:
            status = _route(logits, new_weights, new_ids, flags, None, None)
    if status == 0:
        return new_weights, new_ids
    if status in (UNREADABLE, _INVALID_ARGUMENT):  # the careful way has the words
        return route_with_care(TORCH, logits, top_k, router, renormalize, weights, ids, None, None, *more)
    error = failure(status)
    if not is_for_the_cpu(error, logits):
        raise error
    here = None if router_bias is None else router_bias.cpu()
    found = compute_route(logits.cpu(), top_k, router, renormalize, None, None, here, groups, scale)
    return new_weights.copy_(found[0]), new_ids.copy_(found[1])


def _pair(groups: int, groups_kept: int) -> tuple[int, int] | None:
    """The operators' groups as moe_route() has them."""
    if groups_kept and not groups:
        raise InvalidArgument(f"groups_kept: {groups_kept} without groups; accepted: 0")
    return (groups, groups_kept) if groups else None


def _allocating(run: Any) -> Any:
    """An operator's kernel over compute_route() or fake_route()."""

    def kernel(
        logits: Any,
        top_k: int,
        router: str = "softmax",
        renormalize: bool = True,
        router_bias: Any = None,
        groups: int = 0,
        groups_kept: int = 0,
        scale: float = 1.0,
    ) -> tuple[Any, Any]:
        more = (router_bias, _pair(groups, groups_kept), scale)
        found: tuple[Any, Any] = run(logits, top_k, router, renormalize, None, None, *more)
        return found

    return kernel


def _writing(run: Any) -> Any:
    def kernel(
        logits: Any,
        weights: Any,
        ids: Any,
        top_k: int,
        router: str = "softmax",
        renormalize: bool = True,
        router_bias: Any = None,
        groups: int = 0,
        groups_kept: int = 0,
        scale: float = 1.0,
    ) -> None:
        more = (router_bias, _pair(groups, groups_kept), scale)
        run(logits, top_k, router, renormalize, weights, ids, *more)

    return kernel


def _operator(name: str, kernel: Any, returns: str, writes: tuple[str, ...] = ()) -> Operator:
    """Shapes are flashfit.moe_route's. Autocast changes nothing: results are fp32 of logits of any dtype."""
    return Operator(
        name,
        kernel(compute_route),
        kernel(fake_route),
        inputs=("logits",),
        writes=writes,
        # The bias chooses and has no gradient. It is the last tensor, so that older exported programs still load.
        arguments='int top_k, str router="softmax", bool renormalize=True, Tensor? router_bias=None, int groups=0, '
        "int groups_kept=0, float scale=1.0",
        returns=returns,
    )


OPERATORS = (
    _operator("moe_route", _allocating, "(Tensor, Tensor)"),
    _operator("moe_route_out", _writing, "()", ("weights", "ids")),
)


def moe_route(
    logits: Any,
    top_k: int,
    *,
    router: str = "softmax",
    renormalize: bool = True,
    router_bias: Any = None,
    groups: Any = None,
    scale: float = 1.0,
    weights: Any = None,
    ids: Any = None,
    stream: Any = None,
    variant: str | None = None,
) -> tuple[Any, Any]:
    """flashfit.moe_route of torch tensors through torch.ops.flashfit. torch.compile traces it without a graph break.

    As flashfit.moe_route, but for variant, which is None. In compiled code stream is None too.
    """
    check_tensors({"logits": logits}, {"weights": weights, "ids": ids})
    check_queue(logits, stream, variant)
    flags_of(router, renormalize, router_bias, groups)
    top_k = chosen_of(top_k)
    if router_bias is not None and not isinstance(router_bias, torch.Tensor):
        router_bias = TORCH.numbers("router_bias", logits, router_bias)
    options = (router, renormalize, router_bias, *groups_of(groups), scale_of(scale))
    with queue_of(logits, stream):
        if weights is None and ids is None:
            found: tuple[Any, Any] = torch.ops.flashfit.moe_route(logits, top_k, *options)
            return found
        if weights is None or ids is None:
            shape = check_sizes(logits.shape, top_k)
            weights = logits.new_empty(shape, dtype=torch.float32) if weights is None else weights
            ids = logits.new_empty(shape, dtype=torch.int32) if ids is None else ids
        torch.ops.flashfit.moe_route_out(logits, weights, ids, top_k, *options)
        return weights, ids
