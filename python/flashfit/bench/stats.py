"""Medians with bootstrap intervals, from the standard library alone."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


def digits(x: float) -> str:
    """Four digits that matter, or all before the point: "7.546", "18220"."""
    return f"{x:.0f}" if abs(x) >= 1000 else f"{x:.4g}"


@dataclass(frozen=True)
class Estimate:
    """A median and its 95 % bootstrap interval."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{digits(self.median)} [{digits(self.low)}, {digits(self.high)}]"


def bootstrap(samples: Sequence[float], resamples: int = 1000, seed: int = 0) -> Estimate:
    """Percentile bootstrap of the median. Deterministic for a seed; `samples` must not be empty."""
    if not samples:
        raise ValueError("samples is empty; a median needs one sample or more")
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(samples, k=len(samples))) for _ in range(resamples))
    return Estimate(statistics.median(samples), medians[int(0.025 * resamples)], medians[int(0.975 * resamples)])


def ratio(numerator: Sequence[float], denominator: Sequence[float], resamples: int = 1000, seed: int = 0) -> Estimate:
    """Of medians, resampled by rounds: both were measured in the same rounds, so that what slows a round down slows
    both."""
    if not numerator or len(numerator) != len(denominator):
        raise ValueError(f"a ratio needs the same rounds of both, not {len(numerator)} and {len(denominator)}")
    draw = random.Random(seed)
    rounds = range(len(numerator))
    ratios = []
    for _ in range(resamples):
        chosen = draw.choices(rounds, k=len(rounds))
        ratios.append(
            statistics.median(numerator[i] for i in chosen) / statistics.median(denominator[i] for i in chosen)
        )
    ratios.sort()
    whole = statistics.median(numerator) / statistics.median(denominator)
    return Estimate(whole, ratios[int(0.025 * resamples)], ratios[int(0.975 * resamples)])
