"""Products of half-precision numbers, on torch's CPU: as many bits as they promise."""

import numpy as np
import pytest

from onegrad.arrays import get_ops, to_numpy
from onegrad.arrays import tensor_core_ops as tensor_cores

pytestmark = pytest.mark.torch

BITS = 2.0**-11  # of the sum of all absolute terms


@pytest.fixture
def ops():
    return get_ops("torch", precision="fast")


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32).astype(float)


def test_a_product_has_the_bits_of_its_precision(ops):
    X, W = normal(2, 50, 300), normal(2, 40, 300, seed=1) / 17
    found = to_numpy(ops.product(ops.asarray(X), ops.asarray(W)))
    terms = np.abs(X) @ np.abs(W).swapaxes(1, 2)
    error = np.max(np.abs(found - X @ W.swapaxes(1, 2)) / terms)
    assert 2.0**-20 < error < BITS


def test_the_lower_halves_of_readouts_and_labels_are_not_lost(ops):
    """a = h(a) + h(a - h(a)): without the second term a product has 11 bits."""
    one, a = ops.asarray(np.ones((1, 1, 1))), ops.asarray([[[1 + 2.0**-12 + 2.0**-20]]])
    high, low = tensor_cores._halves(a)
    assert float(high) == 1 and float(high.double() + low.double()) == float(a)
    c = ops.zeros(1, 1)
    ops.add_weighted_rows(c, a[0], one)
    assert float(c) == float(a) and float(ops.product(a, one)) == 1.0
    both = ops.asarray([[[1.0, float(a)]]])
    assert float(ops.read_out(one, both)[..., 1]) == pytest.approx(float(a), rel=2.0**-22)


@pytest.mark.parametrize("over_rows", [False, True])
def test_gram_matrices_of_any_number_of_rows(ops, over_rows, monkeypatch):
    monkeypatch.setattr(tensor_cores, "SUMMED_TERMS", 64)  # several sums
    A = normal(2, 150, 130)
    left = A if over_rows else A.swapaxes(1, 2)  # C = left left^T
    expected, absolute = (x @ x.swapaxes(1, 2) for x in (left, np.abs(left)))
    C = ops.zeros(*expected.shape)
    ops.add_gram(C, ops.asarray(A), over_rows)
    error = np.triu(to_numpy(C) - expected) / absolute
    assert np.abs(error).max() < BITS


def test_moments_and_predictions_are_those_of_one_matrix(ops):
    """Gram matrix, F^T y and F a are those of the features rounded to half precision."""
    F, y, a = normal(1, 200, 60), normal(1, 200, seed=1), normal(1, 60, 3, seed=2) * 1e4
    rounded = F.astype(np.float16).astype(float)
    C, c = ops.zeros(1, 60, 60), ops.zeros(1, 60)
    ops.add_gram(C, ops.asarray(F))
    ops.add_weighted_rows(c, ops.asarray(y), ops.asarray(F))
    np.testing.assert_allclose(
        np.triu(to_numpy(C)[0]), np.triu(rounded[0].T @ rounded[0]), rtol=1e-5, atol=1e-4
    )
    np.testing.assert_allclose(to_numpy(c)[0], y[0] @ rounded[0], rtol=1e-5, atol=1e-4)
    found = to_numpy(ops.read_out(ops.asarray(F), ops.asarray(a)))
    np.testing.assert_allclose(found, rounded @ a, rtol=1e-5, atol=1.0)


def test_the_diagonal_of_a_gram_matrix_is_a_sum_of_its_own(ops):
    A = np.tanh(normal(1, 3000, 130)).astype(np.float16).astype(float)
    C = ops.zeros(1, 130, 130)
    C += 2.0
    ops.add_gram(C, ops.asarray(A))
    diagonal = np.diagonal(to_numpy(C)[0])
    np.testing.assert_allclose(diagonal, 2 + (A[0] ** 2).sum(0), rtol=1e-6)


def test_settings_of_torch_stay_as_they_are(ops):
    import torch

    def settings():
        return torch.backends.cuda.matmul.allow_tf32, torch.get_float32_matmul_precision()

    before = settings()
    X = ops.asarray(normal(1, 20, 10))
    ops.product(X, X)
    ops.add_gram(ops.zeros(1, 10, 10), X)
    assert settings() == before
