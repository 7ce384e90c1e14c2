"""Exponents that the literature states, what must hold for all teachers, degrees out of reach."""

import warnings
from itertools import product

import numpy as np
import pytest

import onegrad as og
from onegrad.functions import REGISTRY, resolve
from onegrad.functions.teacher_exponents import unreachable_degrees


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


def test_predict_and_simulate_warn_of_degrees_out_of_reach():
    for run, activation in product(
        (og.predict, lambda p: og.simulate(p, seeds=2)), ("relu", "elu")
    ):
        problem = og.Problem(n=60, d=20, N=30, alpha=0.2, activation=activation)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run(problem.replace(teacher="H1 + H3/sqrt(6)"))
        texts = [str(w.message) for w in caught if "without biases" in str(w.message)]
        assert len(texts) == (activation == "relu")  # elu has a part of degree 3
        for text in texts:
            assert "relu without biases cannot represent degree 3 of the teacher" in text
            assert "50 %" in text


def test_exponents_list_degrees_out_of_reach():
    for teacher, activation, degrees in (
        ("H3", "relu", (3,)),
        ("H3", "softplus", (3,)),
        ("H3", "gelu", (3,)),
        ("H3", "tanh", ()),
        ("H3", "elu", ()),
        ("H2 + H3", "tanh", (2,)),
        ("H1@1*H1@2", "tanh", (2,)),
        ("H1@1*H1@2", "relu", ()),
        ("H2", "H1 + H4", ()),  # H4 of a weight that is not of unit length has a part H2
        ("H5", "H1 + H4", (5,)),
    ):
        found = og.exponents(teacher, activation=activation).out_of_reach
        assert found == degrees, (teacher, activation)


@pytest.mark.parametrize("activation", ["relu", "tanh", "elu", "H1 + H4"])
def test_least_squares_on_many_random_features_agrees(activation):
    """Many features in two dimensions fit nothing of a degree that is out of reach."""
    rng = np.random.default_rng(0)
    sigma, x = resolve(activation), rng.normal(size=(20_000, 2))
    W = rng.normal(size=(200, 2)) * rng.choice([0.7, 1.0, 1.5], size=(200, 1))
    F = np.column_stack([sigma(x @ W.T), np.ones(len(x))])
    for k in (1, 2, 3):
        teacher = resolve(f"H{k}", "teacher")
        y = teacher(x[:, 0])
        penalty = 1e-6 * np.eye(F.shape[1]) * np.trace(F.T @ F) / F.shape[1]
        a = np.linalg.solve(F.T @ F + penalty, F.T @ y)
        unfitted = np.mean((y - F @ a) ** 2) / np.mean(y**2)
        assert (unfitted > 0.9) == bool(unreachable_degrees(teacher, sigma)), (k, unfitted)
