"""A one-step fit calls nothing of committees, codes, trees or the alternating family."""

import numpy as np

import onegrad as og
from calls import calls_of

ELSEWHERE = ("tables/parts/", "alternating", "choose_parts", "with_common_slope")


def functions_called(fit):
    names = (f"{file}:{name}" for file, name in calls_of(fit))
    return {name for name in names if any(place in name for place in ELSEWHERE)}


def test_one_step_passes_no_part():
    X = np.random.default_rng(0).standard_normal((120, 3))
    y = X[:, 0] + X[:, 1] ** 2
    one_step = og.OneStepRegressor(10, random_state=0)
    assert functions_called(lambda: one_step.fit(X, y).predict(X)) == set()
    others = og.AlternatingRegressor(10, rounds=1, corrections="auto", random_state=0)
    assert functions_called(lambda: others.fit(X, y)) != set()
