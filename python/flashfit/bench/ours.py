"""flashfit as it is measured."""

from __future__ import annotations

from typing import Any, Callable

import flashfit

from .._options import TENSORS
from .arrays import Inputs
from .cases import Case


def options_of(case: Case, inputs: Inputs) -> dict[str, Any]:
    """What flashfit.attention is asked beside q, k, v and where to write."""
    options: dict[str, Any] = {"causal": case.causal, "softmax_scale": case.softmax_scale}
    if case.ragged:
        options.update(cu_seqlens_q=inputs.cu_seqlens_q, cu_seqlens_k=inputs.cu_seqlens_k)
    if case.windowed:
        options["window"] = (case.window_left, case.window_right)
    if case.softcap:
        options["softcap"] = case.softcap
    options.update({name: given for name in TENSORS if (given := getattr(inputs, name)) is not None})
    return options


def prepare(case: Case, inputs: Inputs, variant: str | None = None) -> Callable[[], Any]:
    """A call that writes inputs.out and returns it."""
    attend = flashfit.attention
    q, k, v = inputs.q, inputs.k, inputs.v
    options = {**options_of(case, inputs), "out": inputs.out}
    if variant is not None:
        options["variant"] = variant
    return lambda: attend(q, k, v, **options)
