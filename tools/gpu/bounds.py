"""What a result is held to on the device that computed it: flashfit.reference there, and the bound of docs/numerics.md
with SMALLEST and 64 roundings of sums, which many random cases ask for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from flashfit import reference
from flashfit.reference import ROUNDOFF, Group, Problem

NAMES = {torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32"}
#: The least distance of a dtype's numbers: where a result is subnormal, half of it is its rounding.
SMALLEST = {"fp16": 2.0**-24, "bf16": 2.0**-133, "fp32": 2.0**-149}


def largest(x: Any) -> float:
    """The largest finite magnitude."""
    if x.numel() == 0:
        return 0.0
    return float(torch.where(x.isfinite(), x.abs(), torch.zeros_like(x)).max())


def max_error(out: Any, exact: Any) -> float:
    """Largest absolute difference; infinities must be equal, NaN anywhere makes it NaN."""
    if out.numel() == 0:
        return 0.0
    out = out.to(exact.dtype)
    return float(torch.where(out == exact, torch.zeros_like(exact), (out - exact).abs()).max())


class Expected:
    """What a problem gives, in fp64, and what out and lse may be off by."""

    def __init__(self, problem: Problem) -> None:
        self.out, self.lse = problem.of(torch.float64).attend()
        self.out_bound = self.lse_bound = 0.0
        if self.out.numel() == 0:
            return
        name, plain_problem = NAMES[problem.q.dtype], problem.of(torch.float32)
        plain, plain_lse = plain_problem.attend(reference.rounding(problem.q.dtype))
        if not bool(plain.isfinite().all()):  # scores past what fp16 holds: fused kernels keep them in fp32
            plain, plain_lse = plain_problem.attend()
        magnitude = plain_problem.magnitude()
        self.out_bound = 2 * max_error(plain, self.out) + SMALLEST[name] / 2
        self.out_bound += reference.floor(name, largest(self.out), largest(problem.v), magnitude)
        # In fp32 the maximum and the sum are kept: 64 of its roundings are less than docs/numerics.md allows.
        self.lse_bound = ROUNDOFF["fp32"] * (64 * max(1.0, largest(self.lse)) + 4 * magnitude)
        if problem.softcap:  # a GPU's tanh is as right as fp16 needs it, and LSE is fp32
            self.lse_bound += 2 * max_error(plain_lse, self.lse)


def of_call(q: Any, k: Any, v: Any, **options: Any) -> list[tuple[Group, Expected]]:
    """Of a call of flashfit.attention, each group of sequences of one length."""
    return [(group, Expected(group.problem)) for group in reference.groups(q, k, v, **options)]


@dataclass
class Errors:
    """The largest of a case, beside what they may be; `problems` is empty where the case is right."""

    error: float = 0.0
    bound: float = 0.0
    lse_error: float = 0.0
    lse_bound: float = 0.0
    problems: list[str] = field(default_factory=list)

    def add(self, expected: Expected, out: Any, lse: Any) -> None:
        self.bound, self.lse_bound = max(self.bound, expected.out_bound), max(self.lse_bound, expected.lse_bound)
        error, lse_error = max_error(out, expected.out), max_error(lse, expected.lse)
        # max() drops a NaN that comes second.
        self.error = error if error != error else max(error, self.error)
        self.lse_error = lse_error if lse_error != lse_error else max(lse_error, self.lse_error)

    def judge(self) -> None:
        """Adds to the problems what is over its bound."""
        if not self.error <= self.bound:
            self.problems.append(f"error {self.error:.3g} > {self.bound:.3g}")
        if not self.lse_error <= self.lse_bound:
            self.problems.append(f"LSE error {self.lse_error:.3g} > {self.lse_bound:.3g}")
