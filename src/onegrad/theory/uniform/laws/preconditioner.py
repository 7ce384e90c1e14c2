r"""A step along the gradient times the inverse covariance of its rows.

.. math:: C = X^\top X/n_0 + \epsilon, \qquad C(w - w^0) = Z,

with the gradient Z, and the multiplier on this equation: no field is added. All follows from the
traces :math:`m = \mathrm{tr}C^{-1}/d` and :math:`m' = \mathrm{tr}C^{-2}/d`,

.. math:: 1 = m\Big(\epsilon + \frac1{1+\varphi m}\Big),\qquad
    m' = m\Big/\Big(\epsilon + \frac1{(1+\varphi m)^2}\Big).

Leave a row of the step out of it: with its squared length :math:`\ell` over d,

.. math::
    x\cdot(w - w^0) = h_\ell\big[x\cdot(w - w^0)_{out} + \varphi m\ell\,r\sigma'(w^0\cdot x)\big],
    \qquad h_\ell = 1/(1 + \varphi m\ell).

For :math:`h = C^{-1}X^\top r/n_0`, in which the linear part c of the residual keeps the share
:math:`mh_1 = 1 - \epsilon m`, this gives the index of a row, and off the special directions
:math:`\sum_j(r_j - h\cdot x_j)x_j = 0`. The gradient is that of the limit :math:`h_\ell = m = 1`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Preconditioner:
    """The inverse of the rows' covariance and a shift, for unit covariance of the inputs."""

    shift: float
    phi: float  # d/n_0

    @cached_property
    def trace(self) -> float:
        """The trace m."""
        linear = self.shift + 1 - self.phi
        return float(2 / (linear + np.sqrt(linear**2 + 4 * self.shift * self.phi)))

    @property
    def square(self) -> float:
        """The trace m'."""
        return self.trace / (self.shift + self.held(1.0) ** 2)

    @property
    def kept(self) -> float:
        """Share that a direction keeps of itself."""
        return self.trace * self.held(1.0)

    def held(self, length: float) -> float:
        """Part of its product with a weight's move that a row of the step leaves."""
        return 1 / (1 + self.phi * self.trace * length)

    def noise(self, signal: float, energy: float) -> float:
        r"""Return the squared length of the noise of h.

        .. math:: \varphi(E r^2 - |c|^2)(m - \epsilon m') + |c|^2\epsilon^2(m' - m^2)
        """
        m, square = self.trace, self.square
        return self.phi * (energy - signal) * (m - self.shift * square) + signal * (
            self.shift**2 * (square - m**2)
        )

    def moved(self, mean: float, energy: float, even: Any, slope: Any) -> Any:
        r"""Return the squared move of a weight off the special directions.

        .. math:: m'h_1^2\big[4c_2^2\big((1-\varphi m)h_1(Er)^2 + \varphi Er^2\big)
            + \nu\varphi Er^2\big]

        even, slope : (2 c_2)^2 and nu, times the squared step.
        """
        held, noise = self.held(1.0), self.phi * energy
        coherent = (1 - self.phi * self.trace) * held * mean**2
        return self.square * held**2 * (even * (coherent + noise) + slope * noise)
