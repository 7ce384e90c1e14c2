"""The orthogonal factor of the gradient: what it is made of, and what long steps forget.

Errors at simulated settings are in test_laws_combine.py.
"""

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.uniform import uniform_errors
from onegrad.theory.uniform.discretise import Nodes, discretise
from onegrad.theory.uniform.laws import neurons
from onegrad.theory.uniform.laws.orthogonal import OrthogonalFactor
from onegrad.theory.uniform.laws.table import laws_of

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
BASE = og.Problem(
    n=500, d=250, N=400, activation="tanh", teacher="H1", noise=0.3, ridge=0.1, alpha=0.5,
    readout="rademacher", weights="sphere", update="spectral",
)  # fmt: skip


@pytest.mark.parametrize(("N", "readout"), [(400, "rademacher"), (150, "constant"), (400, "")])
def test_rows_and_neurons_have_the_shares_of_simulated_factors(N, readout):
    """Regress a row's product with the factor on its slopes: by size of its residual."""
    problem, rng = BASE.replace(N=N), np.random.default_rng(3)
    n, d, sigma = problem.n, problem.d, problem.sigma
    X, W = rng.standard_normal((n, d)), rng.standard_normal((N, d))
    W /= np.linalg.norm(W, axis=1)[:, None]
    g = {"rademacher": rng.choice([-1.0, 1.0], N), "constant": np.ones(N)}.get(readout)
    g = rng.standard_normal(N) if g is None else g
    r = X[:, 0] + problem.noise * rng.standard_normal(n)
    slopes = sigma.derivative(X @ W.T)
    G = g[:, None] * ((r[:, None] * slopes).T @ X) / (n * np.sqrt(N))
    U, _, Vt = np.linalg.svd(G, full_matrices=False)
    orthogonal, k = U @ Vt, min(N, d)
    step = orthogonal * np.sqrt((G**2).sum() / k)
    c1, h = sigma.c[1], X.T @ r / n
    factor = OrthogonalFactor(
        N, d, n, signal=c1 * float(np.linalg.norm(h)), even=0.0, phi=d / n, own=0.0, mean=0.0,
        nu=sigma.slope_second_moment - c1**2, residuals=(r**2, np.full(n, 1 / n)),
        readouts=(g**2, np.full(N, 1 / N)),
    )  # fmt: skip
    own, product = (slopes.T - c1) * np.outer(g, r) * d / n, np.sqrt(N) * step @ X.T
    for low, high in ((0.0, 0.7), (0.7, 1.5), (1.5, 9.0)):
        here = (np.abs(r) >= low) & (np.abs(r) < high)
        x, y, square = own[:, here], product[:, here], r[here] ** 2
        weight, predicted = x**2, factor.response(g[:, None], square[None])
        found = (x * y).sum() / weight.sum()
        assert (weight * predicted).sum() / weight.sum() == pytest.approx(found, rel=0.1)
    large = np.abs(g) >= np.median(np.abs(g))
    share = (orthogonal[large] ** 2).sum(1).mean() * N / k
    assert factor.share_of_neuron(g[large]).mean() == pytest.approx(share, rel=0.01)
    along = step @ (h / np.linalg.norm(h))
    signal = factor.along_signal * factor.signal
    assert signal == pytest.approx(float((g * along).sum() / np.sqrt(N)), rel=0.05)


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
