"""An operator of torch.ops.flashfit, described once: its schema, and all that registering it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from ._packages.torch_tensors import NO_GRADIENT
from ._torch_rules import autocast, batch, guard_gradients


class Gradients(NamedTuple):
    """How autograd differentiates an operator whose arguments by place are tensors alone."""

    forward: str  # the operator that a call runs then; its first result is the one that has gradients
    #: of (ctx, needs, grad): each tensor's gradient, in the operator's order, where needs says True. ctx.options has
    #: what was given by name, ctx.saved_tensors the tensors, None where one was left out, after those of `forward`
    backward: Callable[..., tuple[Any, ...]]
    results: int = 1  # of those of `forward`, how many the caller gets
    saves: int = 0  # with how many of them, the last ones, ctx.saved_tensors begins
    check: Callable[[tuple[Any, ...], dict[str, Any]], None] | None = None  # refuses tensors and options that have none


class Operator(NamedTuple):
    """One operator. Its tensors are positional, in the order of the fields: transforms look for those that they map or
    trace among the positional arguments alone; and no result is a keyword, as dynamo of torch 2.4 expects operators to
    return such a one."""

    name: str
    kernel: Callable[..., Any]  # on the CPU and on a GPU
    fake: Callable[..., Any]  # for tracers: results without values
    inputs: tuple[str, ...]  # tensors whose first dimension a mapped one joins
    arguments: str  # what is no tensor, as a schema has it
    returns: str
    writes: tuple[str, ...] = ()  # tensors that are written
    options: tuple[str, ...] = ()  # tensors that may be None
    casts: bool = False  # autocast gives inputs its dtype
    cast_halves: tuple[str, ...] = ()  # options to which it gives it where they are of the other 16-bit type
    cast_like_inputs: tuple[str, ...] = ()  # options to which it gives it as to inputs
    batches: bool = True  # whether a mapped dimension may join the inputs' first
    gradients: Gradients | None = None
    refusal: str = NO_GRADIENT  # without gradients: why a tensor may not require grad, and what is accepted

    @property
    def tensors(self) -> tuple[str, ...]:
        """All of them, by place."""
        return (*self.inputs, *self.writes, *self.options)

    @property
    def schema(self) -> str:
        """As torch.library takes it."""
        given = [
            *(f"Tensor {name}" for name in self.inputs),
            *(f"Tensor({'abc'[i]}!) {name}" for i, name in enumerate(self.writes)),
            *(f"Tensor? {name}=None" for name in self.options),
        ]
        return f"{self.name}({', '.join(given)}, {self.arguments}) -> {self.returns}"


def register(operators: Sequence[Operator]) -> Any:
    """Defines the operators; they live as long as what is returned."""
    library = torch.library.Library("flashfit", "FRAGMENT")
    # Compiled code has to keep the strides that the tracer saw: those of results may follow those of inputs.
    strides = getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)
    for operator in operators:
        name = operator.name
        library.define(operator.schema, tags=(torch.Tag.pt2_compliant_tag, strides))
        op = getattr(torch.ops.flashfit, name).default
        for device in ("CPU", "CUDA"):
            library.impl(name, operator.kernel, device)
            if operator.casts:
                library.impl(name, autocast(op, operator, device.lower()), f"Autocast{device}")
        library.impl(name, guard_gradients(op, operator), "Autograd", with_keyset=True)
        torch.library.register_fake(f"flashfit::{name}", operator.fake, lib=library)
        if (
            operator.batches and not operator.writes and hasattr(torch.library, "register_vmap")
        ):  # torch 2.4 makes a call for each
            torch.library.register_vmap(f"flashfit::{name}", batch(op, operator), lib=library)
    return library
