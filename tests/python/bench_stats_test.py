"""Medians, intervals and ratios."""

from __future__ import annotations

import random

import pytest
from flashfit.bench import stats


def test_an_interval_holds_the_median_and_narrows_with_samples() -> None:
    draw = random.Random(1)
    few, many = ([draw.gauss(10, 1) for _ in range(n)] for n in (10, 1000))
    wide, narrow = stats.bootstrap(few), stats.bootstrap(many)
    assert wide.low <= wide.median <= wide.high
    assert narrow.low < 10.1
    assert narrow.high > 9.9
    assert narrow.high - narrow.low < (wide.high - wide.low) / 3


def test_the_interval_covers_the_true_median_about_as_often_as_it_says() -> None:
    draw = random.Random(2)
    covered = 0
    for _ in range(200):
        estimate = stats.bootstrap([draw.gauss(0, 1) for _ in range(40)], resamples=200)
        covered += estimate.low <= 0 <= estimate.high
    assert 180 <= covered <= 199


def test_equal_samples_have_no_width() -> None:
    assert stats.bootstrap([3.0] * 7) == stats.Estimate(3.0, 3.0, 3.0)


def test_the_same_seed_gives_the_same_interval() -> None:
    samples = [1.0, 2.0, 4.0, 8.0, 16.0]
    assert stats.bootstrap(samples, seed=5) == stats.bootstrap(samples, seed=5)


def test_a_ratio_above_one_means_that_the_denominator_is_faster() -> None:
    theirs, ours = [2.0, 2.2, 2.1] * 5, [1.0, 1.1, 1.05] * 5
    estimate = stats.ratio(theirs, ours)
    assert estimate.median == pytest.approx(2.0)
    assert estimate.low > 1.8


def test_a_ratio_is_taken_round_by_round() -> None:
    # Rounds differ tenfold, the two of a round do not: resampled apart, the interval would be wide.
    rounds = [1.0, 10.0] * 20
    estimate = stats.ratio([2 * x for x in rounds], rounds)
    assert (estimate.low, estimate.high) == (2.0, 2.0)


@pytest.mark.parametrize(("a", "b"), [([], []), ([1.0], []), ([1.0], [1.0, 2.0])])
def test_a_ratio_of_different_rounds_is_refused(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match="same rounds"):
        stats.ratio(a, b)


def test_no_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="one sample or more"):
        stats.bootstrap([])
