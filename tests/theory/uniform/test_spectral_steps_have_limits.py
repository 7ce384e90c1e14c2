"""The orthogonal factor of the gradient: what it is made of, and what long steps forget.

Errors at simulated settings are in test_laws_combine.py.
"""

from dataclasses import dataclass

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.uniform import uniform_errors
from onegrad.theory.uniform.discretise import Nodes, discretise
from onegrad.theory.uniform.laws import neurons
from onegrad.theory.uniform.laws.orthogonal import OrthogonalFactor
from onegrad.theory.uniform.laws.table import laws_of
from onegrad.theory.uniform.second_factor import agreement

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
BASE = og.Problem(
    n=500, d=250, N=400, activation="tanh", teacher="H1", noise=0.3, ridge=0.1, alpha=0.5,
    readout="rademacher", weights="sphere", update="spectral",
)  # fmt: skip


SPIKED, POWER_LAW = (np.append(9.0, np.ones(249)), np.arange(1.0, 251.0) ** -0.7)


@dataclass(frozen=True)
class Simulated:
    """One simulated gradient, its orthogonal factor, and what is predicted of that."""

    X: np.ndarray
    W: np.ndarray
    g: np.ndarray
    r: np.ndarray
    G: np.ndarray
    orthogonal: np.ndarray
    factor: OrthogonalFactor

    @classmethod
    def of(cls, problem, eigenvalues=None):
        rng, (n, d, N) = np.random.default_rng(3), (problem.n, problem.d, problem.N)
        s = np.ones(1) if eigenvalues is None else eigenvalues / eigenvalues.mean()
        X, W = rng.standard_normal((n, d)) * np.sqrt(s), rng.standard_normal((N, d))
        W /= np.linalg.norm(W, axis=1)[:, None]
        g = {"rademacher": rng.choice([-1.0, 1.0], N), "constant": np.ones(N)}.get(problem.readout)
        g = rng.standard_normal(N) if g is None else g
        g = g / np.sqrt((g**2).mean())
        r = X[:, -1] / np.sqrt(s[-1]) + problem.noise * rng.standard_normal(n)
        sigma = problem.sigma
        G = g[:, None] * ((r[:, None] * sigma.derivative(X @ W.T)).T @ X) / (n * np.sqrt(N))
        U, _, Vt = np.linalg.svd(G, full_matrices=False)
        h, (c1, c2) = X.T @ r / n, sigma.c[1:3]
        length = float(np.linalg.norm(h))
        factor = OrthogonalFactor(
            N, d, signal=c1 * length, even=2 * c2, phi=d / n, own=0.0,
            nu=sigma.slope_second_moment - c1**2 - 4 * c2**2, residuals=(r, np.full(n, 1 / n)),
            readouts=(g**2, np.full(N, 1 / N)), inputs=(s, np.full(len(s), 1 / len(s))),
            signal_shares=(h / length) ** 2 if len(s) > 1 else np.ones(1),
        )  # fmt: skip
        return cls(X, W, g, r, G, U @ Vt, factor)


@pytest.mark.parametrize(
    ("N", "readout", "eigenvalues"),
    [
        (400, "rademacher", None),
        (150, "constant", None),
        (400, "gaussian", None),
        (150, "rademacher", SPIKED),
        (400, "gaussian", POWER_LAW),
    ],
)
def test_rows_and_neurons_have_the_shares_of_simulated_factors(N, readout, eigenvalues):
    """Regress a row's product with the factor on its slopes: by size of its residual."""
    problem = BASE.replace(N=N, readout=readout)
    simulated = Simulated.of(problem, eigenvalues)
    n, d, c1, k = problem.n, problem.d, problem.sigma.c[1], min(N, problem.d)
    X, g, r, factor = simulated.X, simulated.g, simulated.r, simulated.factor
    step = simulated.orthogonal * np.sqrt((simulated.G**2).sum() / k)
    slopes = problem.sigma.derivative(X @ simulated.W.T)
    own, product = (slopes.T - c1) * np.outer(g, r) * d / n, np.sqrt(N) * step @ X.T
    for low, high in ((0.0, 0.7), (0.7, 1.5), (1.5, 9.0)):
        here = (np.abs(r) >= low) & (np.abs(r) < high)
        x, y, square = own[:, here], product[:, here], r[here] ** 2
        weight, predicted = x**2, factor.response(g[:, None], square[None])
        measured = (x * y).sum() / weight.sum()
        assert (weight * predicted).sum() / weight.sum() == pytest.approx(measured, rel=0.1)
    large = np.abs(g) >= np.median(np.abs(g))
    share = (simulated.orthogonal[large] ** 2).sum(1).mean() * N / k
    assert factor.share_of_neuron(g[large]).mean() == pytest.approx(share, rel=0.01)
    h = X.T @ r / n
    along = step @ (h / np.linalg.norm(h))
    signal = factor.along_signal * factor.signal
    assert signal == pytest.approx(float((g * along).sum() / np.sqrt(N)), rel=0.05)


@pytest.mark.parametrize("eigenvalues", [SPIKED, POWER_LAW])
def test_strong_directions_have_a_larger_share_of_few_neurons(eigenvalues):
    simulated = Simulated.of(BASE.replace(N=150), eigenvalues)
    share = (simulated.orthogonal**2).sum(0) * 250 / 150
    predicted = simulated.factor.share_of_direction(simulated.factor.spectrum[1][0])
    for group in (slice(0, 1), slice(1, 125), slice(125, 250)):
        assert predicted[group].mean() == pytest.approx(share[group].mean(), rel=0.05)
    assert predicted.mean() == pytest.approx(1.0)


@pytest.mark.parametrize(("N", "readout"), [(400, "constant"), (150, "gaussian")])
def test_weights_turn_like_those_of_simulated_factors(N, readout):
    """By the eigenvalue of M: the product of the factor with initial weights, and its length."""
    problem = BASE.replace(N=N, readout=readout, activation="silu")
    simulated = Simulated.of(problem)
    X, r, g, d, k = simulated.X, simulated.r, simulated.g, problem.d, min(N, problem.d)
    h = X.T @ r
    off = np.eye(d) - np.outer(h, h) / (h @ h)
    _, vectors = np.linalg.eigh(off @ (X.T * r) @ X @ off)
    moved, start = simulated.orthogonal @ vectors, simulated.W @ vectors
    size = np.sqrt(simulated.factor.share_of_neuron(g))[:, None]
    A = (np.sign(g)[:, None] * size * moved * start).sum(0) * d / np.sqrt(N * k)
    share = (moved**2).sum(0) * d / k
    parts, shares = (x[:, 0] for x in simulated.factor.turns(np.abs(g)))
    lengths = simulated.factor.share_of_neuron(g)
    for group, a, square in zip(np.array_split(np.arange(d), 4), parts, shares, strict=True):
        predicted = (a * lengths).mean()
        # .05 is an error of one of 24 quantiles in the middle, where A goes through zero
        assert predicted == pytest.approx(A[group].mean(), rel=0.05, abs=0.05)
        assert square.mean() == pytest.approx(share[group].mean(), rel=0.05, abs=0.05)


@pytest.mark.parametrize("N", [150, 400])
def test_neurons_that_are_alike_may_be_two_types(N, monkeypatch):
    """An isometry of all neurons is none of each type: only together are they orthogonal."""
    problem = BASE.replace(N=N, alpha=0.7)
    folded = og.predict(problem)
    monkeypatch.setattr(neurons, "is_odd", lambda f: False)
    unfolded = og.predict(problem)
    assert len(discretise(laws_of(problem)[0], Nodes()).steps.types.g) == 2
    assert (unfolded.train, unfolded.test) == pytest.approx((folded.train, folded.test), rel=1e-4)


@pytest.mark.parametrize("readout", ["constant", "gaussian"])
def test_a_long_step_forgets_how_long_it_was(readout):
    """Relu is homogeneous: a penalty that grows like the square of the weights is the same."""
    problem = BASE.replace(activation="relu:raw", readout=readout, noise=0.5)
    long, longer = (
        uniform_errors([problem.replace(eta=scale * 1e4, ridge=0.1 * scale**2)])
        for scale in (1, 10)
    )
    assert longer.train[0] == pytest.approx(long.train[0], rel=2e-3)
    assert longer.test[0] == pytest.approx(long.test[0], rel=2e-3)


@pytest.mark.parametrize("batches", ["fresh", "same"])
@pytest.mark.parametrize("activation", ["tanh", "gelu"])
def test_one_of_two_steps_may_be_none(activation, batches):
    """But for terms of order 1/d."""
    one = BASE.replace(n=2_000, d=1_000, N=1_600, activation=activation, readout="gaussian")
    two = one.replace(steps=2, batches=batches)
    expected = uniform_errors([one.replace(eta=one.step)])
    for steps in ({"eta": one.step, "later_alpha": "-9"}, {"eta": 1e-7, "later_alpha": "0.5"}):
        errors = uniform_errors([two.replace(**steps)])
        assert errors.train[0] == pytest.approx(expected.train[0], rel=1e-3)
        assert errors.test[0] == pytest.approx(expected.test[0], rel=1e-3)


def test_two_isometries_are_as_alike_as_factors_of_such_matrices():
    rng, (N, d) = np.random.default_rng(4), (300, 150)
    z, other = rng.standard_normal((2, N, d))
    factor = Simulated.of(BASE.replace(N=300, d=150)).factor
    for R in (0.3, 0.8):
        factors = []
        for matrix in (z, R * z + np.sqrt(1 - R**2) * other):
            U, _, Vt = np.linalg.svd(matrix, full_matrices=False)
            factors.append(U @ Vt)
        measured = float((factors[0] * factors[1]).sum()) / d
        assert agreement(R, factor.mean_value) == pytest.approx(measured, abs=0.02)
