"""Nothing else leaves the bulk of F F^T/n: against networks sampled here.

The places of the outliers are those of test_reference_values.py, with networks beside them.
"""

import numpy as np
import pytest

import onegrad as og

SETTINGS = [
    {"activation": "relu:unit", "teacher": "H1 + H2/sqrt(2)", "noise": 0.3, "d": 300, "eta": 8.0},
    {"activation": "tanh", "teacher": "H1", "noise": 0.5, "d": 400, "eta": 4.0},
]


def sampled(p, seed):
    """Top eigenvalues of F F^T/n for one network, written out plainly."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((p.N, p.d)) / np.sqrt(p.d)
    if p.weights == "sphere":
        W /= np.linalg.norm(W, axis=1, keepdims=True)
    a = rng.standard_normal(p.N) / np.sqrt(p.N)
    X, X_tilde = rng.standard_normal((2, p.n, p.d))
    y = p.sigma_star(X[:, 0]) + p.noise * rng.standard_normal(p.n)
    Z = X @ W.T
    residual = y - p.sigma(Z) @ a if p.residual == "full" else y
    G = (np.outer(residual, a) * p.sigma.derivative(Z)).T @ X / p.n
    F = p.sigma(X_tilde @ (W + p.eta * G).T)
    return np.linalg.eigvalsh(F.T @ F / p.n)[::-1][:3]


@pytest.mark.full
@pytest.mark.parametrize("residual", ["labels", "full"])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s["activation"])
def test_nothing_else_leaves_the_bulk(setting, residual):
    p = og.Problem(n=800, N=600, weights="sphere", residual=residual, **setting)
    edge = og.spectrum(p, method="uniform").edge  # the step also moves the bulk
    seeds = np.array([sampled(p, seed) for seed in range(4)])
    count = len(og.spectrum(p, method="asymptotic").spikes)
    # few neurons have the large readouts that the last bit of the bulk is made of
    assert 0.8 * edge < seeds[:, count].mean() < edge
    assert seeds[:, count - 1].min() > 1.1 * edge


@pytest.mark.full
def test_an_untrained_even_part_has_its_own_outliers():
    """c_2 != 0: |x|^2 and, for Gaussian W_0, |w|^2 fluctuate together with all features.

    Those two are predicted at one place and repel each other at finite n: their mean stays.
    """
    p = og.Problem(n=800, d=200, N=800, activation="H1/4 + H2", weights="gaussian")
    for weights, count in (("gaussian", 2), ("sphere", 1)):
        q = p.replace(weights=weights)
        places = [spike.eigenvalue for spike in og.spectrum(q, method="asymptotic").spikes]
        assert len(places) == count
        means = np.array([sampled(q, seed)[:count] for seed in range(16)]).mean(1)
        mean, se = means.mean(), means.std(ddof=1) / np.sqrt(len(means))
        assert abs(np.mean(places) - mean) < 4 * se + 0.02 * mean < 0.07 * mean
        assert np.ptp(places) < 1e-6 * mean
    assert og.spectrum(p.replace(activation="tanh"), method="asymptotic").spikes == []


def test_tiny_steps_add_nothing():
    p = og.Problem(n=800, d=400, N=600, activation="tanh", residual="full")
    assert og.spectrum(p.replace(eta=1e-3), method="asymptotic").spikes == []


def test_alignments_are_squared_cosines():
    p = og.Problem(n=2000, d=1000, N=1500, activation="relu", teacher="H1 + H2/sqrt(2)", eta=25.0)
    first, *others = og.spectrum(p, method="asymptotic").spikes
    assert sum(first.alignment.values()) <= 1
    assert first.alignment[1] > 0.95
    assert others[0].alignment[2] > 0.3
    for spike in (first, *others):
        assert all(0 <= cosine <= 1 for cosine in spike.alignment.values())
