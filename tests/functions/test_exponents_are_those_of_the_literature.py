"""Exponents that the literature states, and what must hold for all teachers."""

from __future__ import annotations

import numpy as np
import pytest

import onegrad as og
from onegrad.functions import REGISTRY


def test_known_teachers():
    for teacher, information, generative in (
        ("H1", 1, 1),
        ("H2", 2, 2),
        ("H3", 3, 1),  # odd polynomials have generative exponent 1, even ones 2
        ("H4", 4, 2),
        ("H5", 5, 1),
        ("H4 + 0.5*H3", 3, 1),
        ("relu", 1, 1),
        ("cos", 2, 2),
        ("H1@1*H1@2", 2, 2),
        ("H1@1*H1@2*H1@3", 3, 2),
        ("H2@1*H1@2", 3, 1),
    ):
        found = og.exponents(teacher)
        assert (found.information, found.generative) == (information, generative), teacher


def test_a_generative_exponent_of_four():
    # Damian et al. 2024: no function of y = z^2 exp(-z^2) has a part of degree 2
    f = og.Function(
        "z^2 exp(-z^2)",
        lambda z: z**2 * np.exp(-(z**2)),
        lambda z: (2 * z - 2 * z**3) * np.exp(-(z**2)),
    )
    found = og.exponents(f)
    assert (found.information, found.generative) == (4, 4)


def test_functions_of_a_label_see_at_least_what_the_label_has():
    for teacher in REGISTRY:
        found = og.exponents(teacher)
        assert found.generative <= found.information == found.one_step, teacher


def test_the_step_sees_what_teacher_and_activation_share():
    assert og.exponents("H3 + 0.1*H2").one_step == 2
    assert og.exponents("H3 + 0.1*H2", activation="tanh").one_step == 3
    assert og.exponents("H2", activation="tanh").one_step is None


def test_what_has_no_exponents_says_so():
    with pytest.raises(og.OutOfScope, match="all zero"):
        og.exponents("0*H1")
    with pytest.raises(og.OutOfScope, match="indices"):
        og.exponents("H1@1 + H1@2 + H1@3 + H1@4*H1@1")
    with pytest.raises(og.InvalidInput, match="activation"):
        og.exponents("H1", activation="H1@1*H1@2")
