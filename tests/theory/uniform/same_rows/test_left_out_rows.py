"""The leave-one-out error of ridge is a by-product, and no estimate of the test error.

The first layer has seen every row: leaving one out of ridge alone does not hide it.
"""

import pytest

import onegrad as og
from onegrad.theory.uniform.same_rows.errors import (
    RowsOfStep,
    SameNodes,
    left_out_error,
    same_equations,
    same_errors,
)

PROBLEM = og.Problem(
    n=400, d=160, N=240, teacher="H1", noise=0.5, ridge=0.05, alpha=0.3, ridge_rows="same"
)


@pytest.mark.parametrize("readout", ["gaussian", "rademacher"])
def test_the_left_out_error_is_that_of_networks(readout):
    problem = PROBLEM.replace(readout=readout)
    networks = og.simulate(problem, seeds=24, leave_one_out=True)
    eq = same_equations(RowsOfStep.of(problem, 0.0), SameNodes(bins=8, index=7, readout=12))
    left_out, test = left_out_error(eq), same_errors(eq).values.test
    measured = networks.leave_one_out
    assert abs(left_out - measured.mean) < 3 * measured.se
    assert abs(test - networks.test.mean) < 3 * networks.test.se
    assert left_out < 0.9 * test  # a share of 0.81, and 0.79
