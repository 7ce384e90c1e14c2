"""Inputs with a covariance: no step, directions that stand alone, and the end.

Their errors are among those of test_stored_simulations_agree.py.
"""

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.uniform import products, uniform_errors
from onegrad.theory.uniform.laws import inputs, neurons
from onegrad.theory.uniform.laws.inputs import InputSpectrum

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
TOLERANCE = 3.0  # standard errors
THEORY_ERROR = 0.005  # relative, of the theory at these sizes


@pytest.mark.parametrize("inputs", ["power-law(0.5)", "spiked(5)"])
def test_without_a_step_the_direction_of_the_step_does_not_matter(inputs):
    problem = og.Problem(n=1000, d=241, N=169, inputs=inputs, eta=1e-6, noise=0.5)
    others = [
        problem.replace(n_step=500),
        problem.replace(n_step=4000),
        problem.replace(readout="constant"),
        problem.replace(readout="rademacher", residual="full"),
    ]
    errors = uniform_errors([problem, *others])
    assert errors.train == pytest.approx(errors.train[0], rel=4e-3)
    assert errors.test == pytest.approx(errors.test[0], rel=4e-3)


# a setting of benchmarks/settings/reach_covariance.json whose neurons vary along the spike: (mean,
# standard error) of train and test over 64 networks
DOMINATED = og.Problem(
    n=2000, d=1200, N=1886, n_step=1000, activation="H1 + H2/2", teacher="relu", noise=0.3,
    ridge=0.46898080308215867, readout="constant", residual="full", inputs="spiked(20)", alpha=0.5,
)  # fmt: skip
MEASURED = {"train": (0.0683078, 0.000653383), "test": (1.89485, 0.0257624)}


def test_products_of_strong_inputs_are_fitted_and_not_noise(monkeypatch):
    blocks = og.predict(DOMINATED)
    monkeypatch.setattr(products, "MIN_PRODUCT_STRENGTH", np.inf)
    noise = og.predict(DOMINATED)
    for kind, (mean, se) in MEASURED.items():
        allowed = TOLERANCE * se + THEORY_ERROR * mean
        assert abs(getattr(blocks, kind) - mean) < allowed
        assert abs(getattr(noise, kind) - mean) > 1.2 * allowed


# a spike along the teacher: (mean, standard error) of `og.simulate(LEANING, seeds=96)`
LEANING = og.Problem(
    n=600, d=250, N=200, activation="softplus", teacher="H1 + H2/sqrt(2)", noise=1.0, ridge=0.01,
    readout="rademacher", inputs="spiked(20)", input_overlap=0.7, alpha=0.3,
)  # fmt: skip
LEANT = {"train": (12.99819, 0.25719), "test": (29.54745, 0.41386)}


def test_neurons_that_start_along_v_are_types_of_their_own(monkeypatch):
    types = og.predict(LEANING)
    for kind, (mean, se) in LEANT.items():
        value, bar = getattr(types, kind), getattr(types.accuracy, kind)
        assert abs(value - mean) < bar * value + 2 * se
        assert abs(value - mean) < 0.1 * mean
    monkeypatch.setattr(neurons, "MIN_SHARE_ALONG_V", {True: np.inf, False: np.inf})
    with pytest.raises(og.OutOfScope, match="most of a neuron's variance"):
        og.predict(LEANING)


@pytest.mark.parametrize("decay", [0.5, 1.0, 2.0])
def test_intervals_have_the_sums_of_all_eigenvalues(decay, monkeypatch):
    problem = og.Problem(n=100, d=400_000, N=100, inputs=f"power-law({decay})", alpha=0.1)
    few = InputSpectrum.of_law(problem)
    monkeypatch.setattr(inputs, "MAX_LISTED", problem.d)
    every = InputSpectrum.of_law(problem)
    assert few.values == pytest.approx(every.values, rel=1e-8)
    assert few.counts == pytest.approx(every.counts, rel=1e-8)
    assert not np.array_equal(few.values, every.values)


def test_more_inputs_than_fit_in_memory():
    problem = og.Problem(n=100, d=10**12, N=100, inputs="power-law(1)", alpha=0.1)
    every = InputSpectrum.of_law(problem)
    assert every.counts.sum() == pytest.approx(1e12)
    assert every.moment(1) == pytest.approx(1)
    harmonic = np.log(1e12) + np.euler_gamma  # sum of 1/j
    assert every.values[0] == pytest.approx(1e12 / harmonic, rel=1e-8)
