"""Theory against real networks, in standard errors of the replicates.

Where the learned direction's overlap with the teacher moves the error, each seed's error is brought
to the overlap that theory expects, by regression: the standard error is then that of the rest.
"""

import numpy as np
import pytest

import onegrad as og
from onegrad.networks.simulation import simulate
from replicates import at_expected

SIZES = {"n": 500, "d": 250, "N": 333, "ridge": 0.01}
ALPHAS = [0.1, 0.3, 0.45]
SEEDS = 24
TOLERANCE = 4.0  # standard errors

PROBLEMS = {
    "tanh, linear teacher": og.Problem(**SIZES, teacher="H1", noise=1.0),
    "relu, quadratic teacher": og.Problem(**SIZES, activation="relu", teacher="H1 + H2/sqrt(2)"),
    "erf, full residual": og.Problem(
        **SIZES, activation="erf", teacher="H1 + H3/6", noise=0.3, residual="full"
    ),
    "sphere, few step rows": og.Problem(
        **SIZES, activation="softplus", teacher="tanh", noise=0.2, weights="sphere", n_step=300
    ),
    "wide": og.Problem(n=240, d=150, N=400, ridge=0.05, teacher="tanh", noise=0.5),
}


def expected_overlap(p):
    """c_star1 / b with b^2 the mean squared length of X^T r/n_step."""
    c, f, g = p.sigma.c, p.sigma, p.sigma_star
    b_squared = g.c[1] ** 2 + p.phi_step * (g.second_moment + p.noise**2)
    if p.residual == "full":
        b_squared += c[1] ** 2 + p.phi_step * f.second_moment
    return abs(g.c[1]) / np.sqrt(b_squared)


FAST = ("relu, quadratic teacher", "wide")
NAMES = [n if n in FAST else pytest.param(n, marks=pytest.mark.full) for n in PROBLEMS]


@pytest.mark.parametrize("name", NAMES)
def test_uniform_theory(name):
    simulation = simulate(PROBLEMS[name], SEEDS, n_test=2048, alpha=ALPHAS)
    theory, expected = og.predict(PROBLEMS[name], alpha=ALPHAS), expected_overlap(PROBLEMS[name])
    squared = simulation.overlap.values[:, 0] ** 2
    se = squared.std(ddof=1) / np.sqrt(SEEDS)
    assert abs(squared.mean() - expected**2) < TOLERANCE * se + 0.01
    for i in range(len(ALPHAS)):
        for quantity in ("train", "test"):
            values = getattr(simulation, quantity).values[:, i]
            squared = simulation.overlap.values[:, i] ** 2
            mean, se = at_expected(values, squared, expected**2)
            miss = (mean - getattr(theory, quantity)[i]) / se
            assert abs(miss) < TOLERANCE, (quantity, ALPHAS[i], miss)
            assert se < 0.05 * mean, "too few replicates to see a wrong factor"


@pytest.mark.parametrize(
    "others", [{}, pytest.param({"steps": 2, "alpha": 0.45}, marks=pytest.mark.full)]
)
def test_uniform_readouts_are_neither_normal_nor_of_one_size(others):
    p = og.Problem(
        **{"n": 300, "d": 100, "N": 200, "noise": 0.3, "ridge": 0.05, "alpha": 0.6, **others},
        readout="uniform",
    )
    networks = simulate(p, SEEDS, n_test=2048)
    misses = {
        readout: (networks.train.mean - og.predict(p.replace(readout=readout)).train)
        / networks.train.se
        for readout in ("uniform", "rademacher")
    }
    assert abs(misses["uniform"]) < TOLERANCE < abs(misses["rademacher"])


def test_untrained_networks_meet_the_random_features_theory():
    p = PROBLEMS["relu, quadratic teacher"].replace(weights="sphere")
    ridges = [1e-3, 1e-1, 10.0]
    simulation = simulate(p, SEEDS, n_test=2048, model="random-features", ridge=ridges)
    theory = og.predict(p, theory="random-features", ridge=ridges)
    for quantity in ("train", "test"):
        m = getattr(simulation, quantity)
        assert np.all(
            np.abs(m.mean - getattr(theory, quantity)) < TOLERANCE * m.se + 0.005 * m.mean
        )


def test_leave_one_out_estimates_the_test_error():
    p = og.Problem(**SIZES, activation="relu", teacher="H1 + H2/2", noise=0.5, alpha=0.3)
    simulation = simulate(p, SEEDS, n_test=2048, leave_one_out=True)
    gap = simulation.leave_one_out.values - simulation.test.values
    assert abs(gap.mean()) < TOLERANCE * gap.std(ddof=1) / np.sqrt(SEEDS)
    assert gap.std() / np.sqrt(SEEDS) < 0.05 * simulation.test.mean


def test_theories_do_not_answer_for_other_steps_without_a_word():
    problem = og.Problem(n=400, d=200, N=300, activation="softplus", alpha=0.3)
    with pytest.raises(og.OutOfScope, match="steps"):
        og.predict(problem.replace(steps=3))
    for field, value in (("steps", 3), ("update", "spectral")):
        with pytest.warns(og.AssumptionWarning, match=field):
            og.predict(problem.replace(**{field: value}), theory="staircase")
