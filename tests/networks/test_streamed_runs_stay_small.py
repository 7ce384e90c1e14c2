"""Rows are streamed: memory does not grow with n, and the estimate made before a run holds."""

import tracemalloc

import pytest

import onegrad as og
from onegrad.networks import SimulateOptions, make_plan, run_plan
from onegrad.networks.plan import peak_bytes


@pytest.mark.full
@pytest.mark.parametrize(
    ("sizes", "networks"),
    [
        ({"n": 60_000, "d": 32, "N": 64}, 1),
        ({"n": 5_000, "d": 100, "N": 300}, 4),
        ({"n": 300, "d": 100, "N": 5_000}, 3),
    ],
)
@pytest.mark.parametrize("leave_one_out", [False, True])
def test_the_peak_lies_below_the_estimate(sizes, networks, leave_one_out):
    p = og.Problem(**sizes)
    axes = {"eta": [1.0 + k for k in range(networks)], "ridge": [0.1, 1.0], "threads": 1}
    run_plan(make_plan(p.replace(n=20, d=5, N=10), [0], **axes))  # imports and caches
    plan = make_plan(p, [0], leave_one_out=leave_one_out, **axes)
    tracemalloc.start()
    run_plan(plan)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    estimate = peak_bytes(p, networks, SimulateOptions(leave_one_out=leave_one_out))
    assert plan.groups[0].peak_bytes == estimate
    assert 0.4 * estimate < peak < 1.1 * estimate
    assert peak < 8 * p.n * p.N or p.n < 10_000  # n x N is never held
