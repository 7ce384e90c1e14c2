"""Gains, gaps, shares and the constant of a bound: what a figure computes from its points."""

from __future__ import annotations

import numpy as np
import pytest

from onegrad import Problem
from onegrad.experiments import Point
from onegrad.experiments.results import Points
from onegrad.pictures import Curve
from onegrad.studies.drawing import relative_difference
from onegrad.studies.papers import (
    ba_figure3a,
    ba_theorem7,
    moniri_gains,
    moniri_sharpening,
)
from onegrad.theory.bounds import theorem7_bound

PROBLEM = Problem(n=100, d=50, N=80, alpha=0.2)
SEEDS = np.random.default_rng(0).uniform(0.5, 2.0, 30)  # how lucky a seed is: large beside a gain


def point(value: float, seeded: bool = True, **fields: float) -> Point:
    values = value * SEEDS if seeded else np.array(value)
    return Point(
        PROBLEM.replace(**fields), dict.fromkeys(("risk", "test", "train"), values), seeded
    )


def test_a_relative_gain_does_not_see_the_luck_of_a_seed():
    points = Points([point(1.0, eta=0.0), point(0.9, eta=2.0)])
    curve = ba_figure3a.relative_gain(points, 2.0, "n")
    assert curve.y == pytest.approx([10.0]) and curve.se == pytest.approx([0.0], abs=1e-12)
    assert curve.x == pytest.approx([2.0])
    theory = Points([point(1.0, False, eta=0.0), point(0.9, False, eta=2.0)])
    assert ba_figure3a.relative_gain(theory, 2.0, "n").y == pytest.approx([10.0])


def test_a_gap_does_not_see_the_luck_of_a_seed():
    pair = (Points([point(v, steps=s) for s in (1, 4)]) for v in (1.0, 1.5))
    curve = relative_difference(*pair, "steps", "risk")  # type: ignore[call-arg]
    assert curve.x.tolist() == [1, 4] and curve.y == pytest.approx([0.5, 0.5])
    assert curve.se == pytest.approx([0, 0], abs=1e-12)
    sizes = (Points([point(v, n=n) for n in (100, 200)]) for v in (1.0, 1.1))
    curve = relative_difference(*sizes, "n", "test")  # type: ignore[call-arg]
    assert curve.x.tolist() == [100, 200] and curve.y == pytest.approx([0.1, 0.1])


def test_the_error_of_a_gap_is_that_of_a_ratio_of_means():
    rng = np.random.default_rng(1)
    a = 1 + 0.2 * rng.standard_normal((2000, 25))
    b = 1.3 * a + 0.1 * rng.standard_normal(a.shape)
    curves = []
    for x, y in zip(a, b, strict=True):
        pair = (Points([Point(PROBLEM, {"risk": v}, True)]) for v in (x, y))
        curves.append(relative_difference(*pair, "steps", "risk"))  # type: ignore[call-arg]
    spread = np.std([curve.y[0] for curve in curves], ddof=1)
    assert np.mean([curve.se[0] for curve in curves]) == pytest.approx(spread, rel=0.06)


def test_a_gain_is_before_less_after():
    start, after = Points([point(1.0, eta=0.0)]), Points([point(0.8, alpha=0.3)])
    (found,) = moniri_gains.gains(after, start)
    assert found.values["test"] == pytest.approx(0.2 * SEEDS)


def test_a_share_runs_from_the_first_stair_to_the_second():
    stairs = Points([point(v, False, n=n) for v, n in ((2.0, 100), (1.5, 200), (1.0, 400))])
    assert moniri_sharpening.stair_share(stairs, 2.0, 1.0).y == pytest.approx([0.0, 0.5, 1.0])


@pytest.mark.parametrize("name", ["erf", "tanh"])
def test_the_constant_is_the_smallest_that_covers_the_risk(name):
    x = np.array([1.0, 2.0, 4.0, 8.0])
    risk = Curve(x, np.array([9.0, 0.3, 0.07, 0.02]), np.zeros(4))
    C = ba_theorem7.smallest_constant(name, risk)
    bound = np.array([theorem7_bound(name, name, 1 / r, C) for r in x[1:]])
    assert np.all(bound >= risk.y[1:] - 1e-12) and np.isclose(bound, risk.y[1:]).any()
    assert ba_theorem7.bound(name, x[1:], C) == pytest.approx(bound)
