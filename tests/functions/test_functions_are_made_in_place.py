import numpy as np
import pytest

from onegrad.functions import REGISTRY, resolve

X = np.linspace(-4, 4, 81).reshape(9, 9)  # zero, a kink, among them


@pytest.mark.parametrize("name", [f"{f}{mode}" for f in REGISTRY for mode in (":raw", "", ":unit")])
def test_same_values_with_and_without_out(name):
    f = resolve(name)
    for g in (f, f.derivative):
        x, out = X.copy(), np.full_like(X, np.nan)
        assert g(x, out=out) is out  # type: ignore[call-arg]
        np.testing.assert_allclose(out, g(X), rtol=1e-15, atol=1e-15)
        g(x, out=x)  # type: ignore[call-arg]  # out may be x
        np.testing.assert_array_equal(x, out)


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
