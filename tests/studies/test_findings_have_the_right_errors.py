"""Estimates, trends and extremes of a few networks, and the sentences that they decide."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats

from onegrad import InvalidInput, Problem
from onegrad.arrays import student_score
from onegrad.experiments import Point
from onegrad.experiments.results import Points
from onegrad.studies.drawing import curve_through
from onegrad.studies.findings import (
    Estimate,
    Selection,
    largest,
    lowest_point,
    mean_of,
    paired_change,
    paired_difference,
    smallest,
    trend,
    unpaired_difference,
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


def test_three_networks_have_the_intervals_of_student() -> None:
    assert student_score(1.959964, 2) == pytest.approx(4.302653, rel=1e-6), "t of 97.5 %"
    values = np.array([1.0, 1.3, 1.6])
    three = Estimate.of(values)
    low, high = three.interval
    t = scipy.stats.t.isf(scipy.stats.norm.sf(3), df=2)
    assert t > 19 and (high - low) / 2 == pytest.approx(t * np.std(values, ddof=1) / 3**0.5)
    assert Estimate(1.3, 0.1).interval == pytest.approx((1.0, 1.6)), "of many: three"
    assert np.isnan(Estimate.of(np.array([1.0])).interval).all(), "of one: unknown"
    assert largest([three]).interval == pytest.approx(three.interval)
    assert paired_change(1 + values, np.ones(3)).interval == pytest.approx(three.interval)
    curve = curve_through([10, 20], [three, (1.0, 0.0)])
    assert [Estimate.along(curve)[0], Estimate.along(curve)[1].freedom] == [three, np.inf]


def test_few_networks_miss_as_seldom_as_many() -> None:
    rng, score = np.random.default_rng(3), 1.0  # a smaller score: misses can be counted
    expected = 2 * scipy.stats.norm.sf(score)
    for k in (2, 3, 5):
        x = rng.standard_normal((20_000, k))
        errors = x.std(1, ddof=1) / np.sqrt(k)
        missed = np.mean(np.abs(x.mean(1)) > student_score(score, k - 1) * errors)
        assert missed == pytest.approx(expected, abs=4 * np.sqrt(expected / 20_000))


def test_estimates_of_few_networks_are_combined_by_welch() -> None:
    a, b = Estimate(1.0, 0.3, 2), Estimate(0.5, 0.4, 5)
    together = unpaired_difference(a, b)
    welch = scipy.stats.ttest_ind_from_stats(1, 0.3 * 3**0.5, 3, 0.5, 0.4 * 6**0.5, 6, False)
    assert 2 * scipy.stats.t.sf(together.z, together.freedom) == pytest.approx(welch.pvalue)
    assert mean_of([a, b]).freedom == pytest.approx(together.freedom)
    line = trend([100, 200], [b, a])
    assert (line.mean, line.se) == pytest.approx((0.5, 0.5))
    assert line.freedom == pytest.approx(together.freedom), "a line through two is a difference"
    assert trend([100, 200], [Estimate(1.0, 0.0), Estimate(2.0, 0.0)]).interval == pytest.approx(
        (1, 1)
    )


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
