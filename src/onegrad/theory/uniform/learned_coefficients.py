r"""The part of the teacher that is learned: the mean of the fitted function given its index.

Given the learned index :math:`\kappa = v\cdot x` and the teacher's direction off v, z, the mean of
the fitted function is :math:`a(\kappa) + b(\kappa)z + q(\kappa)(z^2-1)/\sqrt2`. At the fixed point
the mean residuals are

.. math:: Y_0 - a = \mathrm{fit}_0/\pi,\qquad Y_1 - b = \mathrm{fit}_1/\pi,\qquad
    Y_q - q = \mathrm{fit}_q/\pi,

the mean training residual over the leave-one-out factor. With :math:`u = \theta\kappa +
\bar\theta z`, :math:`\bar\theta^2 = 1-\theta^2`, and Hermite coefficients :math:`a_k = E[a\,h_k]`,

.. math:: E[\hat f\,h_k(u)] = \theta^k a_k + \sqrt k\,\theta^{k-1}\bar\theta\,b_{k-1}
    + \sqrt{\tbinom k2}\,\theta^{k-2}\bar\theta^2\,q_{k-2}.

What is not learned is part of the test error, :math:`\sum_k(\star_k - E[\hat f\,h_k])^2 +
\sigma_\varepsilon^2 \le L_{te}`, and coefficients that break this are not returned.
"""

import math
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import NotConverged, OutOfScope
from onegrad.functions.hermite import normalised_hermite
from onegrad.parallel.cores import one_blas_thread
from onegrad.problem import Problem
from onegrad.theory.uniform.concerns import ONE_STEP_FIELDS, require_covered
from onegrad.theory.uniform.discretisation import Equations, equations
from onegrad.theory.uniform.fixed_point import State, solve_fixed_point
from onegrad.theory.uniform.laws.labels import LabelLaw
from onegrad.theory.uniform.preparation import NodeCounts, prepare_problem
from onegrad.theory.uniform.ridge_errors import fit_labels, mean_part, ridge_errors

LEARNED_NODES = NodeCounts(14, 24)
MAX_MISSED_EXCESS = 0.02  # of what is not learned over the test error, by quadrature
MAX_FITTED_DEGREE = 12  # products of two polynomials of this degree are integrated exactly


@dataclass(frozen=True)
class LearnedCoefficients:
    """Normalised Hermite coefficients, degree 0 first, of the teacher and of the mean fit.

    The part of the test error at degree k is (target_k - learned_k)^2.
    """

    target: Floats
    learned: Floats


@one_blas_thread
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
    require_covered(problem, ONE_STEP_FIELDS)
    if LabelLaw.of(problem).fit.has_direction:
        raise OutOfScope("learned_coefficients", "labels", problem.labels, "plain, centred")
    eq = equations(prepare_problem(problem), LEARNED_NODES)
    solution = solve_fixed_point(eq, problem.ridge)
    learned = _fitted_coefficients(eq, solution.state)
    norms = np.array([math.sqrt(math.factorial(j)) for j in range(MAX_FITTED_DEGREE + 1)])
    target = norms * problem.sigma_star.c[: MAX_FITTED_DEGREE + 1]
    missed, test = ((target - learned) ** 2).sum(), ridge_errors(eq, solution).test
    if missed + problem.noise**2 > test * (1 + MAX_MISSED_EXCESS):
        raise NotConverged(
            f"uniform theory: what is not learned, {missed:.3g}, exceeds the test error, {test:.3g}"
        )
    return LearnedCoefficients(target, learned)


def _fitted_coefficients(eq: Equations, state: State) -> Floats:
    """Return the Hermite coefficients of the mean fitted function along the teacher."""
    fit, _ = fit_labels(eq, mean_part(eq, state))
    t = len(eq.Y1)
    labels = np.concatenate([eq.Y0[None], 0 * eq.Y0[None], eq.Y1, eq.squares.Y])
    fitted = labels - fit / state.pi
    along_teacher = eq.basis[0] @ fitted[2 : 2 + t]
    h = normalised_hermite(eq.index, MAX_FITTED_DEGREE) * eq.p
    a, b, q = (h @ f for f in (fitted[0], along_teacher, fitted[2 + t]))
    theta, rest, k = eq.step.theta, 1 - eq.step.theta**2, np.arange(MAX_FITTED_DEGREE + 1)
    coefficients = theta**k * a
    coefficients[1:] += np.sqrt(rest * k[1:]) * theta ** (k[1:] - 1) * b[:-1]
    coefficients[2:] += np.sqrt(k[2:] * (k[2:] - 1) / 2) * rest * theta ** (k[2:] - 2) * q[:-2]
    return coefficients
