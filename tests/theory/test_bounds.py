"""tau*, the kernel lower bound and Theorem 7 beyond the tabulated values."""

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.bounds import kernel_lower_bound, tau_star, theorem7_bound


def test_a_linear_neuron_leaves_the_nonlinear_part():
    """E_z sigma(kappa x + z) = kappa x, so tau* is the kernel bound."""
    found = tau_star("H1", "relu:unit")
    assert found.tau == pytest.approx(kernel_lower_bound("relu:unit"), rel=1e-9)
    assert found.kappa == pytest.approx(0.856429, rel=1e-6)


def test_quadratic_neurons_by_hand():
    """sigma = He_2: E_z He_2(kappa x + z) = kappa^2 x^2, against the teacher He_2."""
    found = tau_star("H2", "H2")
    # min over t = kappa^2 of E(x^2 - 1 - t x^2)^2 = 3 (1-t)^2 - 2 (1-t) + 1: 1 - t = 1/3
    assert found.tau == pytest.approx(2 / 3, rel=1e-9)
    assert found.kappa**2 == pytest.approx(2 / 3, rel=1e-6)


def test_theorem_7_separates_its_two_terms():
    bound = theorem7_bound("tanh", "tanh", ratio=0.01, C=2.0)
    tau = tau_star("tanh", "tanh").tau
    assert bound == pytest.approx(10 * tau + 2 * (np.sqrt(tau * 0.01) + 0.01), rel=1e-12)
    # Corollary 8: for large n/d one step beats every kernel
    assert theorem7_bound("tanh", "tanh", ratio=1e-6, C=1.0) < kernel_lower_bound("tanh")
    assert theorem7_bound("erf", "erf", ratio=1e-3, C=1.0) == pytest.approx(1e-3, rel=1e-4)


@pytest.mark.parametrize(("ratio", "C", "name"), [(0.0, 1.0, "ratio"), (0.1, -1.0, "C")])
def test_bad_arguments_are_named(ratio, C, name):
    with pytest.raises(og.InvalidInput, match=f"^{name} must be a finite number > 0"):
        theorem7_bound("tanh", "tanh", ratio=ratio, C=C)


def test_several_indices_have_a_kernel_bound_and_no_single_neuron():
    assert kernel_lower_bound("H1@1 + H1@1*H1@2 + 0.5*H2@2") == pytest.approx(1.5)
    with pytest.raises(og.OutOfScope, match="teacher: the single-neuron theory covers functions"):
        tau_star("tanh", "H1@1*H1@2")
