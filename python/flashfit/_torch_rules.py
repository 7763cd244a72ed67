"""What torch's dispatcher does to the operators above their kernels: gradients, autocast, vmap."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad, graph

from ._errors import InvalidArgument

if TYPE_CHECKING:
    from ._torch_operators import Gradients, Operator

_Keys, _Key = torch._C.DispatchKeySet, torch._C.DispatchKey
_KERNEL_KEYS = (_Key.CPU, _Key.CUDA)
_AUTOCAST = _Keys(_Key.AutocastCPU) | _Keys(_Key.AutocastCUDA)
_AFTER_AUTOGRAD = torch._C._after_autograd_keyset
#: A key set as something that hashes quickly; torch 2.4 offers its text alone.
_identity: Callable[[Any], Any] = getattr(_Keys, "raw_repr", repr)
_HALVES = (torch.float16, torch.bfloat16)
_is_grad_enabled = torch.is_grad_enabled


#: What a tensor that requires grad is told.
NO_SECOND = "requires grad, and flashfit has no second derivative; accepted: create_graph=False"
NO_OUT = "requires grad in a call with out=, which has no backward; accepted: out=None, or torch.no_grad()"
NO_KEEPING = "requires grad, and this operator is the forward of fused_moe; accepted: a call of fused_moe"
_peek_transform = torch._C._functorch.peek_interpreter_stack


def _refuse_tangent(name: str, x: Any) -> None:
    if forward_ad.unpack_dual(x).tangent is not None:
        raise InvalidArgument(
            f"{name}: has a tangent, and flashfit has no forward-mode derivative; accepted: tensors without"
        )


class _Node(torch.autograd.Function):  # type: ignore[misc]
    """An operator in autograd's graph, by its Gradients."""

    @staticmethod
    def forward(ctx: Any, gradients: Gradients, run: Any, options: dict[str, Any], *tensors: Any) -> Any:
        found = run(*tensors, **options)
        results = found if isinstance(found, tuple) else (found,)
        ctx.save_for_backward(*results[len(results) - gradients.saves :], *tensors)
        ctx.gradients, ctx.options = gradients, options
        given = results[: gradients.results]
        ctx.mark_non_differentiable(*given[1:])
        return given[0] if len(given) == 1 else given

    @staticmethod
    def backward(ctx: Any, grad: Any, *_: Any) -> Any:
        # In the dtypes that the forward computed in: a caller's autocast may still be on, and would cast in between.
        with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST):
            return None, None, None, *ctx.gradients.backward(ctx, ctx.needs_input_grad[3:], grad)


#: _Node.apply() without its questions about transforms of torch.func.
_apply_outside_transforms = super(torch.autograd.Function, _Node).apply


def in_graph(
    gradients: Gradients,
    run: Callable[..., Any],
    tensors: tuple[Any, ...],
    options: dict[str, Any],
    guarded: bool = False,
) -> Any:
    """A call of an operator's tensors, those that come last left out or not, as a node of autograd's graph. run: what
    gradients.forward does below autograd, of these arguments. guarded: torch's guard says that no transform of
    torch.func has to do with the tensors. What has no gradients was refused before."""
    return (_apply_outside_transforms if guarded else _Node.apply)(gradients, run, options, *tensors)


def guard_gradients(op: Any, operator: Operator) -> Any:
    """The autograd kernel: a call that needs gradients becomes a node of autograd's graph, or is refused where there
    are none, for a result without history would be wrong silently.

    A second trip through the dispatcher would double the cost of a call, so where the CPU's or CUDA's kernel is all
    that is left below autograd, it is called directly.
    """
    nothing_between = set()
    names, kernel, gradients = operator.tensors, operator.kernel, operator.gradients
    written = slice(len(operator.inputs), len(operator.inputs) + len(operator.writes))

    def forward_below(keys: Any, *tensors: Any, **options: Any) -> Any:
        forward = getattr(torch.ops.flashfit, gradients.forward).default  # type: ignore[union-attr]
        with torch._C._AutoDispatchBelowAutograd():
            return forward.redispatch(keys & _AFTER_AUTOGRAD, *tensors, **options)

    def guarded(keys: Any, *given: Any, **options: Any) -> Any:
        dual, wanting = forward_ad._current_level >= 0, None
        if dual or _is_grad_enabled():
            for name, x in zip(names, given):
                if x is not None:
                    if dual:
                        _refuse_tangent(name, x)
                    if wanting is None and x.requires_grad and _is_grad_enabled():
                        wanting = name
        if wanting is not None:
            if gradients is None:
                raise InvalidArgument(f"{wanting}: {operator.refusal}")
            if _peek_transform() is not None:
                raise InvalidArgument(
                    f"{wanting}: requires grad under a transform of torch.func, and flashfit has no rule for it; "
                    "accepted: torch.autograd, or tensors without"
                )
            # The dispatcher leaves out what comes last and has its default.
            tensors = (*given, *(None,) * (len(names) - len(given)))
            if gradients.check is not None:
                gradients.check(tensors, options)
            return in_graph(gradients, partial(forward_below, keys), tensors, options)
        for result in given[written]:
            if not result.is_inference():
                graph.increment_version(result)  # so that a backward that saved it notices
        if _identity(keys) in nothing_between:
            return kernel(*given, **options)
        below = keys & _AFTER_AUTOGRAD
        if below.highestPriorityTypeId() in _KERNEL_KEYS:
            nothing_between.add(_identity(keys))
        return op.redispatch(below, *given, **options)

    return guarded


def autocast(op: Any, operator: Operator, device: str) -> Any:
    """The autocast kernel: inputs in the autocast dtype, as F.scaled_dot_product_attention takes them, and the options
    that say so where they are of the other 16-bit type."""
    inputs = [*range(len(operator.inputs)), *map(operator.tensors.index, operator.cast_like_inputs)]
    halves = [operator.tensors.index(name) for name in operator.cast_halves]

    def cast(x: Any, dtype: Any) -> Any:
        eligible = x.is_floating_point() and x.dtype is not torch.float64 and x.device.type == device
        return x.to(dtype) if eligible else x

    def autocasting(*given: Any, **options: Any) -> Any:
        dtype = torch.get_autocast_dtype(device)
        arguments = list(given)
        with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST):
            for i in (i for i in (*inputs, *halves) if i < len(given)):
                x = given[i]
                if x is not None and (i in inputs or x.dtype in _HALVES):
                    arguments[i] = cast(x, dtype)
            return op(*arguments, **options)

    return autocasting


def batch(op: Any, operator: Operator) -> Any:
    """The vmap rule: a mapped dimension joins the inputs' first; where there are options, or what else is given is
    mapped (a router's bias), each is a call."""
    inputs, tensors = len(operator.inputs), len(operator.tensors)

    def fold(x: Any, dim: int | None, count: int) -> Any:
        x = x.expand(count, *x.shape) if dim is None else x.movedim(dim, 0)
        return x.flatten(0, 1)

    def unfold(x: Any, count: int) -> Any:
        return x.unflatten(0, (count, x.shape[0] // count))

    def batched(info: Any, in_dims: tuple[int | None, ...], *given: Any, **options: Any) -> tuple[Any, Any]:
        count, mapped = info.batch_size, list(zip(given, in_dims))
        if not count:  # as PyTorch's own attention: results have no shapes to take from calls that are not made
            raise InvalidArgument("vmap: the mapped dimension has size 0; accepted: 1 or more")
        if all(x is None for x in given[inputs:tensors]) and all(dim is None for dim in in_dims[inputs:]):
            found = op(*(fold(x, dim, count) for x, dim in mapped[:inputs]), *given[inputs:], **options)
            if isinstance(found, tuple):
                return tuple(unfold(x, count) for x in found), (0,) * len(found)
            return unfold(found, count), 0
        calls = [op(*(x if dim is None else x.select(dim, i) for x, dim in mapped), **options) for i in range(count)]
        if isinstance(calls[0], tuple):
            return tuple(torch.stack(each) for each in zip(*calls)), (0,) * len(calls[0])
        return torch.stack(calls), 0

    return batched
