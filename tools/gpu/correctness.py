"""Every carried variant against the fp64 reference; grid.py has every option, through what the plan chooses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import flashfit
import torch

from tools.gpu import bounds, tensors
from tools.gpu.variants import Candidate, code
from tools.job.cases import Case, load


@dataclass
class Result(bounds.Errors):
    """One case through one candidate."""

    case: str = ""
    candidate: str = ""


class Expected:
    """What a case should give."""

    def __init__(self, case: Case, device: str) -> None:
        self.case, self.inputs = case, tensors.make(case, device)
        self.held = bounds.of_call(self.inputs.q, self.inputs.k, self.inputs.v, **self.inputs.options(case))


def same_bits(a: Any, b: Any) -> bool:
    """Equal bit for bit, NaN and signed zero included."""
    kind = {2: torch.int16, 4: torch.int32}[a.element_size()]
    return bool(torch.equal(a.contiguous().view(kind), b.contiguous().view(kind)))


def run(expected: Expected, candidate: Candidate, device: str) -> Result | None:
    """None where the candidate does not take the case's options."""
    case, inputs = expected.case, expected.inputs
    result = Result(case=case.name, candidate=candidate.name)
    out = tensors.guarded(tuple(inputs.q.shape), inputs.q.dtype, device)
    options = {**inputs.options(case), "variant": candidate.variant or None}
    try:
        with code(candidate.code):
            _, lse = flashfit.attention(inputs.q, inputs.k, inputs.v, out=out.view, return_lse=True, **options)
            again, lse_again = flashfit.attention(inputs.q, inputs.k, inputs.v, return_lse=True, **options)
            without_lse = flashfit.attention(inputs.q, inputs.k, inputs.v, **options)
    except flashfit.FlashfitError as refused:
        if candidate.is_not_for(refused):
            return None
        result.problems.append(f"refused: {refused}")
        return result
    for group, wanted in expected.held:
        result.add(wanted, group.out(out.view), group.lse(lse))
    result.judge()
    if not out.untouched_outside():
        result.problems.append("wrote outside out")
    if not (same_bits(out.view, again) and same_bits(lse, lse_again) and same_bits(out.view, without_lse)):
        result.problems.append("a repeat differs")
    return result


def run_all(candidates: list[Candidate], device: str, quick: bool) -> Iterator[Result]:
    """The edges through every candidate of their dtype and head_dim, references computed once."""
    for case in load("edges")[:: 4 if quick else 1]:
        able = [
            c for c in candidates if (c.dtype, c.head_dim, c.values_dim) == (case.dtype, case.head_dim, case.head_dim)
        ]
        if able:
            expected = Expected(case, device)
            yield from filter(None, (run(expected, candidate, device) for candidate in able))


def near(a: Any, b: Any) -> bool:
    """Two roundings of the dtype apart at most, at each element. NaN is near nothing."""
    allowed = 2 * torch.finfo(b.dtype).eps * b.double().abs().clamp(min=1)
    return bool(((a.double() - b.double()).abs() <= allowed).all())


def poison(inputs: Any, what: str) -> None:
    """Row 70 of the second sequence's first head: NaN in it, or a query whose product with its own key passes fp32."""
    if what == "overflow":
        inputs.q[1, 70, 0] = torch.where(inputs.k[1, 70, 0] < 0, -3e38, 3e38)
    else:
        getattr(inputs, what)[1, 70, 0] = float("nan")


def nan_stays(candidate: Candidate, device: str) -> Iterator[tuple[str, bool]]:
    """NaN in one row of q, k or v comes out where that row is used, and everywhere else no bit changes. But for a value
    that a causal mask hides: rows that it reached are computed again, as exactly, by other additions
    (docs/kernels.md). A query whose product with a key passes fp32, which bf16 can hold, gives NaN alike. What the
    candidate does not take is left out; at least one of the three is taken by each."""
    taken = 0
    for check in (partial(nan_in_a_row, causal=False), partial(nan_in_a_row, causal=True), nan_in_a_sequence):
        try:
            found = list(check(candidate, device))
        except flashfit.FlashfitError as refused:
            if not candidate.is_not_for(refused):
                raise
            continue
        taken += 1
        yield from found
    if not taken:
        yield f"NaN: no problem that {candidate.name} takes", False


def grouped(candidate: Candidate, **shape: Any) -> Case:
    """Two query heads for each of two key-value heads: variants that pack heads take that, too, and one key-value head
    shows what reaches the other."""
    return Case(heads=4, heads_kv=2, head_dim=candidate.head_dim, dtype=candidate.dtype, **shape)


def nan_in_a_row(candidate: Candidate, device: str, *, causal: bool) -> Iterator[tuple[str, bool]]:
    case = grouped(candidate, batch=2, seqlen_q=200, seqlen_k=200, causal=causal)
    clean = tensors.make(case, device, values_dim=candidate.values_dim)
    options = {**clean.options(case), "variant": candidate.variant or None}
    with code(candidate.code):
        before = flashfit.attention(clean.q, clean.k, clean.v, **options)
    for name in ("q", "k", "v", *(("overflow",) if candidate.dtype == "bf16" else ())):
        inputs = tensors.make(case, device, values_dim=candidate.values_dim)
        poison(inputs, name)
        nan = torch.zeros(before.shape[:3], dtype=torch.bool, device=device)
        if name in ("q", "overflow"):
            nan[1, 70, 0] = True
        else:
            nan[1, 70 if causal else 0 :, :2] = True  # the heads of the first key-value head
        with code(candidate.code):
            after = flashfit.attention(inputs.q, inputs.k, inputs.v, **options)
        same = near if causal and name == "v" else same_bits
        passed = bool(after[nan].isnan().all()) and same(after[~nan], before[~nan])
        yield f"NaN in {name}, {'causal' if causal else 'full'}: {candidate.name}", passed


def nan_in_a_sequence(candidate: Candidate, device: str) -> Iterator[tuple[str, bool]]:
    case = grouped(candidate, batch=3, lengths_q=(50, 70, 60), lengths_k=(50, 70, 60))
    inputs = tensors.make(case, device, values_dim=candidate.values_dim)
    options = {**inputs.options(case), "variant": candidate.variant or None}
    with code(candidate.code):
        before = flashfit.attention(inputs.q, inputs.k, inputs.v, **options)
        inputs.k[50:120] = float("nan")
        inputs.v[50:120] = float("nan")
        after = flashfit.attention(inputs.q, inputs.k, inputs.v, **options)
    passed = (
        same_bits(after[:50], before[:50])
        and same_bits(after[120:], before[120:])
        and bool(after[50:120].isnan().all())
    )
    yield f"NaN in one sequence of three: {candidate.name}", passed
