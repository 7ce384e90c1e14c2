r"""A step along the orthogonal factor of the gradient, at the gradient's length.

With k = min(N, d) the gradient :math:`G_i = g_i(c_1h + Z_i)/\sqrt N` of the squared length
:math:`\Gamma^2 = c_1^2b^2 + \bar\kappa`, and its factor O (all singular values are one),

.. math:: w = (1-\delta)w^0 + \frac{\eta\Gamma}{\sqrt k}\,o,\qquad
    O = \frac{\theta\beta}{\sqrt{1 + \theta^2\beta^2}}\,\frac g{\sqrt N}v^\top + O_\perp,\qquad
    \theta = c_1b,\quad \beta = m_1\sqrt{k/\bar\kappa}.

The signal is a singular value among k: smaller by :math:`\sqrt k`. :math:`O_\perp` is as good as a
random isometry, of which the share :math:`m_1^2` is linear in the gradient's noise,

.. math:: O_\perp = \beta Z + \text{rest},\qquad
    m_1 = \frac{E\sqrt\lambda}{\sqrt{E\lambda}}\ \text{(Marchenko-Pastur, of the ratio } k/K),
    \quad K = \max(N, d).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Floats

ANGLES = 2001  # of the mean singular value
MIN_ENERGY = 1e-9  # along a direction, relative


@dataclass(frozen=True)
class OrthogonalFactor:
    """The orthogonal factor of a gradient, for a step of size one."""

    neurons: int  # N
    d: int
    signal: float  # theta
    even: float  # 2 c_2
    slopes: float  # energy of the noise beyond M w
    mean: float  # of the eigenvalues of M, in which they are a semicircle
    deviation: float

    @property
    def noise(self) -> float:
        """Root of kappa."""
        return float(np.sqrt(self.even**2 * (self.mean**2 + self.deviation**2) + self.slopes))

    @cached_property
    def turns(self) -> Floats:
        """Two eigenvalues of what the factor makes of initial weights, equally likely."""
        angle = (np.arange(ANGLES) + 0.5) * np.pi / ANGLES
        weight = np.sin(angle) ** 2
        A = self.turned(self.mean + 2 * self.deviation * np.cos(angle), 1.0)
        mean, square = (float(weight @ A**k / weight.sum()) for k in (1, 2))
        deviation = np.sqrt(max(square - mean**2, 0.0))
        return np.array([mean + deviation, mean - deviation])

    def turned(self, M: Floats, S: Any) -> Floats:
        """Return what the factor makes of initial weights where M and S/E r^2 are these."""
        at = self.even * M
        return self.mean_value * at / np.sqrt(np.maximum(at**2 + self.slopes * S, MIN_ENERGY))

    @property
    def rank(self) -> int:
        """Number k of singular values."""
        return min(self.neurons, self.d)

    @property
    def ratio(self) -> float:
        """k/K."""
        return self.rank / max(self.neurons, self.d)

    @property
    def length(self) -> float:
        """Length Gamma of the gradient."""
        return float(np.hypot(self.signal, self.noise))

    @cached_property
    def mean_value(self) -> float:
        """Mean m_1 of the singular values of noise, over the root of their mean square."""
        y = self.ratio
        angle = (np.arange(ANGLES) + 0.5) * np.pi / ANGLES
        square = 1 + y + 2 * np.sqrt(y) * np.cos(angle)
        weight = np.sin(angle) ** 2 / square
        return float(weight @ np.sqrt(square) / weight.sum())

    def along_directions(self, M: Floats, S: Floats) -> tuple[Floats, Floats]:
        r"""Return what the factor makes of initial weights, and the variance of the rest of it.

        .. math:: K(1 - f + fK)^{-1},\qquad f = \min(1, N/d)

        M, S : (p, p) along special directions, S over E r^2.
        """
        K = (self.even**2 * M @ M + self.slopes * S) / self.noise**2
        value, vectors = np.linalg.eigh(K)
        none, f = value < MIN_ENERGY, self.rank / self.d
        value = np.where(none, 1.0, value)
        share = (vectors * np.where(none, 0.0, value / (1 - f + f * value))) @ vectors.T
        root = (vectors * np.where(none, 0.0, 1 / np.sqrt(value))) @ vectors.T
        A = self.mean_value * self.even / self.noise * (M @ root + root @ M) / 2
        value, vectors = np.linalg.eigh(share - A @ A)
        rest = (vectors * np.maximum(value, 0.0)) @ vectors.T
        return A, rest

    @property
    def along_noise(self) -> float:
        """Step along the gradient's noise, over that of the gradient."""
        return self.length * self.mean_value / self.noise

    @property
    def along_signal(self) -> float:
        """Step along the signal, over that along the noise."""
        return float(1 / np.hypot(1.0, self.signal * self.mean_value * np.sqrt(self.rank) / self.noise))
