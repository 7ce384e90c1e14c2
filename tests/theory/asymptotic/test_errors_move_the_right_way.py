"""Order relations that any correct formula keeps, over random problems.

A step of constant size starts at the untrained errors and ends at the first stair.
"""

import numpy as np
import pytest

import onegrad as og
from onegrad.theory import evaluate_theory
from onegrad.theory.asymptotic import random_features, staircase
from onegrad.theory.asymptotic.scalars import Scalars


def drawn(count=40, **choices):
    """Problems of random sizes, noise and ridge, with one of the choices for every other field."""
    rng = np.random.default_rng(0)
    choices["weights"] = ["gaussian", "sphere"]
    return [
        og.Problem(
            **{name: int(rng.integers(50, 5000)) for name in ("n", "d", "N", "n_step")},
            **{name: rng.choice(values).item() for name, values in choices.items()},
            noise=rng.uniform(0, 2),
            ridge=10 ** rng.uniform(-5, 2),
        )
        for _ in range(count)
    ]


def over(*problems):
    """Run a test on each problem; a failure names it."""

    def decorate(test):
        def run():
            for problem in problems:
                try:
                    test(problem)
                except AssertionError as error:
                    raise AssertionError(problem) from error

        return run

    return decorate


PROBLEMS = drawn(
    activation=["H1 + 0.4*H2 + 0.2*H3 + 0.1*H4", "gelu:raw"],
    teacher=["H1", "tanh", "relu:unit", "relu:raw", "H1 + H2/sqrt(2) + H3/3"],
    intercept=[True, False],
)
STEPS = drawn(
    activation=["tanh", "relu", "softplus", "H1 + H3/4", "erf:unit"],
    teacher=["H1", "tanh", "relu:unit", "H1 + H2/sqrt(2)"],
    residual=["labels", "full"],
)
# labels with a mean that Gaussian weights partly fit: lam enters through the constant's weight too
WITH_MEAN = og.Problem(
    n=1000, d=500, N=800, activation="H1 + 0.4*H2 + 0.2*H3", teacher="relu:raw", ridge=0.1
)
pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")


# the ridge also moves the constant's weight here: its fourth spike costs the test error 3e-6 of it
RISING = og.Problem(
    n=200, d=50, N=1557, activation="H1 + 0.4*H2 + 0.2*H3 + 0.1*H4", teacher="relu:unit", ridge=0.1
)


@over(*PROBLEMS, RISING, RISING.replace(weights="sphere"))
def test_each_stair_is_lower(problem):
    curve = evaluate_theory(problem, theory="staircase", alpha=[-0.1, 0.1, 0.29, 0.35, 0.39])
    assert np.all(np.diff(curve.train) <= 1e-10 * curve.train[0])
    fixed = problem.weights == "sphere" or problem.intercept or problem.sigma.c[0]
    assert np.all(np.diff(curve.test) <= (1e-10 if fixed else 0.01) * curve.test[0])
    assert np.all(curve.train >= 0)
    assert np.all(curve.risk >= -1e-10 * curve.test[0])


@over(*PROBLEMS)
def test_the_training_objective_grows_with_the_ridge_and_the_noise(problem):
    for theory in ("random-features", "small-step", "staircase"):
        stepped = problem.replace(alpha=0.1)
        ridge = evaluate_theory(stepped, theory, ridge=[1e-4, 1e-2, 1.0, 1e2])
        assert np.all(np.diff(ridge.train) > 0)
        assert np.all(ridge.squared_loss <= ridge.train * (1 + 1e-12))
    noise = evaluate_theory(problem, theory="random-features", noise=[0.0, 0.5, 1.0, 2.0])
    assert np.all(np.diff(noise.train) > 0)


@over(*PROBLEMS, WITH_MEAN, WITH_MEAN.replace(weights="sphere"))
def test_the_test_error_is_the_slope_of_the_training_objective(problem):
    """Generalised cross-validation: L_te = -d(L_tr/lam)/dlam / M_1^2, here by differences."""
    lam, step = problem.ridge, 1e-4
    M1 = Scalars.of([problem]).traces.M1[0]
    for theory in ("random-features", "small-step", "staircase"):
        ridges = [lam * (1 - step), lam, lam * (1 + step)]
        curve = evaluate_theory(problem.replace(alpha=0.29), theory=theory, ridge=ridges)
        low, _, high = curve.train / curve.ridge
        slope = -(high - low) / (2 * step * lam) / M1**2
        assert curve.test[1] == pytest.approx(slope, rel=1e-5, abs=1e-9 / (lam * M1) ** 2)


@over(*PROBLEMS)
def test_untrained_features_never_beat_the_kernel_bound(problem):
    prediction = evaluate_theory(problem, theory="random-features")
    assert prediction.test >= prediction.kernel_bound * (1 - 1e-12)
    assert prediction.kernel_bound >= problem.noise**2


@over(*PROBLEMS)
def test_a_huge_ridge_predicts_zero(problem):
    """Then f = 0, unless a free constant takes the mean; test and train are both E y^2."""
    prediction = evaluate_theory(problem, theory="random-features", ridge=1e9)
    teacher = problem.sigma_star
    mean = 0.0 if problem.intercept or problem.sigma.c[0] else float(teacher.c[0]) ** 2
    labels = teacher.variance + mean + problem.noise**2
    assert prediction.test == pytest.approx(labels, rel=1e-4)
    assert prediction.train == pytest.approx(labels, rel=1e-4)


@over(*PROBLEMS)
def test_many_rows_reach_the_best_linear_predictor(problem):
    """n >> N >> d: random features become a linear model without noise cost."""
    wide = problem.replace(n=10**9, d=100, N=10**6, ridge=1e-4, weights="sphere")
    prediction = evaluate_theory(wide, theory="random-features")
    if problem.intercept or not problem.sigma_star.c[0] or problem.sigma.c[0]:
        assert prediction.test == pytest.approx(prediction.kernel_bound, rel=2e-2, abs=2e-2)


@over(*STEPS)
def test_large_steps_join_the_first_stair(problem):
    s = Scalars.of([problem.replace(eta=1e9)])
    stair = staircase.staircase_drops(s, staircase.all_degrees(np.array([1])))
    step = random_features.small_step_drops(s)
    assert step.train[0] == pytest.approx(stair.train[0], rel=1e-5)
    assert step.test[0] == pytest.approx(stair.test[0], rel=1e-5)


@over(*STEPS)
def test_small_steps_join_the_untrained_network(problem):
    s = Scalars.of([problem.replace(eta=1e-7)])
    step = random_features.small_step_drops(s)
    assert abs(step.train[0]) + abs(step.test[0]) < 1e-6


@over(*STEPS)
def test_larger_steps_lower_the_training_objective(problem):
    """With the labels as residual the new direction only ever gains strength."""
    etas = np.geomspace(1e-2, 1e3, 15).tolist()
    curve = evaluate_theory(problem.replace(residual="labels"), theory="small-step", eta=etas)
    assert np.all(np.diff(curve.train) <= 1e-12 * curve.train[0])
    untrained = evaluate_theory(problem, theory="random-features")
    assert np.all(curve.train <= untrained.train * (1 + 1e-12))
    assert np.all(curve.test <= untrained.test * (1 + 1e-12))  # delta >= 0


def test_no_linear_part_no_gain():
    p = og.Problem(n=500, d=300, N=400, activation="H2", eta=2.0)
    assert evaluate_theory(p, "small-step").test == evaluate_theory(p, "random-features").test


def test_step_rows_enter_through_the_direction_only():
    p = og.Problem(n=500, d=300, N=400, activation="tanh", eta=2.0, noise=0.5)
    more = p.replace(n_step=50_000)
    untrained = [evaluate_theory(q, theory="random-features").test for q in (p, more)]
    trained = [evaluate_theory(q, theory="small-step").test for q in (p, more)]
    assert untrained[0] == untrained[1]
    assert trained[1] < trained[0]
    b_squared = Scalars.of([p, more]).direction.b_squared
    assert b_squared == pytest.approx([1 + 300 / 500 * 1.25, 1 + 300 / 50_000 * 1.25])
