"""(problem, seed) fixes the numbers: stacks, threads, grids, chunks and devices only round."""

from dataclasses import replace

import numpy as np
import pytest

import onegrad as og
from onegrad.networks import MODELS, make_plan, run_plan
from onegrad.networks.simulation import QUANTITIES, simulate

PROBLEMS = {
    "tall": og.Problem(n=2100, d=40, N=60, activation="relu", noise=0.3, teacher="H1 + H2/2"),
    "wide": og.Problem(n=60, d=40, N=1100, noise=0.3, intercept=True),
}
AXES = {"eta": [0.0, 1.0, 3.0], "ridge": [0.01, 0.3]}


def values(simulation, k=None):
    return np.concatenate([getattr(simulation, q).values[:k].ravel() for q in QUANTITIES])


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(
    "options", [{"batch": 1}, {"batch": 3}, {"batch": 5}, {"threads": 1}, {"threads": 3}]
)
def test_stacks_and_threads(name, options):
    reference = values(simulate(PROBLEMS[name], 5, **AXES))
    np.testing.assert_allclose(
        values(simulate(PROBLEMS[name], 5, **options, **AXES)), reference, rtol=1e-10
    )


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_point_alone_and_in_a_grid(name):
    p = PROBLEMS[name]
    grid = simulate(p, 2, **AXES)
    for i, eta in enumerate(AXES["eta"]):
        for j, ridge in enumerate(AXES["ridge"]):
            single = simulate(p.replace(eta=eta, ridge=ridge), 2)
            for q in QUANTITIES:
                a, b = getattr(grid, q).values[:, i, j], getattr(single, q).values
                np.testing.assert_allclose(a, b, rtol=1e-10)


def test_seeds_alone_and_together():
    p = PROBLEMS["tall"]
    together = simulate(p, [4, 9, 2])
    for i, seed in enumerate((4, 9, 2)):
        np.testing.assert_allclose(
            together.test.values[i], simulate(p, [seed]).test.values[0], rtol=1e-10
        )


@pytest.mark.parametrize("name", PROBLEMS)
def test_networks_at_once(name):
    plan = make_plan(PROBLEMS[name], [1], **AXES)
    (group,) = plan.groups
    one, two = (
        run_plan(replace(plan, groups=(replace(group, networks_at_once=k),))) for k in (1, 2)
    )
    for q in QUANTITIES:
        np.testing.assert_allclose(one[q], two[q], rtol=1e-10)


def test_a_small_memory_limit_changes_nothing():
    p = PROBLEMS["tall"]
    reference = values(simulate(p, 3, **AXES))
    limited = simulate(p, 3, memory_limit=8.5e6, **AXES)
    np.testing.assert_allclose(values(limited), reference, rtol=1e-10)


@pytest.mark.parametrize("name", PROBLEMS)
def test_factors_a_band_and_an_eigendecomposition(name, monkeypatch):
    p = PROBLEMS[name]
    monkeypatch.setattr("onegrad.ridge.shifted.MAX_CHOLESKY_SHIFTS", 100)
    factors = values(simulate(p, 2, **AXES))
    monkeypatch.setattr("onegrad.ridge.shifted.MAX_CHOLESKY_SHIFTS", 0)
    np.testing.assert_allclose(values(simulate(p, 2, **AXES)), factors, rtol=1e-10)
    spectral = values(simulate(p, 2, leave_one_out=True, **AXES))
    np.testing.assert_allclose(spectral, factors, rtol=1e-9)


def test_single_precision_is_the_same_sample():
    p = PROBLEMS["tall"]
    double, single = simulate(p, 2, eta=1.0), simulate(p, 2, eta=1.0, dtype="float32")
    np.testing.assert_allclose(single.test.values, double.test.values, rtol=1e-3)
    assert single.provenance.dtype == "float32"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_devices(name, model, each_backend):
    p, options = PROBLEMS[name], {"model": model, "leave_one_out": True, **AXES}
    if "kernel" in model or model == "ntk":  # their matrices are n by n
        p = p.replace(n=min(p.n, 500))
    a = simulate(p, 3, **options)
    b = simulate(p, 3, device=each_backend.device, batch=2, random="host", **options)
    np.testing.assert_allclose(values(b), values(a), rtol=1e-10)
    np.testing.assert_allclose(b.leave_one_out.values, a.leave_one_out.values, rtol=1e-10)


def test_stacks_large_enough_to_be_blocked(each_backend):
    p = og.Problem(n=700, d=50, N=601, eta=2.0)
    a = simulate(p, 2, ridge=[0.01, 0.1])
    b = simulate(p, 2, ridge=[0.01, 0.1], device=each_backend.device, batch=2, random="host")
    np.testing.assert_allclose(values(b), values(a), rtol=1e-10)


@pytest.mark.torch
def test_device_random_numbers_are_recorded_and_repeat():
    p = PROBLEMS["tall"]
    a = simulate(p, 3, device="torch", random="device", batch=3)
    b = simulate(p, [2], device="torch", random="device")
    assert a.provenance.random == "device"
    np.testing.assert_allclose(a.test.values[2], b.test.values[0], rtol=1e-10)
    host = simulate(p, 40, device="torch", batch=8).test
    device = simulate(p, 40, device="torch", random="device", batch=8).test
    assert abs(host.mean - device.mean) < 4 * np.hypot(host.se, device.se)
