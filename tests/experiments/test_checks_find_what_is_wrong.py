"""The verification table: scores in standard errors, few seeds count for less, misses are seen."""

import math

import numpy as np
import pytest

from onegrad import Problem
from onegrad.arrays import normal_score
from onegrad.experiments.checks import Check, Verdict, compare_results
from onegrad.experiments.results import Point, Points

PROBLEM = Problem(n=100, d=50, N=75, eta=1.0)


def _check(simulated: float, accuracy: float = 0.0) -> Check:
    return Check("test", "here", "theory", 1.0, simulated, 0.01, 1000, accuracy)


def test_the_score_has_the_tail_probability_of_students_t() -> None:
    from scipy.stats import norm
    from scipy.stats import t as student

    for freedom in (1, 2, 5, 30, 500):
        for t in (-6.0, -2.5, -1e-3, 0.0, 0.4, 3.0, 6.0):
            z = normal_score(t, freedom)
            assert math.copysign(1, z) == math.copysign(1, t)
            assert norm.sf(abs(z)) == pytest.approx(student.sf(abs(t), freedom))
            assert abs(z) <= abs(t) + 1e-9


def test_accuracy_forgives_no_more_than_it_states() -> None:
    assert _check(1.02).z == pytest.approx(2.0, abs=0.01)
    assert _check(1.05).z == pytest.approx(5.0, abs=0.1) and not _check(1.05).holds
    assert _check(1.05, accuracy=0.02).z_beyond == pytest.approx(3.0, abs=0.02)
    assert _check(0.97, accuracy=0.02).z_beyond == pytest.approx(-1.0, abs=0.01)
    assert _check(1.01, accuracy=0.02).z_beyond == 0.0
    assert not _check(1.06, accuracy=0.02).holds


def test_a_wrong_factor_is_a_miss() -> None:
    values = np.random.default_rng(0).normal(1.0, 0.05, 20)
    simulated = Points([Point(PROBLEM, {"test": values}, True)])
    for factor, holds in ((1.0, True), (2.0, False), (0.5, False), (1.1, False)):
        theory = Points([Point(PROBLEM, {"test": np.array(factor)}, False)])
        (check,) = compare_results(simulated, theory, ("test",))
        assert check.holds is holds
        assert Verdict.of([check]).passed is holds


def test_points_are_matched_by_problem_and_single_seeds_say_nothing() -> None:
    one, many = (Points([Point(PROBLEM, {"test": np.ones(k)}, True)]) for k in (1, 2))
    other, same = (
        Points([Point(PROBLEM.replace(eta=eta), {"test": np.array(1.0)}, False)])
        for eta in (2.0, 1.0)
    )
    assert compare_results(many, other, ("test",)) == compare_results(one, same, ("test",)) == []
    assert len(compare_results(many, same, ("test",))) == 1


def test_a_figure_holds_when_95_percent_do() -> None:
    good, bad = _check(1.0), _check(2.0)
    assert Verdict.of([good] * 19 + [bad]).passed
    assert not Verdict.of([good] * 18 + [bad] * 2).passed
    assert str(Verdict.of([bad])).startswith("MISSED")


def test_the_accuracy_is_the_one_that_the_prediction_states() -> None:
    noisy = PROBLEM.replace(noise=1.0)
    errors = {"train": 0.5, "test": 4.0, "risk": 3.0, "train_accuracy": 0.02, "test_accuracy": 0.03}
    values = {name: np.array(value) for name, value in errors.items()}
    simulated = Points([Point(noisy, {q: np.ones(5) for q in ("train", "test", "risk")}, True)])
    theory = Points([Point(noisy, values, False)])
    rows = {c.quantity: c for c in compare_results(simulated, theory, ("train", "test", "risk"))}
    assert {q: round(c.accuracy, 9) for q, c in rows.items()} == {
        "train": 0.02,
        "test": 0.03,
        "risk": 0.04,  # the band of the test error, 0.12, relative to the risk
    }
    assert theory[0].band("risk") == theory[0].band("test") == pytest.approx(0.12)
    (silent,) = compare_results(
        simulated, Points([Point(noisy, {"test": np.array(1.0)}, False)]), ("test",)
    )
    assert silent.accuracy == 0


def test_nothing_to_verify_is_said_in_words() -> None:
    assert str(Verdict.of([])) == "no point is predicted by theory; nothing to verify"
