r"""The numbers that the asymptotic theories need of a problem, and the learned direction.

One entry per problem: a curve is one set of arrays, and every formula is written once for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onegrad.functions.hermite import Floats
from onegrad.problem import Problem
from onegrad.theory.asymptotic.resolvent import Traces, traces

Bools = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True)
class Scalars:
    """Sizes, moments of activation and teacher, and options of each problem, shape (points,).

    `c` and `c_star` have shape (points, degrees): Hermite coefficients E[sigma He_k]/k! of the
    activation and of the teacher.
    """

    phi: Floats
    psi: Floats
    phi_step: Floats
    lam: Floats
    eta: Floats
    noise_squared: Floats
    c_gt1_squared: Floats
    second_moment: Floats
    slope_second_moment: Floats
    c: Floats
    c_star: Floats
    c_star_squared: Floats
    full: Floats  # 1 where the residual contains the initial output, else 0
    gaussian_weights: Floats  # 1 where the rows of W_0 have fluctuating norms, else 0
    intercept: Floats  # 1 where ridge fits a free constant, else 0

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> Scalars:
        """Read the problems once."""
        rows, c, c_star = [], [], []
        for p in problems:
            sigma, teacher = p.sigma, p.sigma_star
            rows.append(
                (
                    p.phi, p.psi, p.phi_step, p.ridge, p.step, p.noise**2,
                    sigma.nonlinear_energy, sigma.second_moment, sigma.slope_second_moment,
                    teacher.variance, p.residual == "full", p.weights == "gaussian", p.intercept,
                )
            )  # fmt: skip
            c.append(sigma.c)
            c_star.append(teacher.c)
        (
            phi, psi, phi_step, lam, eta, noise_squared, c_gt1_squared, second_moment,
            slope_second_moment, c_star_squared, full, gaussian_weights, intercept,
        ) = np.asarray(rows, dtype=float).T  # fmt: skip
        return cls(
            phi, psi, phi_step, lam, eta, noise_squared, c_gt1_squared, second_moment,
            slope_second_moment, np.asarray(c), np.asarray(c_star), c_star_squared, full,
            gaussian_weights, intercept,
        )  # fmt: skip

    @property
    def c0(self) -> Floats:
        return self.c[:, 0]

    @property
    def c1(self) -> Floats:
        return self.c[:, 1]

    @property
    def c2(self) -> Floats:
        return self.c[:, 2]

    @cached_property
    def traces(self) -> Traces:
        return traces(self.c1**2, self.c_gt1_squared, self.phi, self.psi, self.lam)

    @property
    def residual_squared(self) -> Floats:
        r""":math:`E[res^2] = E\sigma_\star^2 + \sigma_\varepsilon^2`, plus :math:`E\sigma^2` for
        the full residual."""
        labels = self.c_star_squared + self.c_star[:, 0] ** 2 + self.noise_squared
        return labels + self.full * self.second_moment

    @property
    def b_squared(self) -> Floats:
        r"""Squared length of the learned direction :math:`\beta = X^\top res/n`.

        .. math:: b^2 = c_{\star,1}^2 + \phi\,E[res^2] \;(+\,c_1^2 \text{ for the full residual})

        with the :math:`\phi` of the step. The printed form has the residual y only.
        See Ba et al. 2022, Prop. 2; tests/theory/test_reference_values.py (task 3 direction).
        """
        return (
            self.c_star[:, 1] ** 2 + self.full * self.c1**2 + self.phi_step * self.residual_squared
        )

    @property
    def rho(self) -> Floats:
        r"""Cosine of the learned direction and the teacher's, :math:`c_{\star,1}/b`."""
        return _ratio(self.c_star[:, 1], np.sqrt(self.b_squared))

    @property
    def noise_length_squared(self) -> Floats:
        r""":math:`\phi E[res^2](E\sigma'^2 - c_1^2)`: squared length of what the step adds to a
        row besides :math:`c_1\beta`, per unit of readout and step."""
        excess = np.maximum(self.slope_second_moment - self.c1**2, 0.0)
        return self.phi_step * self.residual_squared * excess

    @property
    def nu_squared(self) -> Floats:
        r"""The same relative to the spike, :math:`\nu^2 = \phi E[res^2](E\sigma'^2 - c_1^2)/(c_1
        b)^2`."""
        return _ratio(self.noise_length_squared, self.c1**2 * self.b_squared)

    @property
    def free_constant(self) -> Bools:
        """Where the constant function costs nothing: an uncentred student or an intercept."""
        scale = 1e-12 * np.sqrt(self.second_moment)
        return (np.abs(self.c0) > scale) | (self.intercept > 0)

    @property
    def constant_weight(self) -> tuple[Floats, Floats]:
        r""":math:`w = M_0/M_1` with :math:`M_0 = \mathbf 1^\top R_0 \mathbf 1`, and dw/d lam.

        .. math:: w = \frac1{1 + 2 c_2^2 \kappa M_1/\psi} \text{ (Gaussian } W_0),\quad
            1 \text{ (sphere)},\quad 0 \text{ (free constant)}

        Gaussian rows have fluctuating norms, so the features contain a multiple of the constant.
        """
        slope = self.gaussian_weights * 2 * self.c2**2 / self.psi
        w = np.where(self.free_constant, 0.0, 1 / (1 + slope * self.traces.h))
        return w, -(w**2) * slope * self.traces.dh


def _ratio(x: Floats, y: Floats) -> Floats:
    """x/y, and zero where there is nothing to divide by: no labels, or no linear part, no spike."""
    return np.divide(x, y, out=np.zeros_like(x), where=y > 0)
