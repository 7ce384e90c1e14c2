"""Singular values and vectors of the features and weights of real networks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from onegrad.arrays import Floats, standard_error
from onegrad.exceptions import InvalidInput
from onegrad.functions.hermite import normalised_hermite
from onegrad.io.progress import as_progress
from onegrad.networks.equivalents import distance_to_spiked
from onegrad.networks.network import layer_features
from onegrad.networks.one_network import network_of
from onegrad.networks.plan import seed_tuple
from onegrad.pictures.result_tables import dataframe, html_table, network_count
from onegrad.pictures.spectrum_plots import draw_measured_spectrum
from onegrad.problem import Problem

TOP_VECTORS = 8  # singular vectors whose alignments are kept
ALIGNED_DEGREES = 6  # He_1, ..., He_6


@dataclass(frozen=True, repr=False)
class MeasuredSpectrum:
    """Spectra of the networks of several seeds.

    F, F_0, W : all singular values, largest first, one row per seed.
    alignments : squared cosine of the i-th left singular vector of F with He_k(u),
        u = X_tilde beta / |beta|; shape (seeds, TOP_VECTORS, ALIGNED_DEGREES), k = 1, 2, ...
    distance, distance_printed : operator norm of F - F_l over sqrt(n), for the corrected and the
        printed spiked features; NaN where they are not defined (alpha >= 1/2, several steps).
    edge : where the bulk of F F^T/n ends, if it is known.
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

    def __repr__(self) -> str:
        largest = ", ".join(f"{value:.4g}" for value in self.eigenvalues.mean(0)[:3])
        edge = "" if self.edge is None else f", edge={self.edge:.6g}"
        networks = network_count(len(self.seeds))
        return f"MeasuredSpectrum({networks}{edge}, largest eigenvalues: {largest})"

    @property
    def eigenvalues(self) -> Floats:
        """Largest eigenvalues of F F^T/n, shape (seeds, TOP_VECTORS)."""
        return self.F[:, :TOP_VECTORS] ** 2 / self.problem.n

    @property
    def outliers(self) -> Floats:
        """Eigenvalues of F F^T/n beyond the edge, one count per seed."""
        if self.edge is None:
            raise InvalidInput("edge", None, "a number where outliers are counted")
        return (self.F**2 / self.problem.n > self.edge).sum(1)

    def to_dict(self) -> dict[str, Any]:
        """Return means over seeds as JSON values; `spikes` are the eigenvalues beyond the edge."""
        x = self.eigenvalues
        count = x.shape[1] if self.edge is None else int(np.sum(x.mean(0) > self.edge))
        se = standard_error(x)
        spikes = [
            {
                "eigenvalue": float(x[:, i].mean()),
                "eigenvalue_se": float(se[i]),
                "singular_value": float(self.F[:, i].mean()),
                "singular_value_se": float(standard_error(self.F[:, i])),
                "alignment": {
                    str(j + 1): float(self.alignments[:, i, j].mean())
                    for j in range(ALIGNED_DEGREES)
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
        """Return a pandas DataFrame with one row per network and large singular value."""
        return dataframe(self._rows())

    def plot(self, ax: Any = None) -> Any:
        """Draw the networks' bulk as a histogram and every spike as a tick of its own.

        Parameters
        ----------
        ax : matplotlib axes, for example those of `Spectrum.plot`; new ones by default.
        """
        return draw_measured_spectrum(ax, self.F, self.problem.n, self.edge)

    def _rows(self) -> list[dict[str, Any]]:
        top = min(TOP_VECTORS, self.F.shape[1])
        return [
            {
                "seed": seed,
                "rank": i + 1,
                "eigenvalue": float(self.F[row, i] ** 2 / self.problem.n),
                "singular_value": float(self.F[row, i]),
                "s/sqrt(n)": float(self.F[row, i] / np.sqrt(self.problem.n)),
                **{
                    f"He_{k + 1}": float(self.alignments[row, i, k]) for k in range(ALIGNED_DEGREES)
                },
            }
            for row, seed in enumerate(self.seeds)
            for i in range(top)
        ]

    def _repr_html_(self) -> str:
        title = f"Spectra of {network_count(len(self.seeds))}"
        return html_table(title, self.problem.changed(), self._rows())


def spectrum(
    problem: Problem,
    seeds: int | Sequence[int] = 5,
    *,
    edge: float | None = None,
    distances: bool = True,
    progress: Callable[[int, int], None] | bool | None = None,
) -> MeasuredSpectrum:
    """Measure the spectra of the features and weights of trained networks.

    Parameters
    ----------
    problem : sizes, functions, noise, ridge and step.
    seeds : number of networks, or a list of their seeds.
    edge : where theory ends the bulk of F F^T/n.
    distances : also measure the operator norms of F - F_l, which takes longer.

    Examples
    --------
    >>> import onegrad as og
    >>> from onegrad.networks import spectrum
    >>> problem = og.Problem(n=200, d=100, N=150, alpha=0.4)
    >>> measured = spectrum(problem, seeds=2, edge=og.spectrum(problem).edge)
    >>> measured.F.shape, measured.outliers
    ((2, 150), array([1, 1]))
    """
    seed_numbers = seed_tuple(seeds)
    report = as_progress(progress, "networks")
    spectra: dict[str, list[Any]] = {}
    for i, seed in enumerate(seed_numbers):
        for name, values in _spectra_of_seed(problem, seed, distances).items():
            spectra.setdefault(name, []).append(values)
        report(i + 1, len(seed_numbers))
    stacked = {name: np.stack(values) for name, values in spectra.items()}
    return MeasuredSpectrum(problem=problem, seeds=seed_numbers, edge=edge, **stacked)


def _spectra_of_seed(problem: Problem, seed: int, distances: bool) -> dict[str, Any]:
    """Return the measured fields of MeasuredSpectrum for one network."""
    network = network_of(problem, seed)
    rows, eta = network.sampler.all_ridge_rows(), problem.step
    W = network.trained_weights(eta)
    (F,) = next(layer_features(network.sampler.ops, problem.sigma, W).tiles(rows))
    (F_0,) = next(network.untrained().tiles(rows))
    U, s, _ = scipy.linalg.svd(F, full_matrices=False)
    top = min(TOP_VECTORS, len(s))
    beta = network.first.beta[0]
    u = rows.X[0] @ (beta / np.linalg.norm(beta))
    H = normalised_hermite(u, ALIGNED_DEGREES)[1:].T  # (n, degrees)
    alignments = np.full((TOP_VECTORS, ALIGNED_DEGREES), np.nan)
    alignments[:top] = (U[:, :top].T @ (H / np.linalg.norm(H, axis=0))) ** 2  # squared cosines

    distance = functools.partial(distance_to_spiked, network, rows, eta)
    defined = problem.steps == 1 and (problem.alpha is None or problem.alpha < 0.5)
    return {
        "F": s,
        "F_0": scipy.linalg.svdvals(F_0),
        "W": scipy.linalg.svdvals(W[0]),
        "alignments": alignments,
        "distance": distance(False) if distances and defined else np.nan,
        "distance_printed": distance(True) if distances and defined else np.nan,
    }
