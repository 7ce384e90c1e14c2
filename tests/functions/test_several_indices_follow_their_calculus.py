"""Derivatives, squares and conditional means of functions of several indices, by sampling-free
quadrature over the indices."""

import numpy as np
import pytest

from onegrad import OutOfScope, Problem
from onegrad.functions import MultiIndex, index_calculus
from onegrad.functions.hermite import gauss_hermite

TEACHERS = ["H1@1 + H1@1*H1@2", "2 + H2@1*H1@2 - H3@2/3", "0.6*H1@1 + 0.8*H1@2 + H2@1/2"]


def teacher(text):
    return Problem(n=4, d=4, N=4, teacher=text).teacher_function


def grid(k=12):
    x, p = gauss_hermite(k)
    u = np.stack(np.meshgrid(x, x, indexing="ij"), -1).reshape(-1, 2)
    return u, np.outer(p, p).ravel()


def value(terms, u):
    return MultiIndex("", terms)(u)


@pytest.mark.parametrize("text", TEACHERS)
def test_linear_part_mean_and_energies(text):
    f, (u, p) = teacher(text), grid()
    y = f(u)
    linear = index_calculus.linear_part(f)
    assert linear == pytest.approx(p @ (u * y[:, None]), abs=1e-12)
    assert index_calculus.mean_of(f) == pytest.approx(p @ y, abs=1e-12)
    assert f.second_moment == pytest.approx(p @ y**2)
    assert f.variance == pytest.approx(p @ y**2 - (p @ y) ** 2)
    assert f.nonlinear_energy == pytest.approx(p @ y**2 - (p @ y) ** 2 - linear @ linear)


@pytest.mark.parametrize("text", TEACHERS)
def test_derivatives_and_squares(text):
    f, (u, _) = teacher(text), grid(5)
    h = 1e-5
    for i in (1, 2):
        step = h * np.eye(2)[i - 1]
        slope = (f(u + step) - f(u - step)) / (2 * h)
        assert value(index_calculus.derivative(f.terms, i), u) == pytest.approx(slope, abs=1e-6)
    assert value(index_calculus.square(f.terms), u) == pytest.approx(f(u) ** 2, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("text", TEACHERS)
def test_the_mean_given_an_index_is_that_of_the_rest(text):
    """u = theta kappa + (I - theta theta^T)^(1/2) z."""
    f, (z, p) = teacher(text), grid()
    overlaps, kappa = np.array([0.5, -0.3]), np.array([-1.5, 0.2, 2.0])
    values, vectors = np.linalg.eigh(np.eye(2) - np.outer(overlaps, overlaps))
    root = (vectors * np.sqrt(values)) @ vectors.T
    exact = [p @ f(overlaps * k + z @ root) for k in kappa]
    assert index_calculus.conditional_mean(f.terms, overlaps, kappa) == pytest.approx(
        exact, abs=1e-10
    )


def test_a_square_of_too_many_terms_is_refused():
    high = "*".join(f"H5@{i}" for i in range(1, 9))
    with pytest.raises(OutOfScope, match="teacher"):
        index_calculus.square(Problem(n=9, d=9, N=9, teacher=high).teacher_function.terms)


def test_a_function_of_other_indices_has_the_same_values():
    f = teacher("x1*x2 + H3@1/2 + H2@3")
    rng = np.random.default_rng(0)
    root, z = np.tril(rng.standard_normal((3, 3))), rng.standard_normal((20, 3))
    turned = index_calculus.of_other_indices(f, root)
    np.testing.assert_allclose(turned(z), f(z @ root.T), atol=1e-10)
