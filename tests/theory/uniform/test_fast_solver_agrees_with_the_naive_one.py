"""Newton's method and implicit derivatives against plain iteration and central differences."""

import pytest

import naive_uniform
from onegrad import Problem
from onegrad.theory.uniform.discretisation import equations
from onegrad.theory.uniform.preparation import NodeCounts, prepare_problem
from uniform_point import uniform_point

BASE = {"n": 300, "d": 150, "N": 200, "noise": 0.3, "ridge": 0.05, "eta": 6.0}


@pytest.mark.parametrize(
    "changes",
    [
        {"activation": "tanh", "teacher": "H1"},
        {"activation": "relu", "teacher": "H1 + H2/sqrt(2)", "weights": "sphere"},
        {"activation": "softplus", "teacher": "relu", "residual": "full"},
        {"activation": "erf", "teacher": "tanh", "readout": "constant", "n_step": 100},
        {"activation": "H1 + H2/2", "teacher": "sin", "readout": "rademacher", "ridge": 1.0},
        {"activation": "relu:raw", "teacher": "H1 + 2:raw", "intercept": True},
        {"activation": "gelu", "teacher": "H1@1/2 + H1@2 + H1@1*H1@2"},
        {"activation": "silu", "teacher": "H1@1 + H1@1*H1@2", "residual": "full"},
    ],
    ids=lambda c: c["activation"],
)
def test_fast_solver_agrees_with_the_naive_one(changes):
    problem, sizes = Problem(**(BASE | changes)), NodeCounts(3, 3)
    fast = uniform_point(problem, nodes=sizes)
    eq = equations(prepare_problem(problem), sizes)
    train, test = naive_uniform.predict(eq, problem.ridge)
    assert fast.train == pytest.approx(train, rel=1e-8)
    assert fast.test == pytest.approx(test, rel=1e-6)
    up, down = (
        naive_uniform.training_objective(
            equations(prepare_problem(problem), sizes), problem.ridge * f
        )
        for f in (1 + 1e-4, 1 - 1e-4)
    )
    assert fast.squared_loss == pytest.approx(train - (up - down) / 2e-4, rel=1e-6)
