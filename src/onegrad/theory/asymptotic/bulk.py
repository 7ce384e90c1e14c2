r"""The bulk: the limiting law of the eigenvalues of :math:`F_0 F_0^\top/n`.

Its Stieltjes transform is the trace :math:`M_1` at :math:`\lambda = -z`, so density, edges and the
region of the outliers follow from the trace equations continued to negative :math:`\lambda`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from onegrad.arrays import Floats
from onegrad.exceptions import NotConverged, OutOfScope
from onegrad.theory.asymptotic.resolvent import Traces, Untrained, complete_traces

Complex = np.ndarray[Any, np.dtype[np.complex128]]

MIN_IMAGINARY_PART = 1e-6  # relative; below it is rounding of a double root
MIN_RELATIVE_GAP = 1e-5  # between two intervals of the bulk
MIN_RELATIVE_END = 1e-10  # a bulk that reaches below this share of its edge touches zero


@dataclass(frozen=True)
class Bulk:
    """The law of eig(F_0 F_0^T/n) for squared coefficients a = c_1^2, b = c_{>1}^2; r = n/N."""

    a: float
    b: float
    psi: float
    r: float

    def __post_init__(self) -> None:
        if self.a + self.b <= 0.0:
            covered = "activations that are not constant: equal features have no bulk"
            raise OutOfScope("asymptotic", "activation", covered=covered)

    @property
    def atom(self) -> float:
        """Mass at zero: the rank of F_0 is min(n, N), or min(n, N, d) for a linear activation."""
        rank = min(1.0, 1 / self.r)
        return 1 - (rank if self.b > 0 else min(rank, self.psi / self.r))

    # -- beyond the right edge: kappa > 1 parametrises x in (edge, infinity) -------------------

    def beyond(self, excess: ArrayLike) -> Traces:
        r"""Return the traces at :math:`\lambda = -x(\kappa)`, kappa = 1 + excess.

        The excess lies between 0 and `excess_at_edge`, and

        .. math:: \tfrac{c_1^2}{\psi}c_{>1}^2\kappa^2 M_1^2
            + \kappa\big[c_{>1}^2 + c_1^2 + \tfrac{c_1^2}{\psi}(\kappa-1)\big] M_1 + \kappa-1 = 0,
            \qquad x(\kappa) = -\frac{\kappa-1+r}{r M_1}

        with the root of smaller modulus.
        """
        excess = np.asarray(excess, dtype=float)
        M1, lam = self._at(excess)
        law = Untrained(*map(np.asarray, (self.a, self.b, self.psi, self.r)))
        return complete_traces(law, lam, 1 + excess, M1)

    def _at(self, excess: Floats) -> tuple[Floats, Floats]:
        """Return M_1 and lam = -x at kappa = 1 + excess."""
        slope, kappa = self.a / self.psi, 1 + excess
        linear = self.a + self.b + slope * excess
        root = np.sqrt(linear**2 - 4 * slope * self.b * excess)
        M1 = -2 * excess / (kappa * (linear + root))
        return M1, (excess + self.r) / (self.r * M1)

    @cached_property
    def excess_at_edge(self) -> float:
        """Excess kappa - 1 at the right edge, where x(kappa) stops falling."""

        def turning(log_excess: Floats) -> Floats:
            excess = np.exp(log_excess)
            kappa = 1 + excess
            M1, lam = self._at(excess)
            E = self.b + self.a / (1 + self.a * kappa * M1 / self.psi) ** 2
            return 1 + E * (M1 + kappa / (self.r * lam))  # positive beyond the edge

        grid = np.linspace(-25.0, 25.0, 401)
        with np.errstate(divide="ignore"):  # far inside, q rounds to zero
            signs = turning(grid) > 0
        if not signs[0] or signs.all():
            raise NotConverged("spectrum: the right edge of the bulk was not bracketed")
        first = int(np.argmin(signs))
        root = scipy.optimize.brentq(turning, grid[first - 1], grid[first], xtol=1e-15)
        return float(np.exp(root))

    @cached_property
    def edge(self) -> float:
        return -float(self._at(np.asarray(self.excess_at_edge))[1])

    # -- inside -------------------------------------------------------------------------------

    def kappa(self, x: ArrayLike) -> Complex:
        r"""Return kappa at :math:`\lambda = -(x + i0)` in the bulk; NaN outside, where it is real.

        With :math:`w = 1/\kappa` the trace equations are a monic quartic. In the bulk two of its
        roots are complex, and the physical one makes the imaginary part of M_1 positive.
        """
        x = np.asarray(x, dtype=float)
        t = -1 / (self.r * x)
        s, slope = 1 - self.r, self.a / self.psi
        both = slope * self.b * t**2
        coefficients = np.stack(
            [
                1 + (slope - self.a - self.b) * t * s,
                both * s**2 - slope * t * (s + 1) + (self.a + self.b) * t,
                -2 * s * both + slope * t,
                both,
            ],
            axis=-1,
        )  # of kappa, ..., kappa^4; the constant is -1
        companion = np.zeros((*x.shape, 4, 4))
        companion[..., 0, :] = coefficients  # w^4 = c_1 w^3 + c_2 w^2 + c_3 w + c_4
        companion[..., [1, 2, 3], [0, 1, 2]] = 1.0
        w = np.linalg.eigvals(companion).astype(complex)
        with np.errstate(divide="ignore", invalid="ignore"):
            kappa = 1 / w
            M1 = (kappa - s) * t[..., None]
            h = kappa * M1
            q = 1 + slope * h
            E = self.b + self.a / q**2
            newton = kappa - 1 + self.b * h + self.a * h / q
            newton /= 1 + E * (M1 + kappa * t[..., None])
            # Newton's method stays at a complex root, and leaves two real ones that rounding merged
            genuine = np.abs(newton) < 0.1 * np.abs(kappa.imag)
            size = np.abs(kappa - max(s, 0.0))  # kappa >= 1 - n/N, so this is what varies
            physical = (np.abs(kappa.imag) > MIN_IMAGINARY_PART * size) & genuine
            physical &= M1.imag > 0
        size = np.where(physical, M1.imag, -1.0)
        best = np.argmax(size, axis=-1)[..., None]
        chosen = np.take_along_axis(kappa, best, -1)[..., 0]
        return np.where(np.take_along_axis(physical, best, -1)[..., 0], chosen, np.nan)

    def density(self, x: ArrayLike) -> Floats:
        r"""Return the density without the atom.

        .. math:: \rho(x) = \frac1\pi \mathrm{Im}\,M_1|_{\lambda=-(x+i0)}
        """
        x = np.asarray(x, dtype=float)
        ends = np.array(self.support)
        inside = np.any((x[..., None] > ends[:, 0]) & (x[..., None] < ends[:, 1]), axis=-1)
        return np.where(inside, self._density(np.where(inside, x, self.edge)), 0.0)

    def _density(self, x: Floats) -> Floats:
        """Return the density, where rounding may make it positive outside the bulk."""
        return np.nan_to_num(-self.kappa(x).imag / (np.pi * self.r * x))

    @cached_property
    def support(self) -> tuple[tuple[float, float], ...]:
        """The intervals of the bulk, left to right; a left end of 0.0 means it touches zero."""
        near_edge = 1 - np.geomspace(0.02, 1e-9, 100)  # a bulk may be as narrow as sqrt(N/n)
        grid = self.edge * np.concatenate(
            [np.geomspace(MIN_RELATIVE_END, 0.98, 1200)[:-1], near_edge, [1]]
        )
        rho = self._density(grid)
        rho[-1] = 0.0
        inside = np.concatenate([[False], rho > 0, [False]])
        starts, stops = np.flatnonzero(np.diff(inside.astype(int))).reshape(-1, 2).T
        intervals: list[tuple[float, float]] = []
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            low = self._boundary(grid[start - 1], grid[start], False) if start else 0.0
            last = stop == stops[-1]
            high = self.edge if last else self._boundary(grid[stop - 1], grid[stop], True)
            if intervals and low - intervals[-1][1] <= MIN_RELATIVE_GAP * low:  # rounding
                low = intervals.pop()[0]
            intervals.append((low, high))
        if not intervals:
            covered = f"a bulk that can be resolved; at n/N = {self.r:.2g} it is too narrow"
            raise OutOfScope("asymptotic", "N", covered=covered)
        return tuple(intervals)

    def _boundary(self, low: float, high: float, low_inside: bool) -> float:
        """Return the point between low and high at which the bulk begins or ends, by bisection."""
        for _ in range(60):
            middle = float(np.sqrt(low * high))
            if np.isfinite(self.kappa(middle).real) == low_inside:
                low = middle
            else:
                high = middle
        return float(np.sqrt(low * high))
