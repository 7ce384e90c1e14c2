r"""Outliers of the weights after two steps of sizes :math:`n^{\alpha_1}, n^{\alpha_2}`.

After the first step :math:`W_1 = W_0 + \eta_1c_1a\beta^\top`, a neuron's slope at a row depends on
the learned index :math:`u = \beta\cdot x` too. So the second gradient has a term for each power:

.. math::
    E_z\sigma'(z + \eta_1c_1a_iu) = \sum_{k\ge0}\frac{(k+1)!\,c_{k+1}}{k!}(\eta_1c_1a_iu)^k,\qquad
    W_2 \approx W_0 + \eta_1c_1a\beta^\top
        + \eta_2\sum_k\frac{(k+1)!\,c_{k+1}}{k!}(\eta_1c_1)^k\,a^{\circ(k+1)}v_k^\top,\qquad
    v_k = \tfrac1nX^\top(y\circ u^k)

*Sizes.* :math:`\|a^{\circ(k+1)}\|` is of order :math:`n^{-k/2}`, so that term k has the singular
value :math:`n^{\alpha_2-k(1/2-\alpha_1)}`, if :math:`c_{k+1}\ne0`. The one with k = 0 has the first
step's left vector and joins its outlier, :math:`n^{\max(\alpha_1,\alpha_2)}`.

*Right vectors.* Off the teacher's direction the rows are Gaussian. With :math:`e` along
:math:`\beta` less its part along the teacher, :math:`b_\perp^2 = \varphi_0Ey^2`, and a standard
normal z independent of y,

.. math::
    u &= c_{\star1}x_\star + b_\perp z \;(+\,\varphi_0y\text{ on the same batch}), \\
    v[q] &= \tfrac1nX^\top(yq) = E[yqx_\star]\,\beta_\star
        + \big(E[yqz] \;(+\,b_\perp E[y^2q]/Ey^2)\big)e + \xi_q, \\
    \xi_q\cdot\xi_p &= \varphi_0\big(E[y^2qp] \;(-\,E[y^2q]E[y^2p]/Ey^2)\big)

for row functions q, p; what is in brackets is of the same batch, where the rows along e are what
the first step has read.

*Positions.* The singular values :math:`\theta` of the sum that is added to :math:`W_0`, with all
powers of u together, are square roots of eigenvalues of a kernel on the readout's law. For
:math:`\theta^4 > N/d` each leads to the eigenvalue

.. math:: x = \frac{(1+\theta^2)(N/d+\theta^2)}{\theta^2} \quad\text{of}\quad W_2W_2^\top .
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from onegrad.arrays import Floats
from onegrad.exceptions import OutOfScope
from onegrad.functions import MultiIndex
from onegrad.functions.averages import gaussian_averages
from onegrad.functions.hermite import gauss_hermite, gaussian_rule
from onegrad.problem import Problem
from onegrad.theory import scope
from onegrad.theory.asymptotic.assumptions import require_linear_part
from onegrad.theory.asymptotic.outliers import readout_law
from onegrad.theory.uniform.rules import ONE_NODE, product_rule

_NAME = "two-step outliers"
READ_FIELDS = ("activation", "teacher", "noise", "alpha", "eta", "later_alpha", "n_step", "weights")
# what comes after the steps
UNREAD_FIELDS = ("ridge", "ridge_rows", "intercept", "steps", "batches", "readout")
TEACHER_NODES, INDEX_NODES, LABEL_NOISE_NODES = 40, 24, 9
MIN_GRID, GRID_STEP = 21, 0.1  # of slopes against the mean, a cubic spline: off by 1e-6
LARGEST_TERM = 8  # of the terms that are listed
ZERO = 1e-9  # a smaller coefficient or exponent is zero up to rounding


@dataclass(frozen=True)
class TwoStepOutliers:
    r"""Outliers of :math:`W_2W_2^\top` after a second step.

    number : terms that grow with n: the joint one of both steps, and each k >= 1 with a positive
        exponent and a coefficient that is not zero.
    exponents : of n in the singular value of term k = 0, 1, ...
    coefficients : :math:`(k+1)!\,c_{k+1} = E\sigma^{(k+1)}` of term k.
    positions : all eigenvalues outside the bulk at this n, the largest first.
    edge : right end of the bulk, that of :math:`W_0W_0^\top`.
    """

    number: int
    exponents: Floats
    coefficients: Floats
    positions: Floats
    edge: float


def two_step_outliers(problem: Problem) -> TwoStepOutliers:
    r"""Return number, exponents, coefficients and positions of the outliers after two steps.

    .. math:: \text{term } k:\quad (k+1)!\,c_{k+1}\,n^{\alpha_2-k(1/2-\alpha_1)},\qquad k = 0, 1, …

    The second batch is fresh or the first one again (`batches`). Readouts of equal size
    (`constant`, `rademacher`) have at most one and two different left vectors
    :math:`a^{\circ(k+1)}`, so at most as many outliers.

    Holds for isotropic Gaussian inputs, a teacher of one index, the residual `labels`, in the limit
    n, d, N to infinity with positions at this n: terms of relative order
    :math:`n^{2\alpha-1}` are left out. See Dandi et al. 2024 and Moniri and Hassani 2026 for the
    count; tests/theory/asymptotic/test_outliers_after_two_steps.py.

    Examples
    --------
    >>> import onegrad as og
    >>> p = og.Problem(n=1000, d=500, N=500, activation="relu", alpha=(0.4, 0.3))
    >>> found = og.two_step_outliers(p)
    >>> found.number, found.exponents[:3].round(2).tolist()
    (2, [0.4, 0.2, 0.1])
    >>> found.coefficients[:3].round(3).tolist()  # c_3 = 0: the third never leaves the bulk
    [0.5, 0.399, 0.0]
    """
    _require_covered(problem)
    first, second = problem.step, problem.replace(steps=2).later_sizes[0]
    alpha_1, alpha_2 = (math.log(size) / math.log(problem.n) for size in (first, second))
    later = [alpha_2 - k * (0.5 - alpha_1) for k in range(1, LARGEST_TERM + 1)]
    exponents = np.array([max(alpha_1, alpha_2), *later])
    c = problem.sigma.c[1 : LARGEST_TERM + 2]
    coefficients = np.array([math.factorial(k + 1) * c_k for k, c_k in enumerate(c)])
    grows = (exponents > ZERO) & (abs(coefficients) > ZERO)
    left_vectors = {"constant": 1, "rademacher": 2}.get(problem.readout, LARGEST_TERM)
    ratio = problem.N / problem.d
    squares = squared_strengths(problem, first, second)
    squares = squares[squares**2 > ratio]
    return TwoStepOutliers(
        number=min(int(grows.sum()), left_vectors),
        exponents=exponents,
        coefficients=coefficients,
        positions=(1 + squares) * (ratio + squares) / squares,
        edge=(1 + math.sqrt(ratio)) ** 2,
    )


def _require_covered(problem: Problem) -> None:
    scope.require_known_fields(_NAME, (*READ_FIELDS, *UNREAD_FIELDS), [problem])
    scope.require_representable(_NAME, [problem])
    if isinstance(problem.teacher_function, MultiIndex):
        raise OutOfScope(_NAME, "teacher", problem.teacher_function.name, "functions of one index")
    if problem.steps > 2:
        raise OutOfScope(_NAME, "steps", problem.steps, "two steps")
    if problem.step == 0:
        raise OutOfScope(_NAME, "alpha", problem.alpha, "a first step")
    require_linear_part(_NAME, [problem])


def squared_strengths(problem: Problem, first: float, second: float) -> Floats:
    """Return the squared singular values of what the two steps add to W_0, the largest first."""
    teacher, sigma, phi0 = problem.sigma_star, problem.sigma, problem.phi_step
    same = float(problem.batches == "same")
    energy = teacher.second_moment + problem.noise**2
    c_star, b = float(teacher.c[1]), math.sqrt(phi0 * energy)
    scale = first * float(sigma.c[1]) / math.sqrt(problem.N)  # eta_1 c_1 a = scale g
    g, weight = readout_law(problem.readout)

    # rows: x along the teacher, z along the rest of beta, noise; all flattened to (rows,)
    drawn = same and problem.noise  # on fresh rows the index does not know the noise
    rules = [
        gaussian_rule(teacher.kinks) if teacher.kinks else gauss_hermite(TEACHER_NODES),
        gauss_hermite(INDEX_NODES),
        gauss_hermite(LABEL_NOISE_NODES) if drawn else ONE_NODE,
    ]
    (x, z, noise), rows = product_rule(rules)
    y = teacher(x) + problem.noise * noise
    y_squared = y**2 + (0.0 if drawn else problem.noise**2)
    u = c_star * x + b * z + same * phi0 * y
    mean = scale * g[:, None] * u
    # E sigma'(z + mean) = E[z sigma(z + mean)] is smooth in the mean, also where sigma has kinks
    grid = np.linspace(mean.min(), mean.max(), max(MIN_GRID, math.ceil(np.ptp(mean) / GRID_STEP)))
    slopes = scipy.interpolate.CubicSpline(grid, gaussian_averages(sigma, grid, np.ones(1)).slope)(
        mean
    )

    average = slopes @ (rows * np.stack([y * x, y * z, y_squared])).T  # (nodes, 3)
    along = average[:, :2].copy()
    along[:, 1] += same * b * average[:, 2] / energy
    noise_gram = phi0 * ((slopes * (rows * y_squared)) @ slopes.T)
    noise_gram -= same * phi0 * np.outer(average[:, 2], average[:, 2]) / energy

    size = second / math.sqrt(problem.N)
    added = g[:, None] * (size * along + scale * np.array([c_star, b]))  # (nodes, 2)
    kernel = added @ added.T + size**2 * np.outer(g, g) * noise_gram
    root = np.sqrt(problem.N * weight)
    return np.maximum(np.linalg.eigvalsh(root[:, None] * kernel * root), 0.0)[::-1]
