"""Newton's method and implicit derivatives against plain iteration and central differences.

Samples that are listed several times, with a share of their probability each, change nothing.
"""

from dataclasses import replace

import numpy as np
import pytest

import naive_uniform
from onegrad import Problem
from onegrad.theory.uniform.discretisation import equations
from onegrad.theory.uniform.fixed_point import solve_fixed_point
from onegrad.theory.uniform.preparation import NodeCounts, prepare_problem
from onegrad.theory.uniform.ridge_errors import ridge_errors

BASE = {"n": 300, "d": 150, "N": 200, "noise": 0.3, "ridge": 0.05, "eta": 6.0}

COPIES = 4


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
    eq = equations(prepare_problem(problem), sizes)
    fast = ridge_errors(eq, solve_fixed_point(eq, problem.ridge))
    train, test = naive_uniform.predict(eq, problem.ridge)
    assert fast.train == pytest.approx(train, rel=1e-8)
    assert fast.test == pytest.approx(test, rel=1e-6)
    up, down = (
        naive_uniform.training_objective(
            equations(prepare_problem(problem), sizes), problem.ridge * f
        )
        for f in (1 + 1e-4, 1 - 1e-4)
    )
    assert fast.train - fast.penalty == pytest.approx(train - (up - down) / 2e-4, rel=1e-6)


def split(eq):
    """Return the equations with every sample listed COPIES times."""
    per_sample = ("index", "C2", "B", "aside", "A", "readout_row", "Y0", "Y1", "Y2")
    copied = {name: np.repeat(getattr(eq, name), COPIES, axis=-1) for name in per_sample}
    squares = {k: np.repeat(getattr(eq.squares, k), COPIES, axis=-1) for k in ("Y", "mean", "bend")}
    p = np.repeat(eq.p, COPIES) / COPIES
    return replace(eq, p=p, squares=replace(eq.squares, **squares), **copied)


@pytest.mark.parametrize("readout", ["gaussian", "constant"])
@pytest.mark.parametrize("intercept", [False, True])
def test_samples_listed_several_times_change_nothing(readout, intercept):
    """Everything is solved in the space of the functions that neurons read: it stays the same."""
    problem = Problem(
        n=500, d=200, N=300, activation="relu", teacher="H1 + H2/sqrt(2)", alpha=0.4, noise=0.1,
        readout=readout, residual="full", intercept=intercept,
    )  # fmt: skip
    eq = equations(prepare_problem(problem), NodeCounts(14, 10))
    more = split(eq)
    solutions = [solve_fixed_point(x, problem.ridge) for x in (eq, more)]
    assert more.space.functions.shape[1] == eq.space.functions.shape[1]
    once, often = (ridge_errors(x, y) for x, y in zip((eq, more), solutions, strict=True))
    for name in ("train", "penalty", "test", "gap"):
        assert getattr(often, name) == pytest.approx(getattr(once, name), rel=1e-8)
