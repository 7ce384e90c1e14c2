"""Predicted spectra: the law of the eigenvalues, and the spikes outside it."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import AssumptionWarning
from onegrad.io.json_values import json_values
from onegrad.pictures.result_tables import dataframe, html_table
from onegrad.pictures.spectrum_plots import draw_predicted_spectrum
from onegrad.problem import Problem

MAX_ALIGNMENT_DEGREE = 6  # degrees whose alignments a spike has


@dataclass(frozen=True)
class Spike:
    """An eigenvalue outside the bulk and the alignment of its eigenvector.

    eigenvalue : of F F^T/n; singular_value : of F, sqrt(n eigenvalue).
    alignment : squared cosine with He_k(u) for each degree k, u the learned direction's index.
    """

    eigenvalue: float
    singular_value: float
    alignment: dict[int, float]


def make_spikes(n: int, outliers: Iterable[tuple[float, Floats]]) -> list[Spike]:
    """Return spikes for eigenvalues with their squared cosines to He_1, He_2, ..."""
    return [
        Spike(
            x, math.sqrt(n * x), dict(enumerate(cosines[:MAX_ALIGNMENT_DEGREE].tolist(), start=1))
        )
        for x, cosines in outliers
    ]


def density_grid(support: Sequence[tuple[float, float]], points: int) -> Floats:
    r"""Return so many points of a bulk, the ends of its intervals among them.

    They are denser at the ends. Where an interval touches zero its density may grow like
    :math:`x^{-1/2}`: that end is left out, and approached with the fourth power of the angle.
    """
    shares = np.diff(np.linspace(0, points, len(support) + 1).round().astype(int))
    parts = []
    for (low, high), count in zip(support, shares.tolist(), strict=True):
        angle = np.linspace(0, np.pi / 2, count + (low == 0.0))[int(low == 0.0) :]
        parts.append(low + (high - low) * np.sin(angle) ** (4 if low == 0.0 else 2))
        parts[-1][-1] = high
    return np.concatenate(parts)


@dataclass(frozen=True, repr=False)
class Spectrum:
    """Bulk and spikes of the features: the law of the eigenvalues of F F^T/n, and its outliers.

    Attributes
    ----------
    edge, lower_edge : ends of the bulk; lower_edge is None where it touches zero.
    support : the intervals of the bulk, left to right; a left end of 0.0 means it touches zero.
    atom : mass at zero.
    x, rho : a ready grid of the density, without the atom; zero at the ends of the intervals, so
        that straight lines between the points are zero in gaps, and with the atom make up one.
    residual, iterations : largest last Newton step and all steps together; None for closed forms.
    warnings : one for each assumption that does not hold.

    Examples
    --------
    >>> import onegrad as og
    >>> s = og.spectrum(og.Problem(n=1000, d=500, N=667, alpha=0.4))
    >>> len(s.spikes), s.spikes[0].alignment[1] > 0.9  # the first spike is the linear function
    (1, True)
    """

    problem: Problem
    method: str
    edge: float
    lower_edge: float | None
    atom: float
    x: Floats
    rho: Floats
    spikes: list[Spike]
    density: Callable[[Floats], Floats]
    support: tuple[tuple[float, float], ...] = ()
    residual: float | None = None
    iterations: int | None = None
    warnings: tuple[AssumptionWarning, ...] = ()

    def __repr__(self) -> str:
        spikes = ", ".join(f"{s.eigenvalue:.4g}" for s in self.spikes) or "none"
        return (
            f"Spectrum({self.method}: edge={self.edge:.6g}, atom={self.atom:.4g}, spikes: {spikes})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the spectrum as JSON values."""
        return json_values(
            {
                "edge": self.edge,
                "lower_edge": self.lower_edge,
                "support": self.support,
                "atom": self.atom,
                "spikes": [asdict(s) for s in self.spikes],
                "density": {"x": self.x, "rho": self.rho},
                "method": self.method,
                "problem": self.problem.to_dict(),
                "warnings": [str(warning) for warning in self.warnings],
            }
        )

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with one row per spike."""
        return dataframe(self._rows())

    def plot(self, ax: Any = None) -> Any:
        """Draw bulk and spikes as singular values of F/sqrt(n), on a logarithmic axis.

        Parameters
        ----------
        ax : matplotlib axes; by default new ones.

        Returns
        -------
        matplotlib.axes.Axes : on which `MeasuredSpectrum.plot` adds networks.
        """
        spikes = [(s.eigenvalue, s.alignment) for s in self.spikes]
        return draw_predicted_spectrum(ax, self.method, (self.x, self.rho), self.edge, spikes)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "eigenvalue": s.eigenvalue,
                "singular_value": s.singular_value,
                "s/sqrt(n)": math.sqrt(s.eigenvalue),
                **{f"He_{k}": v for k, v in s.alignment.items()},
            }
            for s in self.spikes
        ]

    def _bulk_in_words(self) -> str:
        """Return where the bulk of s/sqrt(n) lies, and the share of zeros."""
        intervals = " and ".join(
            f"{math.sqrt(low):.4g} to {math.sqrt(high):.4g}" for low, high in self.support
        )
        place = f"is {intervals}" if intervals else f"ends at {math.sqrt(self.edge):.5g}"
        return place + (f", {self.atom:.1%} of the eigenvalues are zero" if self.atom else "")

    def _repr_html_(self) -> str:
        title = (
            f"Spectrum, {self.method} theory: the bulk of s/√n {self._bulk_in_words()}, "
            f"{len(self.spikes) or 'no'} spike{'' if len(self.spikes) == 1 else 's'}"
        )
        return html_table(title, self.problem, self._rows())
