"""The theorems' stand-ins against the trained features, on the same random numbers."""

import numpy as np
import pytest

import onegrad as og
from onegrad.arrays import get_ops
from onegrad.networks.models import spiked
from onegrad.networks.network import Network
from onegrad.networks.sampling import Sampler
from onegrad.networks.simulation import simulate
from onegrad.studies.measures import as_printed

SIZES = {"n": 500, "d": 250, "N": 333, "ridge": 0.05, "noise": 0.3}
SEEDS = 12


def paired(p, model, seeds=SEEDS):
    """Mean and standard error of the difference in test error from the trained network."""
    a = simulate(p, seeds, n_test=2048).test
    b = simulate(p, seeds, n_test=2048, model=model).test
    gap = b.values - a.values
    return gap.mean(), gap.std(ddof=1) / np.sqrt(seeds), a.mean


@pytest.mark.full
@pytest.mark.parametrize(
    "changes",
    [{"alpha": 0.15}, {"activation": "relu", "weights": "sphere", "eta": 1.5}],
    ids=["tanh", "relu"],
)
def test_small_steps_are_gaussian_equivalent(changes):
    p = og.Problem(**SIZES, teacher="H1", **changes)
    gap, se, error = paired(p, "gaussian-equivalent", 24)
    untrained, *_ = paired(p, "random-features")
    assert abs(gap) < 4 * se + 0.005 * error < untrained / 2


def test_large_steps_are_not():
    p = og.Problem(**SIZES, activation="relu", teacher="H1 + H2", weights="sphere", alpha=0.45)
    gap, se, error = paired(p, "gaussian-equivalent")
    assert gap > 6 * se and gap > 0.05 * error


def test_one_spike_has_the_errors_of_the_network():
    p = og.Problem(**SIZES, teacher="H1", alpha=0.15)
    gap, se, error = paired(p, "spiked")
    assert abs(gap) < 4 * se + 0.005 * error < 0.02 * error  # a step 1.1 times as long: 3 %


def test_the_constant_spike_needs_the_longer_neurons():
    """The weight of 1 (a^2)^T in F - F_0: the printed features have 60 % of it.

    Row i of the gradient is a_i (c_1 beta + zeta_i), and |zeta_i| lengthens neuron i.
    """
    sizes = {"n": 1000, "d": 500, "N": 667, "n_step": 500, "noise": 1.0}  # nu^2 = 2/3
    p = og.Problem(**sizes, activation="H1 + H2/2", teacher="H1", alpha=0.3)
    sampler = Sampler.of(p, (0, 1, 2), get_ops())
    network = Network.of(sampler)
    rows = sampler.all_ridge_rows()
    F_0 = next(network.untrained().tiles(rows))

    def weight(F):
        mean = (F - F_0).mean(1)  # (seeds, N)
        return np.sum(mean * network.a**2, 1) / np.sum(network.a**4, 1)

    true, corrected = (
        weight(next(features.tiles(rows)))
        for features in (network.trained((p.step,)), spiked(network, (p.step,)))
    )
    printed = weight(as_printed.spiked_features(network, rows, p.step))
    np.testing.assert_allclose(corrected / true, 1, atol=0.03)
    np.testing.assert_allclose(printed / true, 0.6, atol=0.03)


@pytest.mark.full
@pytest.mark.parametrize("model", ["linear", "inner-product-kernel", "rbf-kernel", "ntk"])
def test_no_kernel_beats_the_energy_beyond_the_linear_part(model):
    """The lower bound |P_{>1} f|^2 with n of order d, and a network that beats it."""
    p = og.Problem(n=800, d=60, N=100, activation="erf", teacher="H1 + H2", alpha=0.45)
    bound = p.sigma_star.nonlinear_energy
    p = p.replace(d=400, N=400) if model != "linear" else p
    measured = simulate(p, 6, model=model, ridge=[0.01, 1.0, 100.0]).risk
    assert np.all(measured.mean + 4 * measured.se > bound)


def test_a_trained_network_beats_the_kernel_bound():
    p = og.Problem(n=3000, d=100, N=300, activation="erf", teacher="erf", ridge=1e-3, eta=12.0)
    measured = simulate(p, 4).risk
    assert measured.mean + 4 * measured.se < p.sigma_star.nonlinear_energy
