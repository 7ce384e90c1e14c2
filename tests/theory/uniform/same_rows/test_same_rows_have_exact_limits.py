"""Ridge on the rows of the step: identities that hold to rounding, limits, and left-out rows."""

import numpy as np
import pytest

import onegrad as og
from onegrad import Problem
from onegrad.theory.uniform.same_rows.errors import (
    RowsOfStep,
    SameNodes,
    derivatives,
    evaluate_same_rows,
    left_out_error,
    readout_count,
    rows_at_constants,
    same_equations,
    same_errors,
    solve,
)
from onegrad.theory.uniform.same_rows.response import Parameter
from uniform_point import uniform_point

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
BASE = Problem(
    n=900, d=300, N=400, activation="tanh", teacher="H1 + H3/sqrt(6)", noise=0.3, ridge=0.05,
    alpha=0.3, ridge_rows="same",
)  # fmt: skip
VARIANTS = [
    {},
    {"activation": "gelu", "readout": "rademacher"},
    {"activation": "silu", "readout": "constant", "residual": "full"},
    {"activation": "H1 + H2/2", "intercept": True},
    {"teacher": "H1@1 + H1@1*H1@2", "readout": "rademacher"},
    {"corrupted": 0.3, "noise_law": "rademacher"},
]
NODES = SameNodes(bins=4, index=5, readout=8)
ALPHAS = [0.1, 0.5]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_loss_and_penalty_are_the_derivatives_of_the_objective(changes, alpha):
    """L(c loss, c penalty) = c L: derivatives by the weight of the loss and by lambda add up."""
    eq = same_equations(RowsOfStep.of(BASE.replace(**changes, alpha=alpha), 0.0), NODES)
    solution = solve(eq)
    ones = np.ones(eq.forms.p.shape)
    parameters = [Parameter(0.0, 0.0, ones), Parameter(0.0, 1.0, 0 * ones)]
    train, (loss, norm), _ = derivatives(eq, solution, parameters)
    assert loss > 0 and norm > 0
    assert loss + eq.forms.ridge * norm == pytest.approx(train, rel=1e-4)


@pytest.mark.parametrize("changes", VARIANTS[:3], ids=str)
def test_the_penalty_is_the_slope_of_the_objective(changes):
    problem, h = BASE.replace(**changes), 1e-3
    low, here, high = (
        uniform_point(problem.replace(ridge=problem.ridge * factor)) for factor in (1 - h, 1, 1 + h)
    )
    slope = (high.train - low.train) / (2 * h)  # by log lambda
    assert slope == pytest.approx(here.train - here.squared_loss, rel=2e-3)


@pytest.mark.parametrize("changes", VARIANTS[:3], ids=str)
def test_without_a_step_its_rows_do_not_matter(changes):
    problem = BASE.replace(**changes, teacher="tanh", eta=0.0)
    same, fresh = uniform_point(problem), uniform_point(problem.replace(ridge_rows="fresh"))
    assert (same.train, same.test) == (fresh.train, fresh.test)
    tiny = uniform_point(problem.replace(eta=1e-6))  # its own equations, another count of order 1/d
    assert (tiny.train, tiny.test) == pytest.approx((fresh.train, fresh.test), rel=0.006)


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_an_endless_penalty_leaves_the_labels(changes):
    problem = BASE.replace(**changes, ridge=1e9)
    errors = uniform_point(problem)
    f = problem.teacher_function
    energy = f.second_moment + problem.noise**2
    if problem.intercept:  # the mean of n labels is fitted
        assert errors.train == pytest.approx(energy * (1 - 1 / problem.n), rel=1e-6)
        assert errors.test == pytest.approx(energy * (1 + 1 / problem.n), rel=2e-5)
    else:
        assert (errors.train, errors.test) == pytest.approx((energy, energy), rel=2e-5)


def test_the_choice_of_indices_does_not_matter():
    one = uniform_point(BASE.replace(teacher="H1"))
    two = uniform_point(BASE.replace(teacher="H1@1/sqrt(2) + H1@2/sqrt(2)"))
    assert (two.train, two.test) == pytest.approx((one.train, one.test), rel=3e-3)


def test_a_curve_is_its_points():
    problem = BASE.replace(teacher="H1")
    curve = og.predict(problem, alpha=[0.1, 0.3])
    assert curve.test[1] == og.predict(problem).test
    assert curve.nodes.shape == (2, 2) and (curve.quadrature_error < 2e-3).all()


@pytest.mark.parametrize(
    "changes",
    [{}, {"activation": "silu", "ridge": 0.002, "alpha": 0.5}, {"activation": "relu"}],
    ids=str,
)
def test_nodes_of_normal_readouts_are_enough(changes):
    """The number that their rule asks for, and as many again: bins stay as they are."""
    rows = rows_at_constants(BASE.replace(**changes))
    count = readout_count(rows[0])
    some, more = (
        evaluate_same_rows(rows, SameNodes(bins=4, index=5, readout=k)) for k in (count, 2 * count)
    )
    assert (some.train, some.test) == pytest.approx((more.train, more.test), rel=4e-3)


def test_a_solution_with_fewer_bins_is_a_start_only():
    rows = rows_at_constants(BASE.replace(readout="rademacher"))
    coarse, fine = (SameNodes(bins=bins, index=5, readout=1) for bins in (6, 12))
    cold = evaluate_same_rows(rows, fine)
    warm = evaluate_same_rows(rows, fine, evaluate_same_rows(rows, coarse))
    assert (warm.train, warm.test) == pytest.approx((cold.train, cold.test), rel=2e-6)


@pytest.mark.parametrize("readout", ["gaussian", "rademacher"])
def test_the_left_out_error_is_that_of_networks(readout):
    """No estimate of the test error: the first layer has seen the row that ridge leaves out."""
    problem = Problem(
        n=400, d=160, N=240, teacher="H1", noise=0.5, ridge=0.05, alpha=0.3, ridge_rows="same",
        readout=readout,
    )  # fmt: skip
    networks = og.simulate(problem, seeds=24, leave_one_out=True)
    eq = same_equations(RowsOfStep.of(problem, 0.0), SameNodes(bins=8, index=7, readout=12))
    left_out, test = left_out_error(eq), same_errors(eq).values.test
    measured = networks.leave_one_out
    assert abs(left_out - measured.mean) < 3 * measured.se
    assert abs(test - networks.test.mean) < 3 * networks.test.se
    assert left_out < 0.9 * test  # a share of 0.81, and 0.79
