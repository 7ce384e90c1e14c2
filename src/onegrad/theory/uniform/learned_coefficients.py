r"""The part of the teacher that is learned: the mean of the fitted function given its index.

Given the learned index :math:`\kappa = v\cdot x` and the teacher's direction off v, z, the mean of
the fitted function is :math:`a(\kappa) + b(\kappa)z`. At the fixed point the mean residuals are

.. math:: Y_0 - a = \mathrm{fit}_0/\pi,\qquad Y_1 - b = \mathrm{fit}_1/\pi,

the mean training residual over the leave-one-out factor. With :math:`u = \theta\kappa +
\sqrt{1-\theta^2}\,z` and Hermite coefficients :math:`a_k = E[a\,h_k]`, :math:`b_k = E[b\,h_k]`,

.. math:: E[\hat f\,h_k(u)] = \theta^k a_k + \sqrt{1-\theta^2}\,\sqrt k\,\theta^{k-1} b_{k-1}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import OutOfScope
from onegrad.functions.hermite import normalised_hermite
from onegrad.problem import Problem
from onegrad.theory.uniform.concerns import require_covered
from onegrad.theory.uniform.discretisation import equations
from onegrad.theory.uniform.fixed_point import solve_fixed_point
from onegrad.theory.uniform.label_law import LabelLaw
from onegrad.theory.uniform.preparation import NodeCounts, prepare_problem
from onegrad.theory.uniform.ridge_errors import fit_labels, mean_part

LEARNED_NODES = NodeCounts(14, 24)
MAX_FITTED_DEGREE = 12  # products of two polynomials of this degree are integrated exactly


@dataclass(frozen=True)
class LearnedCoefficients:
    """Normalised Hermite coefficients, degree 0 first, of the teacher and of the mean fit.

    The part of the test error at degree k is (target_k - learned_k)^2.
    """

    target: Floats
    learned: Floats


def learned_coefficients(problem: Problem) -> LearnedCoefficients:
    """Return how much of each Hermite degree of the teacher the network has learned.

    Holds for one step on Gaussian inputs with a single-index teacher, then ridge on fresh rows.

    Examples
    --------
    >>> import onegrad as og
    >>> from onegrad.theory import learned_coefficients
    >>> problem = og.Problem(n=1000, d=500, N=667, teacher="H1 + H2/sqrt(2)", activation="relu")
    >>> small, large = (learned_coefficients(problem.replace(alpha=a)).learned for a in (0.1, 0.4))
    >>> bool(10 * small[2] < large[2])  # the large step learns more of the quadratic part
    True

    See tests/explorer/test_what_theory_says_is_learned_is_learned.py.
    """
    require_covered(problem)
    if LabelLaw.of(problem).fit.has_direction:
        raise OutOfScope("learned_coefficients", "labels", problem.labels, "plain, centred")
    eq = equations(prepare_problem(problem), LEARNED_NODES)
    state = solve_fixed_point(eq, problem.ridge).state
    fit, _ = fit_labels(eq, mean_part(eq, state))
    h = normalised_hermite(eq.index, MAX_FITTED_DEGREE) * eq.p
    a = h @ (eq.Y0 - fit[0] / state.pi)
    b = h @ (eq.Y1[0] - fit[2] / state.pi)
    theta, k = eq.step.theta, np.arange(MAX_FITTED_DEGREE + 1)
    coefficients = theta**k * a
    coefficients[1:] += np.sqrt((1 - theta**2) * k[1:]) * theta ** (k[1:] - 1) * b[:-1]
    norms = np.array([math.sqrt(math.factorial(j)) for j in k])
    return LearnedCoefficients(norms * problem.sigma_star.c[: MAX_FITTED_DEGREE + 1], coefficients)
