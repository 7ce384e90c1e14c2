"""At eta = 0 the errors do not depend on readout, residual, rows or direction of the step."""

import numpy as np
import pytest

from onegrad import Problem
from uniform_point import uniform_point

ACTIVATIONS = ("tanh", "relu", "silu", "softplus", "H1 + H2/2", "erf", "relu:raw")
TEACHERS = ("H1", "relu", "sin", "H1 + H2/sqrt(2)", "0.5*H1 + H2/sqrt(2) + H3/sqrt(6)")


def drawn(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(300, 3000))
    return Problem(
        n=n,
        d=int(n * rng.uniform(0.14, 2)),
        N=int(n * rng.uniform(0.1, 3)),
        activation=str(rng.choice(ACTIVATIONS)),
        teacher=str(rng.choice(TEACHERS)),
        noise=float(rng.choice([0.0, 0.3, 1.0])),
        ridge=float(10 ** rng.uniform(-4, 0)),
        weights=str(rng.choice(["gaussian", "sphere"])),
        eta=0.0,
    )


def variants(problem, eta):
    for readout in ("gaussian", "constant", "rademacher"):
        for residual in ("labels", "full"):
            for rows in (problem.n // 2, problem.n, 3 * problem.n):
                yield problem.replace(readout=readout, residual=residual, n_step=rows, eta=eta)
    yield problem.replace(update="preconditioned", eta=eta)


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(k, marks=pytest.mark.full) for k in range(2, 8))]
)
def test_without_a_step_nothing_depends_on_it(seed):
    problem = drawn(seed)
    for other in variants(problem, 0.0):
        ours, same = uniform_point(problem), uniform_point(other)
        assert same.train == pytest.approx(ours.train, rel=1e-4)
        assert same.test == pytest.approx(ours.test, rel=1e-4)


def test_a_vanishing_step_is_no_step():
    """Up to what one direction of d is learned differently: the smallest d of the whole range."""
    problem = Problem(
        n=1500, d=209, N=223, activation="silu", teacher="relu", ridge=2.555e-3, weights="sphere",
        eta=0.0,
    )  # fmt: skip
    ours = uniform_point(problem)
    for other in variants(problem, 1e-9):
        found = uniform_point(other)
        assert found.train == pytest.approx(ours.train, rel=3e-3)
        assert found.test == pytest.approx(ours.test, rel=3e-3)
