"""Moments, factors, paths, the dual and leave-one-out against rows written out and scikit-learn."""

import itertools

import numpy as np
import pytest

import naive
from naive import moments
from onegrad.arrays import to_numpy
from onegrad.exceptions import InvalidInput, NotConverged
from onegrad.ridge import Factor, NormalEquations, solve_dual
from onegrad.ridge.moments import add_rows, empty_moments

RIDGES = (0.01, 0.1, 1.0, 3.0, 10.0, 30.0)


def rows(B, n, N):
    rng = np.random.default_rng(0)
    return rng.standard_normal((B, n, N)) + 0.5, rng.standard_normal((B, n)) - 1


def check(found, i, features, F, y, intercept):
    for j, lam in enumerate(RIDGES):
        a, c = naive.ridge(F, y, lam, intercept)
        train, loss = naive.objective(F, y, lam, a, c)
        np.testing.assert_allclose(to_numpy(found.train)[i, j], train, rtol=1e-9)
        np.testing.assert_allclose(to_numpy(found.squared_loss)[i, j], loss, rtol=1e-8)
        predicted = features @ to_numpy(found.coef)[i, :, j] + to_numpy(found.intercept)[i, j]
        np.testing.assert_allclose(predicted, F @ a + c, rtol=1e-8, atol=1e-10)


def equations(ops, F, y, intercept):
    sums = empty_moments(ops, len(F), F.shape[-1], F.shape[-2])
    for some in (slice(0, 7), slice(7, None)):
        add_rows(ops, sums, ops.asarray(F[:, some]), ops.asarray(y[:, some]), intercept)
    return NormalEquations.of(sums, intercept, overwrite=True)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("count", [2, 6])
def test_primal(each_backend, intercept, count, monkeypatch):
    F, y = rows(2, 40, 9)
    monkeypatch.setattr("onegrad.ridge.shifted.MAX_CHOLESKY_SHIFTS", count)  # factors, or a band
    fit = equations(each_backend, F, y, intercept).path(RIDGES)
    for i in range(2):
        check(fit, i, F[i], F[i], y[i], intercept)


@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out(each_backend, intercept):
    F, y = rows(2, 20, 6)
    way = equations(each_backend, F, y, intercept).leave_one_out(RIDGES)
    for i in range(2):
        check(way.fit, i, F[i], F[i], y[i], intercept)
    at = each_backend.asarray
    found = to_numpy(way.squares(at(F), at(y))) / 20
    K = each_backend.zeros(2, 20, 20)
    each_backend.add_gram(K, at(F), over_rows=True)
    other = to_numpy(solve_dual(K, at(y), RIDGES, intercept, leave_one_out=True).leave_one_out)
    expected = [[naive.leave_one_out(F[i], y[i], lam, intercept) for lam in RIDGES] for i in (0, 1)]
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    np.testing.assert_allclose(other, expected, rtol=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("leave_one_out", [False, True])
def test_dual(each_backend, intercept, leave_one_out):
    F, y = rows(2, 8, 30)
    K = each_backend.zeros(2, 8, 8)
    each_backend.add_gram(K, each_backend.asarray(F), over_rows=True)
    fit = solve_dual(K, each_backend.asarray(y), RIDGES, intercept, leave_one_out)
    for i in range(2):
        check(fit, i, F[i] @ F[i].T, F[i], y[i], intercept)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_every_backend_are_the_sums(each_backend, weighted):
    (F,), (y,) = rows(1, 30, 5)
    w = np.random.default_rng(1).random(30) if weighted else np.ones(30)
    at = each_backend.asarray
    m = moments(at(F), at(y[:, None]), at(w) if weighted else None)
    assert m.rows == 30
    np.testing.assert_allclose(m.weight, w.sum())
    expected = (w @ F, [w @ y], F.T * w @ F, (F.T * w @ y)[:, None], [w @ (y * y)])
    for found, sums in zip((m.F1, m.y1, m.FtF, m.Fty, m.yty), expected, strict=True):
        np.testing.assert_allclose(to_numpy(found), sums, rtol=1e-12)


def test_a_factor_solves_halves_and_inverts(each_backend):
    (F,), _ = rows(1, 30, 7)
    C, R, at = F.T @ F, F[:4], each_backend.asarray
    factor = Factor(each_backend.shifted_cholesky(at(np.triu(C)), [2.0])[0][0])
    inverse = np.linalg.inv(C + 2 * np.eye(7))
    np.testing.assert_allclose(to_numpy(factor.solve(at(R.T))), inverse @ R.T, rtol=1e-9)
    half = to_numpy(factor.solve_lower(at(R.copy())))
    np.testing.assert_allclose((half * half).sum(1), ((R @ inverse) * R).sum(1), rtol=1e-9)
    np.testing.assert_allclose(to_numpy(factor.inverse_diagonal()), np.diag(inverse), rtol=1e-9)


def test_leverage_and_eigenvalues():
    (F,), (y,) = rows(1, 30, 7)
    m = moments(F, y[:, None], np.full(30, 2.0))
    for intercept in (True, False):
        e = NormalEquations.of(m, intercept)
        centred = F - F.mean(0) if intercept else F
        C = centred.T @ centred / 30
        h = ((centred @ np.linalg.inv(C + 0.3 * np.eye(7))) * centred).sum(1) / 60
        np.testing.assert_allclose(e.leverage(F, e.factor(0.3)), h, rtol=1e-9)
        np.testing.assert_allclose(e.eigenvalues(), np.linalg.eigvalsh(C)[::-1], rtol=1e-9)


@pytest.mark.compat
def test_several_targets_and_weights_give_the_coefficients_of_scikit_learn():
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(1)
    F, y = rng.standard_normal((60, 7)) + 1, rng.standard_normal((60, 2)) - 2
    for intercept, w in itertools.product((True, False), (None, rng.random(60))):
        readout = NormalEquations.of(moments(F, y, w), intercept).solve(0.1)
        weights = np.ones(60) if w is None else w
        oracle = Ridge(alpha=0.1 * weights.sum(), fit_intercept=intercept)
        oracle.fit(F, y, sample_weight=weights)
        np.testing.assert_allclose(readout.coef, oracle.coef_.T, rtol=1e-9)
        constant = np.broadcast_to(oracle.intercept_, 2)
        np.testing.assert_allclose(readout.intercept, constant, rtol=1e-9, atol=1e-12)


def test_a_singular_system_says_so():
    F = np.ones((5, 3))
    with pytest.raises(NotConverged, match="too small"):
        NormalEquations.of(moments(F, F[:, :1]), intercept=False).factor(-1.0)


def test_moments_of_other_sizes_do_not_mix():
    a, b = moments(np.ones((4, 2)), np.ones((4, 1))), moments(np.ones((4, 3)), np.ones((4, 1)))
    with pytest.raises(InvalidInput, match="do not match"):
        a + b
    with pytest.raises(InvalidInput, match="cannot remove 4 rows from 2"):
        moments(np.ones((2, 2)), np.ones((2, 1))) - a
