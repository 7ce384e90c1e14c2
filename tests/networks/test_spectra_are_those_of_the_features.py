"""Measured spectra against direct computation, and against theory's edge and spikes."""

import numpy as np
import pytest

import onegrad as og
from onegrad.arrays import backend
from onegrad.networks import spectrum
from onegrad.networks.network import Network
from onegrad.networks.sampling import Sampler


def test_singular_values_and_alignments():
    p = og.Problem(n=60, d=20, N=30, activation="relu", eta=3.0)
    found = spectrum(p, [4])
    sampler = Sampler(p, (4,), backend())
    network = Network.of(sampler)
    first = network.first
    X = sampler.whole().X[0]
    W = network.W[0] + 3 * first.G[0]
    U, s, _ = np.linalg.svd(p.sigma(X @ W.T), full_matrices=False)
    np.testing.assert_allclose(found.F[0], s, rtol=1e-10)
    np.testing.assert_allclose(found.W[0], np.linalg.svd(W)[1], rtol=1e-10)
    F_0 = p.sigma(X @ network.W[0].T)
    np.testing.assert_allclose(found.F_0[0], np.linalg.svd(F_0)[1], rtol=1e-10)
    u = X @ first.beta[0] / np.linalg.norm(first.beta[0])
    for k, h in enumerate((u, u**2 - 1, u**3 - 3 * u)):
        cosine = U[:, 0] @ h / np.linalg.norm(h)
        assert found.alignments[0, 0, k] == pytest.approx(cosine**2, rel=1e-8)


def test_one_spike_leaves_the_bulk_and_points_at_the_learned_direction():
    p = og.Problem(n=600, d=300, N=400, alpha=0.25)
    theory = og.spectrum(p)
    found = spectrum(p, 3, edge=theory.edge, distances=False)
    assert list(found.outliers) == [len(theory.spikes)] * 3 == [1] * 3
    answer = found.to_dict()
    (spike,) = answer["spikes"]
    assert spike["eigenvalue"] == pytest.approx(theory.spikes[0].eigenvalue, rel=0.15)
    assert spike["alignment"]["1"] > 0.9
    assert np.all(found.F_0[:, 0] ** 2 / p.n < theory.edge)


def test_the_untrained_network_is_its_own_spiked_approximation():
    p = og.Problem(n=60, d=20, N=30)
    found = spectrum(p, 2)
    np.testing.assert_allclose(found.F, found.F_0, rtol=1e-12)
    assert found.distance.max() < 1e-12
