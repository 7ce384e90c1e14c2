"""Fits of benchmarks/ablation.py do not have the part that is switched off."""

import ablation
import numpy as np
import pytest

import onegrad as og

PARAMETERS = {"random_state": 0, "rounds": 2, "width": 40, "corrections": "auto"}
WEIGHTS = {
    "linear head": "head_weight",
    "networks on codes": "networks_weight",
    "trees": "trees_weight",
    "neighbours": "neighbours_weight",
}


@pytest.mark.full
@pytest.mark.parametrize("classify", [False, True])
def test_a_part_that_is_switched_off_has_no_weight(classify):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    above = X[:, :2] > 0
    y = above[:, 0] ^ above[:, 1] if classify else above @ [1.0, 0.5] + 0.1 * X[:, 2] ** 2
    kind = og.AlternatingClassifier if classify else og.AlternatingRegressor
    full = kind(**PARAMETERS).fit(X, y).choice_
    used = [part for part, weight in WEIGHTS.items() if weight in full]
    assert used  # the fit with all parts has some of them
    for part in used:
        with ablation.switched_off(ablation.VARIANTS[part]):
            assert WEIGHTS[part] not in kind(**PARAMETERS).fit(X, y).choice_
    assert set(kind(**PARAMETERS).fit(X, y).choice_) == set(full)  # and all are on again
