"""Runs in half precision state their own error, and are what they state."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import onegrad as og
from onegrad.arrays import get_ops
from onegrad.experiments.cell import Cell
from onegrad.experiments.runner import measure_cell
from onegrad.networks import run_plan, simulate, simulation
from onegrad.networks.plan import make_plan, repeat_plan
from onegrad.studies.measures import MEASURES

PROBLEM = og.Problem(n=120, d=40, N=70, alpha=0.3, noise=0.3)
LIMIT = 3e-3  # of 120 rows; a wrong product is off by far more


@pytest.mark.torch
@pytest.mark.parametrize("random", ["host", "device"])
def test_the_stated_error_is_the_difference_from_float64(random):
    run = {"device": "torch", "random": random, "ridge": [1e-3, 1e-1]}
    fast = simulate(PROBLEM, 5, precision="fast", **run)
    ops = get_ops("torch", precision="fast").exact
    plan = make_plan(PROBLEM, 5, **run)
    exact = run_plan(replace(plan, ops=ops))
    for name in ("train", "test"):
        stated = getattr(fast.precision_error, name)
        by_hand = getattr(fast, name).values[:2] / exact[name][:2] - 1
        np.testing.assert_allclose(stated.values, by_hand, rtol=1e-6, atol=1e-15)
        np.testing.assert_allclose(stated.mean, by_hand.mean(0), rtol=1e-6, atol=1e-15)
        half_range = np.abs(by_hand[0] - by_hand[1]) / 2  # the standard error of two values
        np.testing.assert_allclose(stated.se, half_range, rtol=1e-6, atol=1e-15)
        everything = getattr(fast, name).values / exact[name] - 1
        assert 0 < np.abs(everything).max() < LIMIT
    assert fast.precision_error.seeds == (0, 1)
    assert fast.provenance.precision == "fast"


def test_host_numbers_are_those_of_a_run_in_float64():
    exact = simulate(PROBLEM, 3)
    assert exact.precision_error is None and exact.provenance.precision == "exact"
    plain = simulate(PROBLEM, 3, dtype="float32")
    np.testing.assert_allclose(plain.test.values, exact.test.values, rtol=1e-4)
    assert plain.precision_error is None and plain.provenance.precision == "float32"
    assert plain.provenance.dtype == "float32"


@pytest.mark.torch
def test_one_network_in_64_is_repeated_and_two_at_least():
    plans = [make_plan(PROBLEM, k, device="torch", precision="fast") for k in (1, 2, 9, 640)]
    assert [len(repeat_plan(plan).seeds) for plan in plans] == [1, 2, 2, 10]


@pytest.mark.torch
def test_fast_is_fast_enough_for_small_penalties_and_large_steps():
    rng = np.random.default_rng(1)
    for activation in ("tanh", "relu", "erf"):
        problem = og.Problem(
            n=int(rng.integers(150, 300)), d=60, N=int(rng.integers(80, 300)), alpha=0.55,
            activation=activation, ridge=10 ** rng.uniform(-5, -3), noise=0.5,
        )  # fmt: skip
        fast = simulate(problem, 4, device="torch", random="host", precision="fast")
        exact = simulate(problem, 4)
        off = fast.test.mean / exact.test.mean - 1
        assert abs(off) < 0.25 * exact.test.se / exact.test.mean


def test_a_quarter_of_a_standard_error_is_a_warning():
    def quantity(mean, se):
        return simulation.SampleMean(mean, se, np.zeros((2, 1)), (0, 1))

    def warned(share):
        off = simulation.SampleMean(share * 0.01 / 2.0, 0.0, np.zeros((2, 1)), (0, 1))
        none = simulation.SampleMean(0.0, 0.0, np.zeros((2, 1)), (0, 1))
        error = simulation.PrecisionError((0, 1), train=none, test=off)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            quantities = {"train": quantity(1.0, 0.1), "test": quantity(2.0, 0.01)}
            simulation._warn_of_precision(error, quantities)
        return caught

    assert not warned(0.24) and not warned(-0.24)
    for share in (0.26, -0.26):
        (caught,) = warned(share)
        assert isinstance(caught.message, og.AssumptionWarning)
        assert caught.message.field == "precision"
        assert "test" in str(caught.message) and "0.26 standard errors" in str(caught.message)


@pytest.mark.torch
def test_the_store_remembers_which_precision_made_a_cell():
    fields = {"etas": (1.0, 2.0), "ridges": (0.1,), "seeds": 3}
    plain = Cell("errors", PROBLEM.replace(eta=1.0), **fields)
    fast = Cell("errors", PROBLEM.replace(eta=1.0), **fields, options=(("precision", "fast"),))
    assert plain.key != fast.key and Cell.from_json(fast.json).key == fast.key
    outcome = measure_cell(fast, MEASURES, "torch")
    assert outcome.provenance.dtype == "fast"
    assert measure_cell(plain, MEASURES).provenance.dtype == "float64"
    error = outcome.values["test_precision_error"]
    assert error.shape == (3, 2, 1)
    assert np.isfinite(error[:2]).all() and np.isnan(error[2]).all()
