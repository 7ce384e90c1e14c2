"""Every registered function, its slope and every Hermite sum: on every backend, and in place."""

import pickle

import numpy as np

from onegrad.arrays import to_numpy
from onegrad.functions import REGISTRY, resolve

X = np.linspace(-4, 4, 81).reshape(9, 9)  # zero, a kink, among them
NAMES = [f"{name}{mode}" for name in REGISTRY for mode in (":raw", "", ":unit")]


def same(found, expected, name, rtol=1e-14):
    np.testing.assert_allclose(to_numpy(found), expected, rtol=rtol, atol=rtol, err_msg=name)


def test_value_and_slope_on_every_backend(each_backend):
    x, y = each_backend.asarray(X[None]), each_backend.asarray(X[None, ::-1].copy())
    for name in [*NAMES, "H1 + H2/2 - 0.1*H5:unit"]:
        f = resolve(name)
        for g in (f, f.derivative):
            assert type(g(x)) is type(x), name
            same(g(x)[0], g(X), name)
            same(each_backend.apply(g, x)[0], g(X), name)
            same(each_backend.apply(g, x, y, 0.5)[0], g(X + 0.5 * X[::-1]), name)
    for name in ("H2@1*H1@2 - H3@2/4", "1 + H1@1*H1@2:raw"):
        f, U = resolve(name, "teacher"), X[:, :2]
        same(f(each_backend.asarray(U)), f(U), name, rtol=1e-13)


def test_same_values_in_place():
    for name in NAMES:
        f = resolve(name)
        for g in (f, f.derivative):
            x, out = X.copy(), np.full_like(X, np.nan)
            assert g(x, out=out) is out, name  # type: ignore[call-arg]
            same(out, g(X), name, rtol=1e-15)
            g(x, out=x)  # type: ignore[call-arg]  # out may be x
            np.testing.assert_array_equal(x, out, err_msg=name)


def test_homogeneous_functions_are():
    homogeneous = {name for name in REGISTRY if resolve(f"{name}:raw").homogeneous}
    assert homogeneous == {"relu", "leaky_relu"}
    for name in homogeneous:
        f = resolve(f"{name}:raw")
        np.testing.assert_allclose(f(3 * X), 3 * f(X), rtol=1e-15)
        assert not resolve(name).homogeneous  # centred


def test_what_a_function_knows_is_part_of_its_value():
    assert resolve("relu:raw") == resolve("relu:raw")
    assert hash(resolve("tanh")) == hash(resolve("tanh"))
    assert resolve("erf:unit").value_in_place is REGISTRY["erf"].value_in_place  # scaling keeps it
    for f in REGISTRY.values():
        assert pickle.loads(pickle.dumps(f)) == f, f.name
