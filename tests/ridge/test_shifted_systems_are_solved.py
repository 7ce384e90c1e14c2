"""A path of shifted systems against a dense solver, however it is solved."""

import numpy as np
import pytest

from onegrad.ridge.shifted import BAND_WIDTH, MAX_CHOLESKY_SHIFTS, solve_shifted

W = BAND_WIDTH
SIZES = (1, 2, 3, W - 1, W, W + 1, W + 2, 2 * W, 2 * W + 1, 333)
COUNTS = (1, MAX_CHOLESKY_SHIFTS, MAX_CHOLESKY_SHIFTS + 1, 9)


def system(m):
    rng = np.random.default_rng(m)
    F = rng.standard_normal((2 * m, m))
    return F.T @ F, rng.standard_normal(m)


def solved(C, shifts, b):
    return solve_shifted(C[None].copy(), shifts, b[None])[0]


@pytest.mark.parametrize("count", COUNTS)
def test_against_a_dense_solver(count):
    for m in SIZES:
        C, b = system(m)
        shifts = list(m * np.geomspace(1e-3, 1, count))
        expected = np.stack([np.linalg.solve(C + s * np.eye(m), b) for s in shifts], 1)
        np.testing.assert_allclose(
            solved(np.triu(C), shifts, b), expected, rtol=1e-9, err_msg=f"m = {m}"
        )


@pytest.mark.parametrize("count", COUNTS)
def test_only_the_upper_triangle_is_read_in_either_precision(count):
    C, b = system(150)
    shifts = list(np.linspace(1, 150, count))
    exact = solved(np.triu(C), shifts, b)
    junk = np.triu(C) + np.tril(np.full_like(C, np.nan), -1)
    assert np.array_equal(solved(junk, shifts, b), exact)
    x = solved(junk.astype("float32"), shifts, b.astype("float32"))
    assert x.dtype == np.float32
    assert np.abs(x - exact).max() < 1e-4 * np.abs(exact).max()
    indefinite = solved(np.triu(C), [*shifts[1:], -1e6], b)  # NaN for its shift alone
    assert np.isnan(indefinite[:, -1]).all() and np.isfinite(indefinite[:, :-1]).all()
