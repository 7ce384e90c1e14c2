"""Samples that are listed several times, with a share of their probability each, change nothing.

Everything is solved in the space of the functions that neurons read, which stays the same.
"""

from dataclasses import replace

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.uniform.discretisation import equations
from onegrad.theory.uniform.fixed_point import solve_fixed_point
from onegrad.theory.uniform.preparation import NodeCounts, prepare_problem
from onegrad.theory.uniform.ridge_errors import ridge_errors

COPIES = 4


def split(eq):
    """Return the equations with every sample listed COPIES times."""
    per_sample = ("index", "C2", "B", "aside", "A", "readout_row", "Y0", "Y1", "Y2")
    copied = {name: np.repeat(getattr(eq, name), COPIES, axis=-1) for name in per_sample}
    squares = {k: np.repeat(getattr(eq.squares, k), COPIES, axis=-1) for k in ("Y", "mean", "bend")}
    p = np.repeat(eq.p, COPIES) / COPIES
    return replace(eq, p=p, squares=replace(eq.squares, **squares), **copied)


@pytest.mark.parametrize("readout", ["gaussian", "constant"])
@pytest.mark.parametrize("intercept", [False, True])
def test_errors_are_the_same(readout, intercept):
    problem = og.Problem(
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
