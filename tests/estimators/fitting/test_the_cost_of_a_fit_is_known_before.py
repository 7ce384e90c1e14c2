"""estimate_cost tells processor seconds and memory within a factor, without a fit."""

import time
import tracemalloc

import numpy as np
import pytest

import onegrad as og
from onegrad.parallel.cores import blas_threads

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1500, 8))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.standard_normal(1500)


@pytest.mark.full
@pytest.mark.parametrize("kind", [og.AlternatingRegressor, og.AlternatingClassifier])
def test_seconds_and_memory(kind):
    model = kind(budget="fast", random_state=0)
    y = Y if kind is og.AlternatingRegressor else Y > 0
    with blas_threads(1):
        cost = model.estimate_cost(*X.shape)
        tracemalloc.start()
        began = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - began
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert seconds / 5 < cost.seconds < 5 * seconds
    assert peak / 3 < cost.memory < 3 * peak


def test_more_is_dearer():
    def flops(*shape, **parameters):
        return og.AlternatingRegressor(**parameters).estimate_cost(*shape).flops

    assert flops(1000, 8, budget="fast") < flops(1000, 8) < flops(1000, 8, budget="best")
    assert flops(1000, 8) < flops(5000, 8) < flops(5000, 80) < flops(50_000, 80)
    assert flops(1000, 8, corrections="none", rounds=12) < flops(1000, 8, rounds=12)
