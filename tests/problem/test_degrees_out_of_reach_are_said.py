"""A network without biases has no degree that its activation lacks: predict and simulate say so."""

import warnings

import numpy as np
import pytest

import onegrad as og
from onegrad.functions import resolve
from onegrad.functions.teacher_exponents import unreachable_degrees

IMPOSSIBLE = {"activation": "relu", "teacher": "H1 + H3/sqrt(6)"}
POSSIBLE = {"activation": "elu", "teacher": "H1 + H3/sqrt(6)"}
SIZES = {"n": 60, "d": 20, "N": 30, "alpha": 0.2}


def notes(run, problem):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(problem)
    return [str(w.message) for w in caught if "without biases" in str(w.message)]


def test_predict_and_simulate_warn():
    for run in (og.predict, lambda p: og.simulate(p, seeds=2)):
        (text,) = notes(run, og.Problem(**SIZES, **IMPOSSIBLE))
        assert "relu without biases cannot represent degree 3 of the teacher" in text
        assert "50 %" in text
        assert not notes(run, og.Problem(**SIZES, **POSSIBLE))


def test_exponents_list_them():
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
