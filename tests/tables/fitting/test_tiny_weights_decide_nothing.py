"""Held-out rows of tiny weight do not choose the penalty."""

import numpy as np
import pytest

import onegrad as og
from onegrad.tables.fitting.candidates import best_decade

WEIGHTS = {0: 1000.0, 1: 1e-4, 2: 1e-4}


def test_a_class_with_all_the_weight_is_always_predicted():
    model = og.AlternatingClassifier(20, rounds=2, class_weight=WEIGHTS, random_state=0)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((50, 2)), np.arange(50) % 3
        assert (model.fit(X, y).predict(rng.standard_normal((50, 2))) == 0).mean() > 0.95


@pytest.mark.parametrize("fine", [False, True])
def test_a_gain_below_the_resolution_does_not_move_the_penalty(fine):
    def score(relative):
        return 1e-5 + 1e-8 * np.log10(relative)

    assert best_decade(score, 1e-3, fine, resolution=1e-6) == pytest.approx(1e-3)
    assert best_decade(score, 1e-3, fine, resolution=0.0) <= 1e-8
