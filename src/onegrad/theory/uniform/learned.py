r"""The part of the teacher that is learned: the mean of the fitted function given its index.

On a fresh row the fit is :math:`\Phi\cdot h` with :math:`Hh = E[y\hat\pi\Phi]` (`fit`). Given the
learned index :math:`\kappa = v\cdot x` and the teacher's direction off v, z, its mean is
:math:`a(\kappa) + b(\kappa)z + q(\kappa)(z^2-1)/\sqrt2`. With :math:`u = \theta\kappa +
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
from onegrad.theory.uniform.discretise import Nodes, discretise
from onegrad.theory.uniform.evaluation import solve_equations
from onegrad.theory.uniform.fit import Equations, quadratic_problem
from onegrad.theory.uniform.laws.labels import LabelLaw
from onegrad.theory.uniform.laws.table import Laws, laws_of
from onegrad.theory.uniform.pencil import Parameter
from onegrad.theory.uniform.response import respond
from onegrad.theory.uniform.solver import ROUGH_TOLERANCES, Solution

LEARNED_FIELDS = (*ONE_STEP_FIELDS, "ridge_rows", "weight_decay")
LEARNED_NODES = Nodes(
    residual=8, bins=12, index=0.75, readout=1.5, starts=False
)  # polynomials of the index are averaged
MAX_MISSED_EXCESS = 0.02  # of what is not learned over the test error, by quadrature
MAX_FITTED_DEGREE = 12


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

    Holds for one step on Gaussian inputs with a single-index teacher, then ridge.

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
    require_covered(problem, LEARNED_FIELDS)
    if LabelLaw.of(problem).fit.has_direction:
        raise OutOfScope("learned_coefficients", "labels", problem.labels, "plain, centred")
    norms = np.array([math.sqrt(math.factorial(j)) for j in range(MAX_FITTED_DEGREE + 1)])
    target = norms * problem.sigma_star.c[: MAX_FITTED_DEGREE + 1]
    solutions = [_solution(laws) for laws in laws_of(problem)]
    learned = np.mean([_fitted_coefficients(*solution) for solution in solutions], axis=0)
    test = float(np.mean([_test_error(*solution) for solution in solutions]))
    missed = float(((target - learned) ** 2).sum())
    if missed + problem.noise**2 > test * (1 + MAX_MISSED_EXCESS):
        raise NotConverged(
            f"uniform theory: what is not learned, {missed:.3g}, exceeds the test error, {test:.3g}"
        )
    return LearnedCoefficients(target, learned)


def _solution(laws: Laws) -> tuple[Equations, Solution]:
    equations = discretise(laws, LEARNED_NODES)
    return equations, solve_equations(equations, None, ROUGH_TOLERANCES)


def _test_error(eq: Equations, solution: Solution) -> float:
    """Return the test error to a part in a thousand."""
    nothing = np.zeros((1, len(solution.x)))
    return respond(eq, solution, [Parameter(test=1.0)], nothing).slopes[0]


def _fitted_coefficients(eq: Equations, solution: Solution) -> Floats:
    """Return the Hermite coefficients of the mean fitted function along the teacher."""
    places, rows, e = eq.places, eq.steps.test.rows, eq.pencil.test.e
    quadratic = quadratic_problem(eq, solution.state)
    h = np.linalg.solve(quadratic.H, quadratic.sides[0])
    fitted = eq.steps.test.design @ h[places.direct]  # (GK, q) on the row variables
    e = e.reshape(len(fitted), -1)
    for i in range(places.row.directions):
        start = places.direction(i).start
        fitted[:, 1 + i] += e @ h[start : start + e.shape[1]]
    kappa = rows.kappa.ravel()
    along, off, product = (fitted[:, k] for k in (1, 2, places.row.products))
    weighted = normalised_hermite(kappa, MAX_FITTED_DEGREE) * rows.mass.ravel()
    a, b, q = (weighted @ f for f in (fitted[:, 0] + kappa * along, off, math.sqrt(2) * product))
    theta, k = float(eq.step.overlaps[0]), np.arange(MAX_FITTED_DEGREE + 1)
    rest = 1 - theta**2
    coefficients = theta**k * a
    coefficients[1:] += np.sqrt(rest * k[1:]) * theta ** (k[1:] - 1) * b[:-1]
    coefficients[2:] += np.sqrt(k[2:] * (k[2:] - 1) / 2) * rest * theta ** (k[2:] - 2) * q[:-2]
    return coefficients
