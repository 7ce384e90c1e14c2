"""Singular values of the features and weights of real networks, and what their vectors point at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from onegrad.arrays import Floats, get_ops, standard_error
from onegrad.exceptions import InvalidInput
from onegrad.functions.hermite import normalised_hermite
from onegrad.networks.equivalents import spiked
from onegrad.networks.network import Affine, Network
from onegrad.networks.plan import seed_tuple
from onegrad.networks.sampling import Sampler
from onegrad.pictures.result_tables import dataframe, html_table
from onegrad.pictures.spectrum_plots import draw_measured_spectrum
from onegrad.problem import Problem

TOP = 8  # singular vectors whose alignments are kept
DEGREE = 6  # of He_k


@dataclass(frozen=True)
class MeasuredSpectrum:
    """Spectra of the networks of several seeds.

    F, F_0, W : all singular values, largest first, one row per seed.
    alignments : squared cosine of the i-th left singular vector of F with He_k(u),
        u = X_tilde beta / |beta|; shape (seeds, TOP, DEGREE), k = 1, 2, ...
    distance, distance_printed : operator norm of F - F_l over sqrt(n), for the corrected and the
        printed spiked features; NaN where they are not defined (alpha >= 1/2, several steps).
    edge : where the bulk of F F^T/n ends, if it was given.
    """

    problem: Problem
    seeds: tuple[int, ...]
    F: Floats
    F_0: Floats
    W: Floats
    alignments: Floats
    distance: Floats
    distance_printed: Floats
    edge: float | None = None

    @property
    def eigenvalues(self) -> Floats:
        """Largest eigenvalues of F F^T/n, shape (seeds, TOP)."""
        return np.asarray(self.F[:, :TOP] ** 2 / self.problem.n)

    @property
    def outliers(self) -> Floats:
        """Eigenvalues of F F^T/n beyond the edge, one count per seed."""
        if self.edge is None:
            raise InvalidInput("edge", None, "a number where outliers are counted")
        return np.asarray((self.F**2 / self.problem.n > self.edge).sum(1))

    def to_dict(self) -> dict[str, Any]:
        """Means over seeds as JSON values; `spikes` are the eigenvalues beyond the edge."""
        x = self.eigenvalues
        count = x.shape[1]
        if self.edge is not None:
            count = int(np.sum(x.mean(0) > self.edge))
        se = standard_error(x)
        spikes = [
            {
                "eigenvalue": float(x[:, i].mean()),
                "eigenvalue_se": float(se[i]),
                "singular_value": float(self.F[:, i].mean()),
                "singular_value_se": float(standard_error(self.F[:, i])),
                "alignment": {
                    str(j + 1): float(self.alignments[:, i, j].mean()) for j in range(DEGREE)
                },
            }
            for i in range(count)
        ]
        return {
            "spikes": spikes,
            "seeds": list(self.seeds),
            "distance": float(self.distance.mean()),
            "distance_printed": float(self.distance_printed.mean()),
            **({} if self.edge is None else {"outliers": [int(c) for c in self.outliers]}),
        }

    def to_dataframe(self) -> Any:
        """A pandas DataFrame of the largest singular values, a row for each of a network."""
        return dataframe(self._rows())

    def plot(self, ax: Any = None) -> Any:
        """Draw the networks' bulk as a histogram and every spike as a tick of its own.

        Parameters
        ----------
        ax : matplotlib axes, for example those of `Spectrum.plot`; new ones where none are given.
        """
        return draw_measured_spectrum(ax, self.F, self.problem.n, self.edge)

    def _rows(self) -> list[dict[str, Any]]:
        top = min(TOP, self.F.shape[1])
        return [
            {
                "seed": seed,
                "rank": i + 1,
                "eigenvalue": float(self.F[row, i] ** 2 / self.problem.n),
                "singular_value": float(self.F[row, i]),
                "s/sqrt(n)": float(self.F[row, i] / np.sqrt(self.problem.n)),
                **{f"He_{k + 1}": float(self.alignments[row, i, k]) for k in range(DEGREE)},
            }
            for row, seed in enumerate(self.seeds)
            for i in range(top)
        ]

    def _repr_html_(self) -> str:
        who = "one network" if len(self.seeds) == 1 else f"{len(self.seeds)} networks"
        return html_table(f"Spectra of {who}", self.problem.changed(), self._rows())


def spectrum(
    problem: Problem,
    seeds: int | Sequence[int] = 5,
    *,
    edge: float | None = None,
    distances: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> MeasuredSpectrum:
    """Spectra of the trained networks of `seeds`; `edge` is where theory ends the bulk of F F^T/n.

    `distances=False` leaves out the operator norms of F - F_l, half of the time.

    Examples
    --------
    >>> import onegrad as og
    >>> from onegrad.networks import spectrum
    >>> problem = og.Problem(n=200, d=100, N=150, alpha=0.4)
    >>> found = spectrum(problem, seeds=2, edge=og.spectrum(problem).edge)
    >>> found.F.shape, found.outliers
    ((2, 150), array([1, 1]))
    """
    chosen = seed_tuple(seeds)
    found = []
    for i, seed in enumerate(chosen):
        found.append(_one(problem, seed, distances))
        if progress:
            progress(i + 1, len(chosen))
    F, F_0, W, alignments, distance, printed = (np.stack(x) for x in zip(*found, strict=True))
    return MeasuredSpectrum(problem, chosen, F, F_0, W, alignments, distance, printed, edge)


def _one(problem: Problem, seed: int, distances: bool) -> tuple[Any, ...]:
    """From F to distance_printed, of one seed."""
    network = Network.of(Sampler.of(problem, (seed,), get_ops()))
    features = network.trained((problem.step,))
    assert isinstance(features, Affine)
    rows = network.sampler.all_ridge_rows()
    (F,) = next(features.tiles(rows))
    (F_0,) = next(network.untrained().tiles(rows))
    U, s, _ = scipy.linalg.svd(F, full_matrices=False)
    top = min(TOP, len(s))
    beta = network.first.beta[0]
    H = normalised_hermite(rows.X[0] @ (beta / np.linalg.norm(beta)), DEGREE)[1:].T  # (n, DEGREE)
    alignments = np.full((TOP, DEGREE), np.nan)
    alignments[:top] = (U[:, :top].T @ (H / np.linalg.norm(H, axis=0))) ** 2  # squared cosines
    distance = [np.nan, np.nan]
    if distances and problem.steps == 1 and (problem.alpha is None or problem.alpha < 0.5):
        for i, printed in enumerate((False, True)):
            F_l = next(spiked(network, (problem.step,), printed).tiles(rows))[0]
            distance[i] = float(scipy.linalg.svdvals(F - F_l)[0]) / np.sqrt(problem.n)
    untrained, weights = scipy.linalg.svdvals(F_0), scipy.linalg.svdvals(features.W[0])
    return s, untrained, weights, alignments, *distance
