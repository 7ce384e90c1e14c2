r"""A step along the orthogonal factor of the gradient, at the gradient's length.

With k = min(N, d) and the noise :math:`\bar\kappa` of the gradient
:math:`G_i = g_i(c_1h + Z_i)/\sqrt N`, whose squared length is
:math:`\Gamma^2 = c_1^2b^2 + \bar\kappa`, all singular values of its factor O are one:

.. math:: w = (1-\delta)w^0 + \frac{\eta\Gamma}{\sqrt k}\,o,\qquad
    O = \frac{\theta}{\sqrt{1 + \theta^2}}\,\frac g{\sqrt N}v^\top + O_\perp,\qquad
    \theta = c_1b\,m_1\sqrt{k/\bar\kappa} .

The signal is a singular value among k, smaller by :math:`\sqrt k`; :math:`O_\perp` is as good as a
random isometry. What of it a row of the step knows follows from
:math:`O = \frac2\pi\int_0^\infty Z(t^2 + Z^\top Z)^{-1}dt` for :math:`Z = UrX` with independent
slopes U (leave a row, a neuron and a direction out): with :math:`H = n_0E\frac{pr^2}{1 + pr^2}`,

.. math:: E\frac{g^2\tau}{1 + g^2\tau} = \frac HN,\qquad
    t^2 = \frac{(d - H)N}p\,E\frac{g^2}{1 + g^2\tau},\qquad
    \omega(g, r) = \frac2\pi\int\frac{d - H}{t^2}\,\frac{dt}{(1 + g^2\tau)(1 + pr^2)},

a row's product with the move has the own part :math:`\propto\omega(g, r)\,gr\sigma'`, and a neuron
the share :math:`q_g = g^2\tau/(1 + g^2\tau)` at t = 0 of the isometry.

What is linear in its own initial weight, :math:`Z_i\ni2c_2Mw^0_i`, is :math:`Aw^0` with
:math:`A = m_1\,2c_2M(4c_2^2M^2 + \nu S)^{-1/2}`, :math:`m_1` the mean singular value of N x d
independent entries over the root of their mean square; :math:`M` is a semicircle but along special
directions, and its half planes two groups of directions.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Floats

ANGLES = 2001  # of a semicircle, and of the singular values of independent entries
NO_ENERGY = 1e-9  # along a direction, relative
NODES, DECADES, LAST = 300, 14, 1e-7  # of p, which ends where H is k to this part
MAX_BISECTIONS = 60


@dataclass(frozen=True)
class OrthogonalFactor:
    """The orthogonal factor of a gradient, for a step of size one."""

    neurons: int  # N
    d: int
    rows: int  # n_0
    signal: float  # c_1 b
    even: float  # 2 c_2
    nu: float
    phi: float  # d/n_0
    own: float  # deviation of the gradient along a neuron's own weight, 6 c_3 h.w
    mean: float  # of the eigenvalues of M
    residuals: tuple[Floats, Floats]  # r^2 of rows and probabilities
    readouts: tuple[Floats, Floats]  # g^2 of neurons and probabilities

    @cached_property
    def energy(self) -> float:
        """E r^2."""
        return float(self.residuals[0] @ self.residuals[1])

    @property
    def deviation(self) -> float:
        """Return that of the eigenvalues of M."""
        return float(np.sqrt(self.phi * self.energy))

    @property
    def slopes(self) -> float:
        """Energy of the noise beyond M w."""
        return self.nu * self.phi * self.energy

    @property
    def turning(self) -> float:
        """Energy of what is linear in a neuron's own weight by M."""
        return self.even**2 * (self.mean**2 + self.deviation**2)

    @property
    def noise(self) -> float:
        """Root of kappa."""
        return float(np.sqrt(self.turning + self.slopes + self.own**2))

    @property
    def rank(self) -> int:
        """Number k of singular values."""
        return min(self.neurons, self.d)

    @property
    def length(self) -> float:
        """Length Gamma of the gradient."""
        return float(np.hypot(self.signal, self.noise))

    @cached_property
    def mean_value(self) -> float:
        """Mean m_1 of the singular values of independent entries."""
        y = self.rank / max(self.neurons, self.d)
        angle = (np.arange(ANGLES) + 0.5) * np.pi / ANGLES
        square = 1 + y + 2 * np.sqrt(y) * np.cos(angle)
        weight = np.sin(angle) ** 2 / square
        return float(weight @ np.sqrt(square) / weight.sum())

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Nodes p, tau at each, (d - H)/t^2 and weights of dt."""
        r2, w = self.residuals
        g2, v = self.readouts

        def weight_of_rows(p: Floats) -> Floats:
            return self.rows * ((p[:, None] * r2 / (1 + p[:, None] * r2)) @ w)

        p = np.logspace(-DECADES / 2, DECADES / 2, 4 * NODES) / self.energy
        last = np.interp(self.rank * (1 - LAST), weight_of_rows(p), p)
        p = np.geomspace(p[0], last, NODES)
        H = np.minimum(weight_of_rows(p), self.rank * (1 - LAST / 2))
        low, high = np.full(NODES, -40.0), np.full(NODES, 40.0)
        for _ in range(MAX_BISECTIONS):
            tau = np.exp((low + high) / 2)
            more = (tau[:, None] * g2 / (1 + tau[:, None] * g2)) @ v < H / self.neurons
            low, high = (
                np.where(more, (low + high) / 2, low),
                np.where(more, high, (low + high) / 2),
            )
        rest = (g2 / (1 + tau[:, None] * g2)) @ v
        t = np.sqrt((self.d - H) * self.neurons * rest / p)
        weight = np.zeros(NODES)
        steps = -np.diff(t)
        weight[:-1] += steps / 2
        weight[1:] += steps / 2
        weight[-1] += t[-1]
        weight[0] += t[0]  # beyond, the integrand falls like 1/t^2
        return p, tau, (self.d - H) / t**2, weight

    def response(self, g: Any, r2: Any) -> Any:
        """Return the step along a row's own gradient over that of the gradient."""
        p, tau, inside, weight = self._nodes
        g2, r2 = np.asarray(g)[..., None] ** 2, np.asarray(r2)[..., None]
        omega = 2 / np.pi * (inside * weight / ((1 + g2 * tau) * (1 + r2 * p))).sum(-1)
        size = self.length * self.rows / np.sqrt(self.rank * (self.nu + self.even**2))
        size *= np.sqrt(1 - self.own**2 / self.noise**2)
        return size * np.sqrt(self.neurons) * omega / self.d

    def mean_response(self, g: Any) -> Any:
        """Return the response where rows count as their r^2."""
        r2, p = self.residuals
        return self.response(np.asarray(g)[..., None], r2) @ (p * r2) / self.energy

    def share_of_neuron(self, g: Any) -> Any:
        """Return the squared length of a neuron's part of the isometry, over the mean."""
        tau = self._nodes[1][-1] * np.asarray(g) ** 2
        return self.neurons / self.rank * tau / (1 + tau)

    @property
    def along_signal(self) -> float:
        """Step along the signal, over that of the gradient."""
        theta = self.signal * self.mean_value * np.sqrt(self.rank) / self.noise
        return float(self.length * self.mean_value / self.noise / np.hypot(1.0, theta))

    @cached_property
    def turns(self) -> Floats:
        """Two eigenvalues of what the factor makes of initial weights, equally likely."""
        angle = (np.arange(ANGLES) + 0.5) * np.pi / ANGLES
        weight = np.sin(angle) ** 2
        at = self.even * (self.mean + 2 * self.deviation * np.cos(angle))
        A = self.mean_value * at / np.sqrt(np.maximum(at**2 + self.slopes, NO_ENERGY))
        mean, square = (float(weight @ A**k / weight.sum()) for k in (1, 2))
        deviation = np.sqrt(max(square - mean**2, 0.0))
        return np.array([mean + deviation, mean - deviation])

    def along_directions(self, M: Floats, S: Floats) -> tuple[Floats, Floats, Floats]:
        r"""Return orthonormal directions (p, p), A and the squared length of the factor there.

        .. math:: K/(1 - f + fK),\qquad f = \min(1, N/d)

        M, S : (p, p) along special directions, S over E r^2.
        """
        K = (self.even**2 * M @ M + (self.slopes + self.own**2) * S) / self.noise**2
        value, vectors = np.linalg.eigh(K)
        f = self.rank / self.d
        energy = np.where(value > NO_ENERGY, value, np.inf)
        share = 1 / ((1 - f) / energy + f) * (value > NO_ENERGY)
        A = self.even * np.einsum("ie,ik,ke->e", vectors, M, vectors)
        return vectors, self.mean_value * A / (self.noise * np.sqrt(energy)), share


@dataclass(frozen=True)
class Parts:
    r"""A weight after the step as its initial part w' and an isometry, in units of these.

    .. math:: o = A_1w^0 + \sqrt{1 - A_1^2}\,\tilde o,\qquad
        w^0 = A_2\tilde o + \sqrt{1 - A_2^2}\,w',\qquad A_1 = A/(1 + c^2)

    The first is what a small step c adds to initial weights, the second what those are of a
    large one; together A is the product of o and w^0.
    """

    start: Floats  # of w'
    moved: Floats  # of the isometry

    @classmethod
    def of(cls, A: Any, share: Any, c: Any, rest: Any) -> "Parts":
        """Return the parts at the squared length `share` of o."""
        A = np.clip(A, -np.sqrt(share), np.sqrt(share))
        small = A / (1 + c**2)
        across = np.sqrt(share - small**2)
        large = (A - small) / np.where(across > 0, across, 1.0)
        large = np.clip(large, -1.0, 1.0)
        initial = rest + c * small
        return cls(initial * np.sqrt(1 - large**2), initial * large + c * across)
