"""The theorem on spiked features in its own norm: distance, spikes, and windows."""

from contextlib import nullcontext

import numpy as np
import pytest
import scipy.linalg

import onegrad as og
from onegrad.networks.models import (
    distance_to_spiked,
    operator_norm,
    spike_norms,
    spiked,
    spikes_of_step,
)
from onegrad.networks.one_network import network_of
from onegrad.studies.measures import as_printed


def problem(n):
    fields = {"activation": "softplus", "teacher": "H1 + H2/sqrt(2)", "weights": "gaussian"}
    return og.Problem.moniri(n=n, phi=0.5, psi=0.75, residual="full", alpha=0.29, **fields)


def test_the_operator_norm_is_the_largest_singular_value():
    A = np.random.default_rng(1).standard_normal((70, 40))
    assert operator_norm(A) == pytest.approx(scipy.linalg.svdvals(A)[0], rel=1e-10)
    assert operator_norm(0 * A) == 0


def test_the_distance_falls_with_the_residual_and_grows_without():
    small, large = (
        np.mean([_distances(problem(n), seed) for seed in range(4)], 0) for n in (100, 800)
    )
    assert large[0] < 0.8 * small[0] and large[1] > 1.3 * small[1]


def _distances(p, seed):
    """Distances of the features from those with the residual's direction and the labels'."""
    network = network_of(p, seed)
    rows = network.sampler.all_ridge_rows()
    return [f(network, rows, p.step) for f in (distance_to_spiked, as_printed.distance_to_spiked)]


def test_the_norms_of_the_spikes_are_those_of_the_terms():
    p = problem(120)
    network = network_of(p, 0)
    rows = network.sampler.all_ridge_rows()
    (F_l,), (F_0,) = (m.tiles(rows) for m in (spiked(network, (p.step,)), network.untrained()))
    norms = spike_norms(network, rows, p.step, 2)[0]
    s = scipy.linalg.svdvals((F_l - F_0)[0])
    assert np.sum(s > 1e-9 * s[0]) == 2, "alpha = 0.29 has two spikes"
    assert max(norms) <= s[0] * (1 + 1e-9) <= norms.sum() * (1 + 2e-9)
    assert (norms**2).sum() == pytest.approx((s**2).sum(), rel=0.3), "nearly orthogonal"


def test_networks_and_theory_count_the_same_spikes():
    n, thresholds = 1000, og.thresholds(12)
    for alpha in (-0.2, 0.0, 0.1, 0.25, 0.3, 1 / 3, 0.35, 0.375, 0.45):
        is_threshold = np.isclose(alpha, thresholds, atol=1e-12, rtol=0).any()
        with pytest.warns(og.AssumptionWarning) if is_threshold else nullcontext():
            assert spikes_of_step(n, n**alpha) == og.spike_count(alpha), alpha
    assert spikes_of_step(n, 0.0) == 0
