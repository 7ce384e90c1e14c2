"""Problems that differ by rounding have predictions that differ by rounding."""

import pytest

import onegrad as og
from uniform_point import uniform_point

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.exceptions.AssumptionWarning")

SMALL = {"n": 300, "d": 100, "N": 90, "n_step": 150}
PROBLEMS = [
    og.Problem(**SMALL, activation=activation, teacher=teacher, readout=readout, residual=residual)
    for activation, teacher in (("softplus", "H1 + H2/sqrt(2)"), ("relu", "relu"), ("tanh", "H1"))
    for readout in ("constant", "gaussian")
    for residual in ("labels", "full")
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=range(len(PROBLEMS)))
def test_of_the_step(problem):
    for alpha in (0.3, 0.6):
        there, here = (
            uniform_point(problem.replace(alpha=a)) for a in (alpha, alpha * (1 - 3e-16))
        )
        assert there.test == pytest.approx(here.test, rel=1e-9)
        assert there.train == pytest.approx(here.train, rel=1e-9)
