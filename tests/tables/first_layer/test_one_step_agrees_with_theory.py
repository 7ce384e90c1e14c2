"""The one-step estimator, fitted as scikit-learn would, has the test error that theory predicts."""

import numpy as np
import pytest

import onegrad as og

RELU = og.Problem(
    n=1200, d=300, N=500, activation="relu", teacher="tanh", noise=0.3, ridge=0.05, alpha=0.2
)
TANH = RELU.replace(activation="tanh", teacher="H1 + H2/sqrt(2)", noise=0.5, alpha=0.25)


def rows(problem, n, rng):
    X = rng.standard_normal((n, problem.d))
    return X, problem.sigma_star(X[:, 0]) + problem.noise * rng.standard_normal(n)


def errors(problem, seeds):
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        model = og.OneStepRegressor.literal(problem, random_state=seed)
        model.fit(*rows(problem, problem.n_step + problem.n, rng))
        assert model.n_rows_ == problem.n
        assert model.choice_["step_rows"] == problem.n_step
        X, y = rows(problem, 8000, rng)
        found.append(np.mean((model.predict(X) - y) ** 2))
    return np.array(found)


def agrees(problem, seeds):
    """Mean within 2 % and 3 standard errors of the prediction, which is far from the untrained."""
    found = errors(problem, seeds)
    predicted = og.predict(problem).test
    error = found.std(ddof=1) / np.sqrt(seeds)
    assert abs(found.mean() / predicted - 1) < 0.02
    assert abs(found.mean() - predicted) < 3 * error
    untrained = og.predict(problem.replace(eta=0.0)).test
    assert abs(found.mean() - untrained) > 3 * error


@pytest.mark.full
def test_relu():
    agrees(RELU, 10)


@pytest.mark.slow
@pytest.mark.parametrize("problem", [RELU, TANH], ids=["relu", "tanh"])
def test_many_seeds(problem):
    agrees(problem, 60)
