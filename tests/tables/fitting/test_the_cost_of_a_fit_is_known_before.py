"""estimate_cost tells operations and memory before a fit, which is never made for it."""

import tracemalloc

import numpy as np
import pytest

import onegrad as og
from onegrad.parallel.cores import blas_threads


@pytest.mark.full
@pytest.mark.parametrize("kind", [og.AlternatingRegressor, og.AlternatingClassifier])
def test_memory(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 8))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(1500)
    model = kind(budget="fast", random_state=0)
    cost = model.estimate_cost(*X.shape)
    with blas_threads(1):
        tracemalloc.start()
        model.fit(X, y if kind is og.AlternatingRegressor else y > 0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak / 3 < cost.memory < 3 * peak


def test_more_is_dearer():
    def flops(*shape, **parameters):
        return og.AlternatingRegressor(**parameters).estimate_cost(*shape).flops

    assert flops(1000, 8, budget="fast") < flops(1000, 8) < flops(1000, 8, budget="best")
    assert flops(1000, 8) < flops(5000, 8) < flops(5000, 80) < flops(50_000, 80)
    assert flops(1000, 8, corrections="none", rounds=12) < flops(1000, 8, rounds=12)
