"""Numbers that the first columns of q and k hold so that logits are what random numbers do not give: what
src/proof/reference/planted.hpp does for the command, here for whole tensors of any package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Callable

from .cases import Case

PEAK_EVERY, FIRST_PEAK = 61, 7  # rows of k


def plant(case: Case, q: Any, k: Any, v: Any, numbers: Callable[[Sequence[float]], Any]) -> None:
    """Writes into tensors [..., rows, heads, head_dim] of NumPy or PyTorch, whose fp32 vectors `numbers` makes. A logit
    is the product of a column of q and one of k times softmax_scale, half of it in each, so that both stay far from the
    ends of their types."""

    def half(logit: float) -> float:
        return math.sqrt(abs(logit) / case.softmax_scale)

    shift, trend, peak = half(case.logit_shift), half(case.logit_trend), half(case.logit_peak)
    if shift:
        q[..., 0] = shift
        if case.opposing_rows:
            q[..., 1::3, :, 0] = -shift
        k[..., 0] = math.copysign(shift, case.logit_shift)
    if trend:
        q[..., 1] = trend
        last = k.shape[-3] - 1
        most = math.copysign(trend, case.logit_trend)
        k[..., 1] = numbers([most * (row / max(last, 1) - 0.5) for row in range(last + 1)])[:, None]
    if peak:
        q[..., 2] = peak
        k[..., 2] = 0
        k[..., FIRST_PEAK::PEAK_EVERY, :, 2] = peak
    if case.positive_v:
        v[...] = abs(v)
