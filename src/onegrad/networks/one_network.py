"""Single networks looked at closely: their spectra, their neurons, and what they have learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from onegrad.arrays import Floats, Ops, get_ops, standard_error
from onegrad.exceptions import InvalidInput
from onegrad.functions.hermite import normalised_hermite
from onegrad.io.progress import as_progress
from onegrad.networks.fits import fits
from onegrad.networks.models import distance_to_spiked
from onegrad.networks.network import Network, layer_features
from onegrad.networks.plan import seed_tuple
from onegrad.networks.sampling import RowSet, Sampler
from onegrad.networks.streams import Purpose
from onegrad.pictures.result_tables import dataframe, html_table, network_count
from onegrad.pictures.spectrum_plots import draw_measured_spectrum
from onegrad.problem import Problem

TOP_VECTORS = 8  # singular vectors whose alignments are kept
ALIGNED_DEGREES = 6  # He_1, ..., He_6
MAX_PROJECTED_DEGREE = 12
INDEX_BINS = 24  # of equal probability


def network_of(problem: Problem, seed: int, ops: Ops | None = None) -> Network:
    """Return the untrained network of one seed; on the CPU in float64 unless `ops` are others."""
    return Network.of(Sampler.of(problem, (seed,), ops or get_ops()))


# -- spectra of several seeds ----------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class MeasuredSpectrum:
    """Spectra of the networks of several seeds.

    F, W : all singular values, largest first, one row per seed.
    alignments : squared cosine of the i-th left singular vector of F with He_k(u),
        u = X_tilde beta / |beta|; shape (seeds, TOP_VECTORS, ALIGNED_DEGREES), k = 1, 2, ...
    distance : operator norm of F - F_l over sqrt(n), with the spiked features F_l; NaN where they
        are not defined (alpha >= 1/2, several steps).
    edge : where the bulk of F F^T/n ends, if it is known.
    """

    problem: Problem
    seeds: tuple[int, ...]
    F: Floats
    W: Floats
    alignments: Floats
    distance: Floats
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
                    str(k): float(x.mean()) for k, x in enumerate(self.alignments[:, i].T, 1)
                },
            }
            for i in range(count)
        ]
        return {
            "spikes": spikes,
            "seeds": list(self.seeds),
            "distance": float(self.distance.mean()),
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
        rows, n = [], self.problem.n
        for seed, values, alignments in zip(self.seeds, self.F, self.alignments, strict=True):
            for i, s in enumerate(values[:TOP_VECTORS]):
                row = {"seed": seed, "rank": i + 1, "eigenvalue": float(s**2 / n)}
                row |= {"singular_value": float(s), "s/sqrt(n)": float(s / np.sqrt(n))}
                rows.append(row | {f"He_{k}": float(x) for k, x in enumerate(alignments[i], 1)})
        return rows

    def _repr_html_(self) -> str:
        title = f"Spectra of {network_count(len(self.seeds))}"
        return html_table(title, self.problem, self._rows())


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
    spectra = []
    for i, seed in enumerate(seed_numbers):
        spectra.append(_spectra_of_seed(problem, seed, distances))
        report(i + 1, len(seed_numbers))
    stacked = {name: np.stack([of_seed[name] for of_seed in spectra]) for name in spectra[0]}
    return MeasuredSpectrum(problem=problem, seeds=seed_numbers, edge=edge, **stacked)


def _spectra_of_seed(problem: Problem, seed: int, distances: bool) -> dict[str, Any]:
    """Return the measured fields of MeasuredSpectrum for one network."""
    network = network_of(problem, seed)
    rows, eta = network.sampler.all_ridge_rows(), problem.step
    W = network.trained_weights(eta)
    (F,) = next(layer_features(network.sampler.ops, problem.sigma, W).tiles(rows))
    U, s, _ = scipy.linalg.svd(F, full_matrices=False)
    top = min(TOP_VECTORS, len(s))
    beta = network.first.beta[0]
    u = rows.X[0] @ (beta / np.linalg.norm(beta))
    H = normalised_hermite(u, ALIGNED_DEGREES)[1:].T  # (n, degrees)
    alignments = np.full((TOP_VECTORS, ALIGNED_DEGREES), np.nan)
    alignments[:top] = (U[:, :top].T @ (H / np.linalg.norm(H, axis=0))) ** 2  # squared cosines
    defined = problem.steps == 1 and (problem.alpha is None or problem.alpha < 0.5)
    distance = distance_to_spiked(network, rows, eta) if distances and defined else np.nan
    weights = scipy.linalg.svdvals(W[0])
    return {"F": s, "W": weights, "alignments": alignments, "distance": distance}


# -- neurons and eigenvalues at any step size ------------------------------------------------


@dataclass(frozen=True)
class NeuronOverlaps:
    r"""Readout and overlap of every neuron.

    readout : :math:`\sqrt N a_i`.
    before, after : :math:`w_i\cdot\beta_\star/|w_i|` at the untrained and the trained weights.
    """

    readout: Floats
    before: Floats
    after: Floats


@dataclass(frozen=True)
class FirstStep:
    """One network and all of its first step that does not depend on the step size."""

    network: Network
    G: Floats  # (N, d): the step adds eta G to the weights

    @classmethod
    def of(cls, problem: Problem, seed: int) -> FirstStep:
        """Draw the network of this seed and take its gradient."""
        network = network_of(problem, seed)
        return cls(network, network.first_update[0])

    @cached_property
    def products(self) -> tuple[Floats, Floats]:
        """X_tilde W^T and X_tilde G^T, each (n, N)."""
        X = self.network.sampler.all_ridge_rows().X[0]
        return X @ self.network.W[0].T, X @ self.G.T

    def eigenvalues(self, eta: float) -> Floats:
        """Return the eigenvalues of F F^T/n, largest first, without those that are always zero."""
        # by the Gram matrix: a slider moves meanwhile, and no vectors are asked for
        XW, XG = self.products
        F = self.network.sampler.problem.sigma(XW + eta * XG)
        n, N = F.shape
        gram = F.T @ F if n >= N else F @ F.T
        return np.maximum(np.linalg.eigvalsh(gram / n)[::-1], 0.0)

    def neurons(self, eta: float) -> NeuronOverlaps:
        """Return the neurons at the weights W + eta G."""
        problem, beta_star = self.network.sampler.problem, self.network.sampler.beta_star
        if beta_star.shape[-1] != 1 or problem.steps != 1:
            field = "steps" if problem.steps != 1 else "teacher"
            value = getattr(problem, field)
            raise InvalidInput(field, value, problem="neurons are shown for one index and one step")
        W, direction = self.network.W[0], beta_star[0, :, 0]
        return NeuronOverlaps(
            readout=np.sqrt(problem.N) * self.network.a[0],
            before=_cosines(W, direction),
            after=_cosines(W + eta * self.G, direction),
        )


def neurons(problem: Problem, seed: int = 0) -> NeuronOverlaps:
    """Return where the neurons of one network point, before and after the step.

    See tests/explorer/test_one_network_is_shown_as_it_is.py.
    """
    return FirstStep.of(problem, seed).neurons(problem.step)


def _cosines(W: Floats, unit: Floats) -> Floats:
    return W @ unit / np.maximum(np.linalg.norm(W, axis=1), 1e-300)


# -- the trained network on fresh rows -------------------------------------------------------


@dataclass(frozen=True)
class FreshPredictions:
    """Predictions of a trained network on fresh rows, beside the teacher's indices and labels."""

    indices: Floats  # (n_test, indices): beta_star . x
    labels: Floats  # (n_test,): without noise
    predictions: Floats  # (n_test,)

    def learned_coefficients(self, degree: int) -> Floats:
        r"""Return :math:`E[\hat f(x)\,h_k(u)]`, k = 0..degree, u the first index."""
        H = normalised_hermite(self.indices[:, 0], degree)
        return H @ self.predictions / len(self.predictions)


def predict_fresh_rows(problem: Problem, seed: int, n_test: int) -> FreshPredictions:
    """Train the network of this seed and apply it to fresh rows."""
    network = network_of(problem, seed)
    sampler, features = network.sampler, network.trained((problem.step,))
    (fit,) = fits(sampler, features, (problem.ridge,))
    indices, labels, predictions = [], [], []
    for block in sampler.blocks(RowSet(Purpose.TEST, n_test)):
        (F,) = features.tiles(block)
        predictions.append((F @ fit.coef + fit.intercept[:, None, :]).ravel())
        indices.append((block.X @ sampler.beta_star)[0])
        labels.append(block.clean[0])
    return FreshPredictions(*(np.concatenate(x) for x in (indices, labels, predictions)))


def learned_part(problem: Problem, seed: int = 0, *, n_test: int = 20_000) -> dict[str, Floats]:
    r"""Train the network of this seed; return what it learned of u = beta_star . x on fresh rows.

    coefficients : :math:`E[\hat f(x)\,h_k(u)]`, k = 0, 1, ...; u, fitted : means of u and of the
    prediction in bins of equal probability.

    See tests/explorer/test_what_theory_says_is_learned_is_learned.py.
    """
    if problem.input_law.name != "gaussian" or not hasattr(problem.teacher_function, "c"):
        raise InvalidInput(
            "teacher",
            problem.teacher,
            problem="the learned part is measured for a single index and Gaussian inputs",
        )
    fresh = predict_fresh_rows(problem, seed, n_test)
    u, f = fresh.indices[:, 0], fresh.predictions
    bins = np.array_split(np.argsort(u), INDEX_BINS)
    return {
        "coefficients": fresh.learned_coefficients(MAX_PROJECTED_DEGREE),
        "u": np.array([u[i].mean() for i in bins]),
        "fitted": np.array([f[i].mean() for i in bins]),
    }
