"""Times beside PyTorch. What is wrong is not timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import flashfit
import torch

from tools.gpu import exact, timing
from tools.gpu.correctness import Expected, run
from tools.gpu.variants import Candidate, code
from tools.job.cases import Case, load, tile_cases

# Of PyTorch's time over flashfit's own choice, by head_dim, at the speed cases.
TARGETS = {64: 0.95, 128: 0.8}


@dataclass
class Timed:
    """Seconds of each candidate and of PyTorch on one case."""

    group: str
    case: str
    flop: float
    target: float | None
    samples: dict[str, list[float]]
    problems: list[str] = field(default_factory=list)


OURS, THEIRS = "the plan", "PyTorch"


def caller(expected: Expected, candidate: Candidate) -> Callable[[], Any]:
    inputs = expected.inputs
    out = torch.empty_like(inputs.q)
    options = {**inputs.options(expected.case), "variant": candidate.variant or None, "out": out}

    def call() -> Any:
        return flashfit.attention(inputs.q, inputs.k, inputs.v, **options)

    if candidate.code != "PTX":
        return call

    def ptx_call() -> Any:
        with code("PTX"):
            return call()

    return ptx_call


def time_case(group: str, case: Case, forced: list[Candidate], rounds: int, target: float | None) -> Timed:
    expected = Expected.of(case, "cuda")
    timed = Timed(group, case.name, case.flop(), target, {})
    calls: dict[str, Callable[[], Any]] = {}
    for candidate in [Candidate("", case.dtype, case.head_dim, "SASS"), *forced]:
        result = run(expected, candidate, "cuda")
        name = candidate.name if candidate.variant else OURS
        if result.problems:
            timed.problems.append(f"{name}: {'; '.join(result.problems)}")
        else:
            calls[name] = caller(expected, candidate)
    del expected.out, expected.lse
    try:
        theirs = exact.sdpa(case, expected.inputs)
        theirs()
        calls[THEIRS] = theirs
    except (ImportError, RuntimeError) as error:
        timed.problems.append(f"{THEIRS}: {str(error).splitlines()[0]}")
    timed.samples = timing.interleaved(calls, rounds)
    torch.cuda.empty_cache()
    return timed


def run_all(candidates: list[Candidate], rounds: int, quick: bool) -> Iterator[Timed]:
    """The speed cases with every tile forced in turn, the origin shapes, and SeedVR2's windows by the plan's choice."""
    for case in tile_cases()[: 2 if quick else None]:
        forced = [
            c for c in candidates if (c.dtype, c.head_dim) == (case.dtype, case.head_dim) and best_code(c, candidates)
        ]
        yield time_case("speed", case, forced, rounds, TARGETS.get(case.head_dim))
    for case in load("origin")[: 2 if quick else None]:
        yield time_case("origin", case, [], rounds, None)
    for case in load("ragged")[4 if quick else 0 :]:
        yield time_case("SeedVR2", case, [], max(10, rounds // 2), None)


def best_code(candidate: Candidate, candidates: list[Candidate]) -> bool:
    """Machine code where the variant has it, else PTX: one time a variant."""
    return candidate.code == "SASS" or not any(c.variant == candidate.variant and c.code == "SASS" for c in candidates)
