"""A path of shifted systems against a dense solver, however it is solved."""

import numpy as np
import pytest

from onegrad.ridge.shifted import BAND_WIDTH, MAX_CHOLESKY_SHIFTS, solve_shifted

W = BAND_WIDTH
SIZES = (1, 2, 3, W - 1, W, W + 1, W + 2, 2 * W, 2 * W + 1, 333)
COUNTS = (1, MAX_CHOLESKY_SHIFTS, MAX_CHOLESKY_SHIFTS + 1, 9)


def system(m, dtype="float64"):
    rng = np.random.default_rng(m)
    F = rng.standard_normal((2 * m, m))
    return (F.T @ F).astype(dtype), rng.standard_normal(m).astype(dtype)


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
def test_only_the_upper_triangle_is_read(count):
    C, b = system(150)
    shifts = list(range(1, count + 1))
    clean = solved(np.triu(C), shifts, b)
    junk = np.triu(C) + np.tril(np.full_like(C, np.nan), -1)
    assert np.array_equal(solved(junk, shifts, b), clean)


@pytest.mark.parametrize("count", COUNTS)
def test_single_precision(count):
    C, b = system(150, "float32")
    shifts = list(np.linspace(1, 150, count))
    exact = solved(np.triu(C.astype(float)), shifts, b.astype(float))
    x = solved(np.triu(C), shifts, b)
    assert x.dtype == np.float32
    assert np.abs(x - exact).max() < 1e-4 * np.abs(exact).max()


@pytest.mark.parametrize("count", COUNTS)
def test_an_indefinite_matrix_gives_nan_for_its_shift_alone(count):
    C, b = system(150)
    shifts = [1.0] * (count - 1) + [-1e6]
    x = solved(np.triu(C), shifts, b)
    assert np.isnan(x[:, -1]).all()
    assert np.isfinite(x[:, :-1]).all()
