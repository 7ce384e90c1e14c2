"""Measured spectra against direct computation, and against theory's edge and spikes."""

import numpy as np
import pytest

import onegrad as og
from onegrad.networks import spectrum
from onegrad.networks.one_network import network_of


def test_singular_values_and_alignments():
    p = og.Problem(n=60, d=20, N=30, activation="relu", eta=3.0)
    measured = spectrum(p, [4])
    network = network_of(p, 4)
    first = network.first
    X = network.sampler.all_ridge_rows().X[0]
    W = network.W[0] + 3 * first.G[0]
    U, s, _ = np.linalg.svd(p.sigma(X @ W.T), full_matrices=False)
    np.testing.assert_allclose(measured.F[0], s, rtol=1e-10)
    np.testing.assert_allclose(measured.W[0], np.linalg.svd(W)[1], rtol=1e-10)
    F_0 = p.sigma(X @ network.W[0].T)
    untrained = spectrum(p.replace(eta=0.0), [4])
    np.testing.assert_allclose(untrained.F[0], np.linalg.svd(F_0)[1], rtol=1e-10)
    u = X @ first.beta[0] / np.linalg.norm(first.beta[0])
    for k, h in enumerate((u, u**2 - 1, u**3 - 3 * u)):
        cosine = U[:, 0] @ h / np.linalg.norm(h)
        assert measured.alignments[0, 0, k] == pytest.approx(cosine**2, rel=1e-8)


def test_one_spike_leaves_the_bulk_and_points_at_the_learned_direction():
    p = og.Problem(n=300, d=150, N=200, eta=8.0)
    theory = og.spectrum(p)
    edge = theory.edge * (1 + 2 * p.n ** (-2 / 3))  # twice as far as it fluctuates
    measured = spectrum(p, 60, edge=edge, distances=False)
    assert list(measured.outliers) == [len(theory.spikes)] * 60 == [1] * 60
    (spike,) = measured.to_dict()["spikes"]
    predicted, se = theory.spikes[0], spike["eigenvalue_se"]
    assert abs(spike["eigenvalue"] - predicted.eigenvalue) < 4 * se
    assert se < 0.025 * predicted.eigenvalue, "too few seeds to see a wrong factor"
    assert spike["alignment"]["1"] == pytest.approx(predicted.alignment[1], abs=0.01)
    without = spectrum(p.replace(eta=0.0), 60, distances=False)
    untrained = without.eigenvalues[:, 0] / og.spectrum(p, eta=0.0).edge
    assert 0.92 < untrained.mean() < 1  # a bit inside
    assert untrained.max() < 1 + 3 * p.n ** (-2 / 3)  # and no further out than it fluctuates


def test_the_untrained_network_is_its_own_spiked_approximation():
    p = og.Problem(n=60, d=20, N=30)
    measured = spectrum(p, 2)
    assert measured.distance.max() < 1e-12
