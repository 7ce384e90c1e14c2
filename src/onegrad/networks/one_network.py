"""A single network looked at closely: its neurons, its eigenvalues, and what it has learned."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onegrad.arrays import Floats, get_ops, to_numpy
from onegrad.exceptions import InvalidInput
from onegrad.functions.hermite import normalised_hermite
from onegrad.networks.fits import fits
from onegrad.networks.input_rows import RowSet
from onegrad.networks.network import Network
from onegrad.networks.sampling import Sampler
from onegrad.networks.streams import Purpose
from onegrad.problem import Problem

MAX_PROJECTED_DEGREE = 12
INDEX_BINS = 24  # of equal probability


def network_of(problem: Problem, seed: int) -> Network:
    """Return the untrained network of one seed, on the CPU in float64."""
    return Network.of(Sampler.of(problem, (seed,), get_ops()))


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
        return cls(network, to_numpy(network.first_update)[0])

    @cached_property
    def products(self) -> tuple[Floats, Floats]:
        """X_tilde W^T and X_tilde G^T, each (n, N)."""
        X = to_numpy(self.network.sampler.all_ridge_rows().X)[0]
        return X @ to_numpy(self.network.W)[0].T, X @ self.G.T

    def eigenvalues(self, eta: float) -> Floats:
        """Return the eigenvalues of F F^T/n, largest first, without those that are always zero."""
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
        W, direction = to_numpy(self.network.W)[0], to_numpy(beta_star)[0, :, 0]
        return NeuronOverlaps(
            readout=np.sqrt(problem.N) * to_numpy(self.network.a)[0],
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
        predictions.append(to_numpy(F @ fit.coef + fit.intercept[:, None, :]).ravel())
        indices.append(to_numpy(block.X @ sampler.beta_star)[0])
        labels.append(to_numpy(block.clean)[0])
    return FreshPredictions(*(np.concatenate(x) for x in (indices, labels, predictions)))


@dataclass(frozen=True)
class LearnedPart:
    r"""The part of its teacher that one network has learned, as a function of u = beta_star . x.

    coefficients : :math:`E[\hat f(x)\,h_k(u)]`, k = 0, 1, ...
    u, fitted : mean of u and of the prediction in bins of equal probability.
    """

    coefficients: Floats
    u: Floats
    fitted: Floats


def learned_part(problem: Problem, seed: int = 0, *, n_test: int = 20_000) -> LearnedPart:
    """Train the network of this seed and project it on the teacher's index over fresh rows.

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
    return LearnedPart(
        coefficients=fresh.learned_coefficients(MAX_PROJECTED_DEGREE),
        u=np.array([u[i].mean() for i in bins]),
        fitted=np.array([f[i].mean() for i in bins]),
    )
