"""Deviations follow the formula, conformal intervals cover, probabilities are calibrated."""

from dataclasses import replace

import numpy as np
import pytest

import onegrad as og
from onegrad.exceptions import InvalidInput
from onegrad.tables.first_layer.scaling import ScaledRows


def noisy(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, np.sin(X[:, 0]) + 0.3 * rng.standard_normal(n)


def test_deviation_is_the_ridge_posterior():
    """Against the textbook formula with n x N matrices, for the rows as they are."""
    X, y = noisy(150, 0)
    model = og.OneStepRegressor(20, random_state=0).fit(X, y)
    _, std = model.predict(X, return_std=True)
    fitted = model.fitted_
    F = fitted.features(X)
    F = F - F.mean(0)
    t = (y - y.mean()) / y.std()
    lam = len(X) * fitted.members[0].ridge
    A = F.T @ F + lam * np.eye(F.shape[1])
    a = np.linalg.solve(A, F.T @ t)
    s2 = (((t - F @ a) ** 2).sum() + lam * a @ a) / len(X)
    expected = np.sqrt(s2 * (1 + np.einsum("ij,ji->i", F, np.linalg.solve(A, F.T)))) * y.std()
    np.testing.assert_allclose(std, expected, rtol=1e-3)
    _, (near, far) = model.predict([[0, 0, 0], [8, 8, 8]], return_std=True)
    assert far > 1.05 * near


def test_left_out_residuals_are_those_of_refitting():
    X, y = noisy(120, 1)
    f = og.AlternatingRegressor(15, rounds=2, random_state=0, members=1).fit(X, y).fitted_
    t = f.targets.encode(y)
    (member,) = f.members
    rows = ScaledRows(member.layer.scaling(X), t, np.ones(120))
    at_once = member.leave_one_out_residuals(rows, rows.w)
    for i in range(120):
        row = slice(i, i + 1)
        moments = member.moments - member.layer.moments(X[row], t[row])
        ridge = member.ridge * 120 / 119  # the penalty is ridge times rows
        rest = replace(member, sums=moments, ridge=ridge)
        assert at_once[i] == pytest.approx((t[row] - rest.predict(X[row]))[0], abs=1e-7)
    assert f.statistics.residuals.shape == (24, 1)
    assert np.isin(f.statistics.residuals.round(9), at_once.round(9)).all()


def test_intervals_cover():
    """400 held-out rows: the mean coverage over 5 fits within 5 standard errors of nominal."""
    hits = {0.5: [], 0.9: []}
    for seed in range(5):
        X, y = noisy(2000, seed)
        model = og.OneStepRegressor(60, random_state=seed).fit(X, y)
        X_new, y_new = noisy(4000, 100 + seed)
        for coverage, shares in hits.items():
            low, high = model.predict_interval(X_new, coverage)
            shares.append(np.mean((low <= y_new) & (y_new <= high)))
    for coverage, shares in hits.items():
        # calibration on 400 rows and testing on 4000, five times
        deviation = np.sqrt(coverage * (1 - coverage) * (1 / 2000 + 1 / 20000))
        assert abs(np.mean(shares) - coverage) < 5 * deviation


def test_intervals_need_enough_held_out_rows():
    X, y = noisy(40, 0)
    model = og.OneStepRegressor(10, random_state=0).fit(X, y)
    for local in (False, True):
        with pytest.raises(InvalidInput, match="needs more than the 8 held-out rows"):
            model.predict_interval(X, 0.99, local=local)
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        model.predict_interval(X, 90)


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 2))
    p = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = rng.random(6000) < p
    model = og.AlternatingClassifier(40, rounds=2, random_state=0).fit(X[:3000], y[:3000])
    got = model.predict_proba(X[3000:])[:, 1]
    assert np.sqrt(np.mean((got - p[3000:]) ** 2)) < 0.06
    assert abs(got.mean() - p[3000:].mean()) < 0.03


def test_local_intervals_are_wide_where_the_noise_is():
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 4, (12_000, 1))
    y = x[:, 0] + 0.2 * x[:, 0] * rng.standard_normal(12_000)
    model = og.AlternatingRegressor(20, rounds=0, random_state=0).fit(x[:6000], y[:6000])
    low, high = model.predict_interval(x[6000:], 0.9, local=True)
    x, y = x[6000:, 0], y[6000:]
    inside = (low <= y) & (y <= high)
    for part in (x < 1, x > 3):  # of 300 rows held out and 1,500 new ones: four standard errors
        assert abs(inside[part].mean() - 0.9) < 4 * np.sqrt(0.09 / 300 + 0.09 / 1500)
    widths = high - low
    assert widths[x > 3].mean() > 3 * widths[x < 1].mean()
    constant = model.predict_interval(x[:, None], 0.9)
    assert np.ptp(constant.high - constant.low) < 1e-12
