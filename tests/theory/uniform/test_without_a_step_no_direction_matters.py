"""Without a step the theory may take any direction for v: the overlap with the teacher cancels."""

import pytest

from onegrad import Problem
from onegrad.theory.uniform import preparation
from uniform_point import uniform_point

BASE = Problem(n=600, d=250, N=400, teacher="H1 + H2/2", noise=0.3, ridge=0.02, eta=0.0)


@pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")  # so few rows of the step
@pytest.mark.parametrize("activation", ["tanh", "relu", "softplus"])
@pytest.mark.parametrize("changes", [{}, {"intercept": True}, {"teacher": "H1@1 + H1@1*H1@2"}])
def test_without_a_step_no_direction_matters(activation, changes, monkeypatch):
    monkeypatch.setattr(preparation, "with_a_direction", lambda problem: problem)
    problem = BASE.replace(activation=activation, **changes)
    far, near = (uniform_point(problem.replace(n_step=rows), rtol=1e-6) for rows in (60, 60_000))
    theta = [preparation.take_step(problem.replace(n_step=rows)).theta for rows in (60, 60_000)]
    assert theta[0] < 0.45 < 0.99 < theta[1]
    assert (far.train, far.test) == pytest.approx((near.train, near.test), rel=1e-4)
