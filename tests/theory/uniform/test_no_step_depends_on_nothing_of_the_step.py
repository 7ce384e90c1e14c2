"""At eta = 0 the errors do not depend on readout, residual, rows or direction of the step."""

import numpy as np
import pytest

from onegrad import Problem
from onegrad.theory.uniform import NodeCounts, preparation
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
    ours = uniform_point(problem, nodes=NodeCounts(40, 20))
    for other in variants(problem, 1e-9):
        found = uniform_point(other, nodes=NodeCounts(40, 20))
        assert found.train == pytest.approx(ours.train, rel=3e-3)
        assert found.test == pytest.approx(ours.test, rel=3e-3)


STILL = Problem(n=600, d=250, N=400, teacher="H1 + H2/2", noise=0.3, ridge=0.02, eta=0.0)


@pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")  # so few rows of the step
@pytest.mark.parametrize("activation", ["tanh", "relu", "softplus"])
@pytest.mark.parametrize("changes", [{}, {"intercept": True}, {"teacher": "H1@1 + H1@1*H1@2"}])
def test_without_a_step_no_direction_matters(activation, changes, monkeypatch):
    """The theory may take any direction for v: its overlap with the teacher cancels."""
    monkeypatch.setattr(preparation, "with_a_direction", lambda problem: problem)
    problem = STILL.replace(activation=activation, **changes)
    far, near = (uniform_point(problem.replace(n_step=rows), rtol=1e-6) for rows in (60, 60_000))
    theta = [preparation.take_step(problem.replace(n_step=rows)).theta for rows in (60, 60_000)]
    assert theta[0] < 0.45 < 0.99 < theta[1]
    assert (far.train, far.test) == pytest.approx((near.train, near.test), rel=1e-4)
