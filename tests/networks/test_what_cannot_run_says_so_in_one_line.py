"""Bad input, a missing GPU, too little memory: one line that says what to change."""

import numpy as np
import pytest

import onegrad as og
from onegrad.arrays import get_ops
from onegrad.arrays.numpy_ops import NumpyOps
from onegrad.networks import GradientGroup, SimulateOptions, spectrum
from onegrad.networks.plan import peak_bytes, plan_group
from onegrad.networks.simulation import simulate

PROBLEM = og.Problem(n=50, d=10, N=20, eta=1.0)


BAD = [
    ({"seeds": 0}, "seeds must be"),
    ({"seeds": [1, 1]}, "distinct"),
    ({"seeds": [-1]}, "seeds must be"),
    ({"seeds": [0.5]}, "seeds must be"),
    ({"seeds": "ten"}, "seeds must be"),
    ({"model": "transformer"}, "model must be one of trained"),
    ({"device": "tpu"}, "device must be cpu"),
    ({"dtype": "float16"}, "dtype must be float64"),
    ({"precision": "fast"}, "device='cuda', or dtype='float32' here"),
    ({"precision": "double"}, "precision must be one of"),
    ({"precision": "fast", "dtype": "float32"}, "leave dtype out"),
    ({"random": "dice"}, "random must be host"),
    ({"random": "device"}, "random 'device': needs"),
    ({"n_test": 0}, "n_test must be"),
    ({"batch": 1.5}, "batch must be"),
    ({"batch": np.inf}, "batch must be"),
    ({"memory_limit": np.nan}, "memory_limit must be a number > 0"),
    ({"rows": np.zeros((200, 3))}, "d = 10"),
    ({"rows": np.zeros((60, 10)), "n_test": 20}, "at least 120"),
    ({"rows": [["a"] * 10] * 200}, "numbers"),
    ({"volume": [1, 2]}, "simulate() has no argument 'volume'"),
    ({"alpha": [0.6], "model": "spiked"}, "alpha must be < 1/2"),
    ({"steps": 2, "model": "spiked"}, "steps must be 1"),
]


def test_bad_arguments():
    for options, words in BAD:
        with pytest.raises(og.InvalidInput) as caught:
            simulate(PROBLEM, **options)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_nan_in_the_users_rows_is_named():
    rows = np.zeros((2000, 10))
    rows[17, 3] = np.nan
    with pytest.raises(og.InvalidInput, match="row 17 of 2000 has a NaN"):
        simulate(PROBLEM, rows=rows)


def test_a_missing_gpu():
    with pytest.raises(og.InvalidInput, match=r"needs torch|no CUDA device|CUDA device\(s\)"):
        simulate(PROBLEM, device="cuda:99")


def test_a_run_that_cannot_fit_says_what_it_needs():
    big = og.Problem(n=10**6, d=10**5, N=10**6)
    with pytest.raises(og.InvalidInput) as caught:
        simulate(big, 1, memory_limit=1e9)
    for words in ("GiB", "0.931 GiB may be used", "lower n, d, N", "float32", "memory_limit"):
        assert words in str(caught.value)


def test_memory_of_a_streamed_run_does_not_grow_with_n():
    sizes = [peak_bytes(og.Problem(n=n, d=512, N=1024), 8) for n in (10_000, 1_000_000)]
    assert sizes[0] == sizes[1] < 0.3 * 2**30


def test_arrangements_shrink_before_they_fail():
    p = og.Problem(n=5000, d=100, N=1000)
    group = GradientGroup(p, tuple(range(8)), (0.1,))
    ops = get_ops()
    policy = ops.policy(threads=4)
    one = peak_bytes(p, 8, policy=policy)

    def arranged(memory_limit):
        plan = plan_group(group, 10, SimulateOptions(memory_limit=memory_limit), ops, policy)
        assert plan.peak_bytes <= memory_limit
        return plan.workers, plan.networks_at_once

    side_by_side = 4 * peak_bytes(p, 8, policy=policy.worker)
    assert arranged(side_by_side) == (4, 8)
    assert one < 0.99 * side_by_side and arranged(0.99 * side_by_side) == (1, 8)
    workers, networks_at_once = arranged(0.9 * one)
    assert workers == 1 and networks_at_once < 8


def test_running_out_of_memory_is_one_line(monkeypatch):
    def fail(self, *shape):
        raise MemoryError("Unable to allocate 7.45 GiB")

    monkeypatch.setattr(NumpyOps, "zeros", fail)
    with pytest.raises(MemoryError, match=r"out of memory \(Unable.*\): lower n, N or batch"):
        simulate(PROBLEM, 2)


def test_a_penalty_lost_in_rounding():
    with pytest.raises(og.NotConverged, match="larger ridge or dtype float64"):
        simulate(og.Problem(n=300, d=3, N=200, eta=1.0, ridge=1e-30), 1, dtype="float32")


def test_counting_outliers_needs_an_edge():
    with pytest.raises(og.InvalidInput, match="edge must be a number"):
        _ = spectrum(PROBLEM, 1).outliers
