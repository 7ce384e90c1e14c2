r"""The direction that one step learns, :math:`\beta = X^\top res/n_0`."""

from __future__ import annotations

import math
from typing import NamedTuple

from onegrad.problem import Problem


class Direction(NamedTuple):
    r"""Squared length of beta, its cosine with the teacher's direction, and the residual's energy.

    .. math:: b^2 = c_{\star,1}^2 + \phi_0 E[res^2] \;(+\,c_1^2),\qquad \rho = c_{\star,1}/b,\qquad
        E[res^2] = E\sigma_\star^2 + \sigma_\varepsilon^2 \;(+\,E\sigma^2)

    with the terms in brackets for the full residual, and rho = 0 where b is. The printed form has
    the residual y only.
    """

    b_squared: float
    rho: float
    residual_energy: float


def direction(problem: Problem) -> Direction:
    """The limit n, d, N to infinity of the learned direction.

    Holds for isotropic Gaussian inputs and a centred activation, or any with the residual y.
    See Ba et al. 2022, Prop. 2; tests/theory/asymptotic/test_reference_values.py (task 3).
    """
    sigma, sigma_star = problem.sigma, problem.sigma_star
    c1_star = float(sigma_star.c[1])
    energy, linear = sigma_star.second_moment + problem.noise**2, c1_star**2
    if problem.residual == "full":
        energy, linear = energy + sigma.second_moment, linear + float(sigma.c[1]) ** 2
    b_squared = linear + problem.phi_step * energy
    return Direction(b_squared, c1_star / math.sqrt(b_squared) if b_squared else 0.0, energy)
