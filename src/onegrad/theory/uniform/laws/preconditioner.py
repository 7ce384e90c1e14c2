r"""A step along the gradient times the inverse covariance of its rows.

.. math:: C = X^\top X/n_0 + \epsilon t_1, \qquad C(w - w^0) = Z,

with the gradient Z, and the multiplier on this equation: no field is added. Where x is white only
the shift is divided by the eigenvalue s. Leave a row out: a direction keeps the *gain* :math:`K_s`
of itself,

.. math:: K_s = m_s/(1 + \varphi_0m),\qquad m_s = 1/(\epsilon/s + 1/(1 + \varphi_0m)),\qquad
    m = \sum_s\omega_sm_s,

and the row's product with the move is, with its squared length :math:`\ell` over d,

.. math::
    x\cdot(w - w^0) = h_\ell\big[x\cdot(w - w^0)_{out} + \varphi_0m\ell\,\psi\big],
    \qquad h_\ell = 1/(1 + \varphi_0m\ell)

for the row function :math:`\psi` that the move regresses (:math:`r\sigma'`, or r for the direction
:math:`h = C^{-1}X^\top r/n_0`). With its linear part c a move is K c and noise K n,

.. math:: |n|^2 = \varphi_0\Lambda,\qquad
    \Lambda = E(\psi - x\cdot h_{out})^2
    = \frac{E\psi^2 - |c|^2 + |(1 - K)c|^2}{1 - \varphi_0\sum_s\omega_sK_s^2}.

The index of a row is that of the row left out and its own part, :math:`b\kappa = b\kappa^{out} +
\varphi_0m\ell h_\ell(r - b\kappa^{out})`, and off the special directions
:math:`\sum_j(r_j - b\kappa_j)x_j = 0`. The gradient is the limit :math:`K_s = s`,
:math:`h_\ell = m = 1`, :math:`\Lambda = E\psi^2`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import scipy

from onegrad.arrays import Floats


@dataclass(frozen=True)
class Preconditioner:
    """The inverse of the rows' covariance and a shift; eigenvalues have the mean one."""

    shift: float
    phi: float  # d/n_0
    s: Floats  # (R,) eigenvalues of the inputs' covariance
    omega: Floats  # (R,) shares of the directions

    @cached_property
    def trace(self) -> float:
        """The trace m."""
        largest = float(self.omega @ self.s) / self.shift
        root = scipy.optimize.brentq(lambda m: m - self.omega @ self._traces(m), 0.0, largest)
        return float(root)

    def _traces(self, m: float) -> Floats:
        return 1 / (self.shift / self.s + 1 / (1 + self.phi * m))

    @property
    def gain(self) -> Floats:
        """Share K that a direction keeps of itself, (R,)."""
        return self._traces(self.trace) * self.kept_fraction(1.0)

    @property
    def spread(self) -> float:
        r"""Return :math:`\varphi_0\sum_s\omega_sK_s^2`."""
        return self.phi * float(self.omega @ self.gain**2)

    def kept_fraction(self, length: Any) -> Any:
        """Part of its product with a weight's move that a row of the step leaves."""
        return 1 / (1 + self.phi * self.trace * length)

    def left_out(self, energy: Any, signal: Any, missed: Any) -> Any:
        """Return the mean square Lambda of what the move leaves of a row function.

        signal, missed : |c|^2 and |(1 - K)c|^2.
        """
        return (energy - signal + missed) / (1 - self.spread)
