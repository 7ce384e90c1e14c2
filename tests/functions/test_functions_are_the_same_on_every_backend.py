"""Every registered function, its slope and every Hermite sum, on NumPy and torch alike."""

import numpy as np
import pytest

from onegrad.arrays import to_numpy
from onegrad.functions.registry import REGISTRY, resolve

X = np.linspace(-4, 4, 81).reshape(9, 9)  # zero, a kink, among them
NAMES = [f"{name}{mode}" for name in REGISTRY for mode in (":raw", "", ":unit")]
TEACHERS = ["H2@1*H1@2 - H3@2/4", "1 + H1@1*H1@2:raw"]


@pytest.mark.parametrize("name", [*NAMES, "H1 + H2/2 - 0.1*H5:unit"])
def test_value_and_slope(name, each_backend):
    f = resolve(name)
    for g in (f, f.derivative):
        found = g(each_backend.asarray(X))
        assert type(found) is type(each_backend.zeros(1))
        np.testing.assert_allclose(to_numpy(found), g(X), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_value_and_slope_as_a_backend_applies_them(name, each_backend):
    f = resolve(name)
    x, y = each_backend.asarray(X[None]), each_backend.asarray(X[None, ::-1].copy())
    for g in (f, f.derivative):
        np.testing.assert_allclose(
            to_numpy(each_backend.apply(g, x))[0], g(X), rtol=1e-14, atol=1e-15
        )
        moved = to_numpy(each_backend.apply(g, x, y, 0.5))[0]
        np.testing.assert_allclose(moved, g(X + 0.5 * X[::-1]), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", TEACHERS)
def test_a_teacher_of_several_indices(name, each_backend):
    f, U = resolve(name, "teacher"), X[:, :2]
    np.testing.assert_allclose(to_numpy(f(each_backend.asarray(U))), f(U), rtol=1e-13, atol=1e-13)
