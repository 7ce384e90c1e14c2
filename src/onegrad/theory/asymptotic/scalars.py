r"""The numbers of problems that the asymptotic theories need, as arrays.

One entry per problem: a curve is one set of arrays, and every formula is written once for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onegrad.arrays import Floats
from onegrad.problem import Problem
from onegrad.theory.asymptotic.assumptions import is_uncentred
from onegrad.theory.asymptotic.resolvent import Traces, traces
from onegrad.theory.direction import Direction, direction_from_moments, output_energy


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
    c: Floats
    c_gt1_squared: Floats
    second_moment: Floats
    output_energy: Floats  # E f_0^2
    slope_second_moment: Floats
    c_star: Floats
    c_star_squared: Floats
    full: Floats  # 1 where the residual contains the initial output, else 0
    gaussian_weights: Floats  # 1 where the rows of W_0 have fluctuating norms, else 0
    free_constant: Floats  # 1 where the constant costs nothing (uncentred or an intercept), else 0

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> Scalars:
        sigma, teacher = [p.sigma for p in problems], [p.sigma_star for p in problems]
        columns = {
            "phi": [p.phi for p in problems],
            "psi": [p.psi for p in problems],
            "phi_step": [p.phi_step for p in problems],
            "lam": [p.ridge for p in problems],
            "eta": [p.step for p in problems],
            "noise_squared": [p.noise**2 for p in problems],
            "c": [f.c for f in sigma],
            "c_gt1_squared": [f.nonlinear_energy for f in sigma],
            "second_moment": [f.second_moment for f in sigma],
            "output_energy": [output_energy(p) for p in problems],
            "slope_second_moment": [f.slope_second_moment for f in sigma],
            "c_star": [f.c for f in teacher],
            "c_star_squared": [f.variance for f in teacher],
            "full": [p.residual == "full" for p in problems],
            "gaussian_weights": [p.weights == "gaussian" for p in problems],
            "free_constant": [p.intercept or is_uncentred(p) for p in problems],
        }
        return cls(**{name: np.array(values, dtype=float) for name, values in columns.items()})

    @property
    def c1(self) -> Floats:
        return self.c[:, 1]

    @cached_property
    def traces(self) -> Traces:
        return traces(self.c1**2, self.c_gt1_squared, self.phi, self.psi, self.lam)

    @cached_property
    def direction(self) -> Direction:
        labels = self.c_star_squared + self.c_star[:, 0] ** 2 + self.noise_squared
        output, c1 = self.full * self.output_energy, self.full * self.c1
        return direction_from_moments(labels, output, self.c_star[:, 1], c1, self.phi_step)

    @property
    def noise_length_squared(self) -> Floats:
        r"""Squared length of what the step adds to a row besides :math:`c_1\beta`.

        .. math:: \phi E[res^2](E\sigma'^2 - c_1^2)

        per unit of readout and step.
        """
        excess = np.maximum(self.slope_second_moment - self.c1**2, 0.0)
        return self.phi_step * self.direction.residual_energy * excess

    @property
    def nu_squared(self) -> Floats:
        r"""`noise_length_squared` relative to the spike; zero where there is none.

        .. math:: \nu^2 = \phi E[res^2](E\sigma'^2 - c_1^2)/(c_1 b)^2
        """
        noise, spike = self.noise_length_squared, self.c1**2 * self.direction.b_squared
        return np.divide(noise, spike, np.zeros_like(noise), where=spike > 0)

    @property
    def constant_weight(self) -> tuple[Floats, Floats]:
        r"""Weight of the constant, :math:`w = M_0/M_1`, and its derivative dw/d lam.

        With :math:`M_0 = \mathbf 1^\top R_0 \mathbf 1`,

        .. math:: w = \frac1{1 + 2 c_2^2 \kappa M_1/\psi} \text{ (Gaussian } W_0),\quad
            1 \text{ (sphere)},\quad 0 \text{ (free constant)}

        Gaussian rows have fluctuating norms, so the features contain a multiple of the constant.
        """
        slope = self.gaussian_weights * 2 * self.c[:, 2] ** 2 / self.psi
        w = np.where(self.free_constant, 0.0, 1 / (1 + slope * self.traces.h))
        return w, -(w**2) * slope * self.traces.h_prime
