r"""A step along the orthogonal factor of the gradient, at the gradient's length.

With k = min(N, d) and the noise :math:`\bar\kappa` of the gradient
:math:`G_i = g_i(c_1h + Z_i)/\sqrt N`, whose squared length is
:math:`\Gamma^2 = c_1^2|h|^2 + \bar\kappa`, all singular values of its factor O are one:

.. math:: w = (1-\delta)w^0 + \frac{\eta\Gamma}{\sqrt k}\,o,\qquad
    O = \frac{\theta}{\sqrt{1 + \theta^2}}\,\frac g{\sqrt N}v^\top + O_\perp,\qquad
    \theta = c_1|h|\,m_1\sqrt{k/\bar\kappa} .

The signal is a singular value among k, smaller by :math:`\sqrt k`; :math:`O_\perp` is as good as a
random isometry. All else follows from :math:`O = \frac2\pi\int_0^\infty Z(t^2 + Z^\top Z)^{-1}dt`
for a `Chain` :math:`Z = D_gUD_rXD_K^{1/2}` with independent slopes U: leave a row, a neuron and a
direction out. A direction of the energy K, which is s where the activation is odd, has the share
:math:`qK/(1 + qK)` of the isometry, a neuron :math:`g^2\tau/(1 + g^2\tau)`, both at t = 0, and a
row's product with the move the own part :math:`\propto\omega(g, r)\,gr\sigma'`,

.. math:: \omega(g, r) = \frac2\pi\int\frac{\mathrm{tr}\,\Sigma(1 + qK)^{-1}}{t^2}
    \frac{dt}{(1 + g^2\tau)(1 + pr^2)} .

What is linear in its own initial weight, :math:`Z_i\ni2c_2\Sigma^{1/2}M\Sigma^{1/2}w^0_i`, has the
energy :math:`K = 4c_2^2m^2 + \nu\varphi_0S` with the eigenvalues m and what the noise of the slopes
is there, from the resolvent of a group of eigenvalues s

.. math:: G_s = \frac1{sE\frac r{1 + \varphi_0rG} - z},\qquad G = \sum_s\omega_ssG_s,\qquad
    S(m) = \frac{\mathrm{Im}\,sE\frac{r^2}{1 + \varphi_0rG}G_s}{\mathrm{Im}\,G_s},

and the product A with :math:`w^0` that the integral leaves of :math:`2c_2m`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Floats

ANGLES = 2001  # of the singular values of independent entries
NO_ENERGY = 1e-9  # along a direction, relative
NODES, LAST = 250, 16.0  # of H, which begins and ends at this logit
MAX_BISECTIONS, LARGEST_LOG = 60, 60.0
# of the spectrum of M: points, distance from the real axis over their range, passes
SPECTRUM_POINTS, SPECTRUM_WIDTH, SPECTRUM_PASSES = 160, 0.01, 250
REACH_OF_SPECTRUM = 1.5  # of it beyond a semicircle, in its radius
QUANTILES, PARTS_OF_GROUPS = 24, 4  # of the eigenvalues of M, and of what neurons move by


def _inverse_share(values: Floats, p: Floats, count: float, H: Floats) -> Floats:
    """Return x with count E[x v/(1 + x v)] = H, for each H."""
    low, high = np.full(len(H), -LARGEST_LOG), np.full(len(H), LARGEST_LOG)
    for _ in range(MAX_BISECTIONS):
        x = np.exp((low + high) / 2)[:, None] * values
        more = count * ((x / (1 + x)) @ p) < H
        middle = (low + high) / 2
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return np.asarray(np.exp((low + high) / 2))


@dataclass(frozen=True)
class Chain:
    r"""The resolvent of :math:`D_gUD_rXD_K^{1/2}`, of independent entries of unit variance.

    .. math:: NE\frac{g^2\tau}{1 + g^2\tau} = n_0E\frac{pr^2}{1 + pr^2} = dE\frac{qK}{1 + qK} = H,
        \qquad t^2 = \frac{H^2}{p\tau q}

    Arrays over nodes t; `weight` is that of dt. Without rows :math:`n_0 = \infty` and r = 1.
    """

    p: Floats
    tau: Floats
    q: Floats
    t: Floats
    weight: Floats

    @classmethod
    def of(
        cls,
        neurons: tuple[int, Floats, Floats],  # N, and g^2 with probabilities
        rows: tuple[float, Floats, Floats] | None,
        directions: tuple[int, Floats, Floats],
    ) -> "Chain":
        """Return the nodes; each law is a number, and nodes with probabilities."""
        rank = min(x[0] for x in (neurons, rows, directions) if x is not None)
        H = rank / (1 + np.exp(np.linspace(LAST, -LAST, NODES)))
        tau, q = (_inverse_share(v, w, count, H) for count, v, w in (neurons, directions))
        p = H if rows is None else _inverse_share(rows[1], rows[2], rows[0], H)
        t = H / np.sqrt(p * tau * q)
        # trapezoids; integrands fall like 1/t^2 beyond the nodes, and are constant below them
        ends = np.concatenate([[3 * t[0]], t, [-t[-1]]])
        return cls(p, tau, q, t, (ends[:-2] - ends[2:]) / 2)

    def left(self, g2: Any, r2: Any, K: Any) -> Floats:
        """Return what neurons, rows and directions leave at each node, over t^2 and with dt."""
        g2, r2, K = (np.asarray(x)[..., None] for x in (g2, r2, K))
        inverse = (1 + g2 * self.tau) * (1 + r2 * self.p) * (1 + K * self.q)
        return np.asarray(2 / np.pi * self.weight / self.t**2 / inverse)


@dataclass(frozen=True)
class OrthogonalFactor:
    """The orthogonal factor of a gradient, for a step of size one."""

    neurons: int  # N
    d: int
    signal: float  # c_1 |h|
    even: float  # 2 c_2
    nu: float
    phi: float  # d/n_0
    own: float  # deviation of the gradient along a neuron's own weight, 6 c_3 h.w
    residuals: tuple[Floats, Floats]  # r of rows and probabilities
    readouts: tuple[Floats, Floats]  # g^2 of neurons and probabilities
    inputs: tuple[Floats, Floats]  # eigenvalues s of the inputs' covariance and probabilities
    signal_shares: Floats  # squared parts of h along these

    @cached_property
    def mean(self) -> float:
        """E r."""
        return float(self.residuals[0] @ self.residuals[1])

    @cached_property
    def energy(self) -> float:
        """E r^2."""
        return float(self.residuals[0] ** 2 @ self.residuals[1])

    @property
    def slopes(self) -> float:
        """Energy of the noise beyond M w."""
        return self.nu * self.phi * self.energy

    @property
    def turning(self) -> float:
        """Energy of what is linear in a neuron's own weight by M."""
        s, omega = self.inputs
        return self.even**2 * (self.mean**2 * float(omega @ s**2) + self.phi * self.energy)

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
    def spectrum(self) -> tuple[Floats, Floats]:
        """Equally likely 2 c_2 m over the root mean energy, and K over the mean, (Q, R)."""
        s, omega = self.inputs
        if not self.even:
            return np.zeros((1, len(s))), s[None]
        x, density, S = self._slopes_by_eigenvalue
        K = (self.even * x[:, None]) ** 2 + self.nu * self.phi * S
        mass, levels = np.cumsum(density, 0) - density / 2, (np.arange(QUANTILES) + 0.5) / QUANTILES
        at = [(levels * column[-1], column) for column in mass.T]
        m = np.array([np.interp(*where, x) for where in at]).T
        K = np.array([np.interp(*where, k) for where, k in zip(at, K.T, strict=True)]).T
        mean = float((K @ omega).mean())
        return self.even * m / np.sqrt(mean), K / mean

    @property
    def _slopes_by_eigenvalue(self) -> tuple[Floats, Floats, Floats]:
        """Eigenvalues m of M, (X,), their density in groups of directions and S, (X, R)."""
        (s, omega), (r, p) = self.inputs, self.residuals
        centre, radius = self.mean * s.max(), 2 * float(np.sqrt(self.phi * self.energy * s.max()))
        reach = (1 + REACH_OF_SPECTRUM) * radius
        x = np.linspace(min(centre, 0.0) - reach, max(centre, 0.0) + reach, SPECTRUM_POINTS)
        z = x + 1j * SPECTRUM_WIDTH * np.ptp(x)
        G = -1 / z
        for _ in range(SPECTRUM_PASSES):
            first = (r / (1 + self.phi * r * G[:, None])) @ p
            of_groups = 1 / (s * first[:, None] - z[:, None])
            G = (G + of_groups @ (omega * s)) / 2
        second = (r**2 / (1 + self.phi * r * G[:, None])) @ p
        density = np.maximum(of_groups.imag, NO_ENERGY)
        return x, density, np.maximum((s * second[:, None] * of_groups).imag / density, 0.0)

    @cached_property
    def _of_rows(self) -> Chain:
        r, p = self.residuals
        neurons, rows = (self.neurons, *self.readouts), (self.d / self.phi, r**2, p)
        return Chain.of(neurons, rows, (self.d, *self.inputs))

    @cached_property
    def _of_weights(self) -> Chain:
        K = self.spectrum[1]
        directions = self.d, K.ravel(), np.tile(self.inputs[1] / len(K), len(K))
        return Chain.of((self.neurons, *self.readouts), None, directions)

    def response(self, g: Any, r2: Any) -> Any:
        """Return the step along a row's own gradient over that of the gradient."""
        chain, (s, omega) = self._of_rows, self.inputs
        trace = (s / (1 + chain.q[:, None] * s)) @ omega
        response = chain.left(np.asarray(g) ** 2, r2, 0.0) @ trace
        size = self.length * self.d / self.phi / np.sqrt(self.rank * (self.nu + self.even**2))
        size *= np.sqrt(1 - self.own**2 / self.noise**2)
        return size * np.sqrt(self.neurons) * response

    @cached_property
    def gain(self) -> Floats:
        """Share that a direction keeps of a row's own part, over the mean, (R,)."""
        chain, (s, omega) = self._of_rows, self.inputs
        (r, p), (g2, w) = self.residuals, self.readouts
        rows = (r**2 / (1 + chain.p[:, None] * r**2)) @ p
        neurons = (g2 / (1 + chain.tau[:, None] * g2)) @ w
        inside = chain.weight / chain.t**2 * rows * neurons
        gain = s * (inside @ (1 / (1 + chain.q[:, None] * s)))
        return np.asarray(gain / (omega @ gain))

    def mean_response(self, g: Any) -> Any:
        """Return the response where rows count as their r^2."""
        r, p = self.residuals
        return self.response(np.asarray(g)[..., None], r**2) @ (p * r**2) / self.energy

    def share_of_neuron(self, g: Any) -> Any:
        """Return the squared length of a neuron's part of the isometry, over the mean."""
        tau = self._of_weights.tau[-1] * np.asarray(g) ** 2
        return self.neurons / self.rank * tau / (1 + tau)

    def share_of_direction(self, K: Any) -> Any:
        """Return the same of directions, at their energy over the mean."""
        q = self._of_weights.q[-1] * np.asarray(K)
        return self.d / self.rank * q / (1 + q)

    def along_start(self, g: Any, K: Any) -> Any:
        """Return the product with what is linear in the initial weight, over the root noise."""
        size = np.sqrt(self.neurons * self.d / self.rank)
        size = size * np.abs(g) / np.sqrt(self.share_of_neuron(g))
        return size * self._of_weights.left(np.asarray(g) ** 2, 0.0, K).sum(-1)

    @property
    def along_signal(self) -> float:
        """Step along the signal, over that of the gradient."""
        theta = self.signal * self.mean_value * np.sqrt(self.rank) / self.noise
        return float(self.length * self.mean_value / self.noise / np.hypot(1.0, theta))

    @property
    def signal_in_groups(self) -> Floats:
        """Part of the factor's signal along each group of s, over that of the gradient's."""
        if len(self.signal_shares) == 1 or not self.signal:
            return np.ones(len(self.signal_shares))
        chain, (s, _), (g2, p) = self._of_rows, self.inputs, self.readouts
        alpha = self.signal * self.d / self.noise * np.sqrt(self.energy / self.phi * (p @ g2))
        alpha = alpha * np.sqrt(self.neurons)
        of_neurons = (g2 / (1 + chain.tau[:, None] * g2)) @ p / (p @ g2) / chain.t
        of_groups = 1 / (1 + chain.q[:, None] * s) / chain.t[:, None]
        saturation = 1 + alpha**2 * of_neurons * (of_groups @ self.signal_shares)
        parts = (chain.weight * of_neurons / saturation) @ of_groups
        return np.asarray(parts / np.sqrt(self.signal_shares @ parts**2))

    def turns(self, g: Floats, own: Any = 0.0) -> tuple[Floats, Floats]:
        """Return A and the squared lengths of the factor in parts of each group, (P, R, U).

        own : (U,) gradient along a neuron's own weight, of unit readouts, which has a mean.
        """
        m, K = self.spectrum
        own = own / np.sqrt(self.turning + self.slopes)
        A = self.along_start(g, K[..., None] + own**2) * (m[..., None] + own)
        share = np.repeat(self.share_of_direction(K)[..., None], len(g), -1)
        parts = min(PARTS_OF_GROUPS, len(K))
        A, share = (x.reshape(parts, -1, *x.shape[1:]).mean(1) for x in (A, share))
        return A, share

    def along_directions(self, g: Floats, M: Floats, S: Floats) -> tuple[Floats, Floats, Floats]:
        """Return orthonormal directions (p, p), A and the squared length of the factor, (p, U).

        M, S : (p, p) along special directions, S over E r^2.
        """
        K = (self.even**2 * M @ M + (self.slopes + self.own**2) * S) / self.noise**2
        value, vectors = np.linalg.eigh(K)
        m = self.even / self.noise * np.einsum("ie,ik,ke->e", vectors, M, vectors)
        share = np.where(value > NO_ENERGY, self.share_of_direction(value), 0.0)
        A = self.along_start(g, np.maximum(value, NO_ENERGY)[:, None]) * m[:, None]
        return vectors, A, np.repeat(share[:, None], len(g), -1)


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
    share: Floats  # squared length of o there
    later: "Parts | None" = None  # moved and share of the isometry of a second step

    @property
    def flat(self) -> "Parts":
        """The same with all groups in one axis, (PR, U)."""
        start, moved, share = (
            x.reshape(-1, x.shape[-1]) for x in (self.start, self.moved, self.share)
        )
        return Parts(start, moved, share, None if self.later is None else self.later.flat)

    @property
    def variance(self) -> Floats:
        """Variance of a weight over that of an initial one."""
        later = 0.0 if self.later is None else self.later.moved**2
        return np.asarray(self.start**2 + self.moved**2 + later)

    def then(self, A: Floats, share: Floats, c: Floats, agreement: float, rest: float) -> "Parts":
        r"""Return the parts after a second step, whose isometry is along the first one's in part.

        .. math:: \tilde o_2 = \alpha\tilde o_1 + \sqrt{1 - \alpha^2}\,\tilde o

        A, share : of the second factor, in the groups of these parts.
        """
        rho = np.sqrt(self.variance)
        more = Parts.of(A, share, c / rho, rest)
        moved = rho * more.moved
        return Parts(
            self.start * more.start,
            self.moved * more.start + agreement * moved,
            self.share,
            Parts(self.start, np.sqrt(1 - agreement**2) * moved, share),
        )

    @classmethod
    def of(cls, A: Any, share: Any, c: Any, rest: Any) -> "Parts":
        """Return the parts at the squared length `share` of o."""
        A = np.clip(A, -np.sqrt(share), np.sqrt(share))
        small = A / (1 + c**2)
        across = np.sqrt(np.maximum(share - small**2, 0.0))
        large = (A - small) / np.where(across > 0, across, 1.0)
        large = np.clip(large, -1.0, 1.0)
        initial = rest + c * small
        return cls(initial * np.sqrt(1 - large**2), initial * large + c * across, share)
