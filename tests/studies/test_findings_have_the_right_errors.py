"""Estimates, trends and extremes of a few networks, and the sentences that they decide."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from onegrad import InvalidInput, Problem
from onegrad.experiments import Point
from onegrad.experiments.results import Points
from onegrad.studies.findings import (
    Estimate,
    Selection,
    largest,
    lowest_point,
    paired_change,
    paired_difference,
    smallest,
    trend,
)
from onegrad.studies.reproduce import headlines

SEEDS = np.random.default_rng(0).uniform(0.5, 2.0, 40)


def holds(value: Any, **limits: float) -> bool:
    """Whether a sentence that this value decides holds."""
    entry = {"says": "It is", "quantity": "gain", "value": "gain"} | limits
    study: Any = SimpleNamespace(name="made-up", spec=SimpleNamespace(headlines=[entry], text={}))
    (headline,) = headlines(study, {"gain": value})
    return headline.holds


def test_a_sentence_is_decided_by_its_own_quantity() -> None:
    gain = paired_difference(2 * SEEDS, SEEDS)
    assert holds(gain, above=0) and holds(gain, above=0, below=2) and not holds(gain, above=2)
    noisy = paired_difference(SEEDS, np.roll(SEEDS, 1) - 0.1)
    assert noisy.mean > 0 and not holds(noisy, above=0), "by luck"
    assert holds(Selection(3, 4), above=0.7) and not holds(Selection(3, 4), above=0.9)
    with pytest.raises(InvalidInput, match="headline value gain"):
        holds("A is better", above=0)


def test_the_interval_of_the_largest_covers_it_as_often_as_that_of_one() -> None:
    rng, missed = np.random.default_rng(2), 0
    for noise in rng.standard_normal((20_000, 13)):
        low, high = largest([Estimate(m, 1.0) for m in noise]).interval
        missed += not low <= 0 <= high
    assert missed / 20_000 < 0.0027 + 3 * np.sqrt(0.0027 / 20_000)
    of_one = smallest([Estimate(1.0, 0.1)]).interval
    assert of_one == pytest.approx(Estimate(1.0, 0.1).interval)


def test_pairing_needs_the_same_seeds_and_removes_their_luck() -> None:
    difference = paired_difference(SEEDS + 0.5, SEEDS)
    assert difference.mean == pytest.approx(0.5) and difference.se == pytest.approx(0, abs=1e-12)
    change = paired_change(1.5 * SEEDS, SEEDS)
    assert change.mean == pytest.approx(0.5) and change.se == pytest.approx(0, abs=1e-12)
    with pytest.raises(InvalidInput, match="same seeds"):
        paired_difference(SEEDS, SEEDS[:3])


def test_a_trend_has_the_error_of_a_slope() -> None:
    rng, se, slopes = np.random.default_rng(1), (0.1, 0.2, 0.1), []
    for noise in rng.standard_normal((2000, 3)) * se:
        means = np.array([3.0, 2.5, 2.0]) + noise
        values = [Estimate(m, s) for m, s in zip(means, se, strict=True)]
        slopes.append(trend([100, 200, 400], values))
    assert np.mean([s.mean for s in slopes]) == pytest.approx(-0.5, abs=0.01)
    assert np.std([s.mean for s in slopes]) == pytest.approx(slopes[0].se, rel=0.06)


def test_an_optimum_over_two_axes_knows_both_ends() -> None:
    grid = [(n, ridge, abs(np.log(ridge)) + n / 100) for n in (100, 200) for ridge in (0.1, 1, 10)]
    problem = Problem(n=100, d=50, N=80)
    points = [Point(problem.replace(n=n, ridge=r), {"test": v * SEEDS}, True) for n, r, v in grid]
    found = lowest_point(Points(points), "test", ["n", "ridge"])
    assert found.at == {"n": 100, "ridge": 1.0}
    assert found.axes_at_end == ("n",) and found.bound == "at most "
