"""Problems that differ by rounding have predictions that differ by rounding."""

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.uniform.covariance import CONTOUR_SCALES, _newton, _trace
from onegrad.theory.uniform.first_step import take_step
from onegrad.theory.uniform.gauss_nodes import contour, spectrum_bounds
from onegrad.theory.uniform.laws.labels import LabelLaw
from onegrad.theory.uniform.preparation import NodeCounts, prepare_constants, prepare_problem
from onegrad.theory.uniform.refinement import evaluate_at_nodes
from onegrad.theory.uniform.residuals import residual_law

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.exceptions.AssumptionWarning")

SMALL = {"n": 300, "d": 100, "N": 90, "n_step": 150}
PROBLEMS = [
    og.Problem(**SMALL, activation=activation, teacher=teacher, readout=readout, residual=residual)
    for activation, teacher in (("softplus", "H1 + H2/sqrt(2)"), ("relu", "relu"), ("tanh", "H1"))
    for readout in ("constant", "gaussian")
    for residual in ("labels", "full")
]


def law_of(problem):
    """Residuals, their moments, and the weights of the matrix whose nodes are taken."""
    a = take_step(problem, 0.0)
    output = a.backward * a.b
    law = residual_law(LabelLaw.of(problem), a.residual_noise, problem.rows_of_step, output, 0.0)
    return law, law.r if a.c2 else law.r**2


@pytest.mark.parametrize("problem", PROBLEMS, ids=range(len(PROBLEMS)))
def test_of_the_step(problem):
    sizes = NodeCounts(16, 16)
    for alpha in (0.3, 0.6):
        there, here = (
            evaluate_at_nodes(prepare_constants(problem.replace(alpha=a))[1], sizes, None)
            for a in (alpha, alpha * (1 - 3e-16))
        )
        assert there.test == pytest.approx(here.test, rel=1e-11)
        assert there.train == pytest.approx(here.train, rel=1e-11)


@pytest.mark.parametrize("problem", PROBLEMS, ids=range(len(PROBLEMS)))
def test_a_close_contour_still_holds_the_spectrum(problem):
    problem = problem.replace(alpha=0.5)
    law, w = law_of(problem)
    phi = problem.phi_step
    points, jacobian = contour(*spectrum_bounds(w, law.p, law.tau_tau, phi))
    m = _trace(points, w, law.p, phi)
    far = -1 / (CONTOUR_SCALES[0] * points)
    for scale in CONTOUR_SCALES:
        far = _newton(scale * points, far, w, law.p, phi)
    assert np.allclose(m, far, rtol=1e-10)
    masses = [-(jacobian * m * points**k).sum().real for k in range(3)]
    mean, square = law.p @ w, law.p @ w**2
    assert masses == pytest.approx([1, mean, mean**2 + phi * square], rel=1e-10)
    c = law.tau @ (law.p * law.r)
    overlap = c[0] ** 2 / (c @ c + phi * (law.p @ law.r**2))
    off = prepare_problem(problem, 0.0).covariance.off
    assert off.integral(off.teacher)[0, 0] == pytest.approx(1 - overlap, rel=1e-10)  # outliers too
