"""The drops of one constant-size step against networks sampled here, for both residuals.

The formula is the limit n -> infinity; at n = 1200 the drops are allowed 4 standard errors plus
6 %. At eta = 1.5, treating the full residual like the labels (Q = s^2 b^2) would be 27 % off.
"""

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.asymptotic import small_step
from onegrad.theory.asymptotic.scalars import Scalars


def errors(p, W, sample):
    """Ridge objective and test error of the features of W."""
    X, y, X_test, y_test = sample
    F = p.sigma(X @ W.T)
    gram = F.T @ F / p.n + p.ridge * np.eye(p.N)
    readout = np.linalg.solve(gram, F.T @ y / p.n)
    train = np.mean((y - F @ readout) ** 2) + p.ridge * readout @ readout
    return np.array([train, np.mean((y_test - p.sigma(X_test @ W.T) @ readout) ** 2)])


def drop(p, seed):
    rng = np.random.default_rng(seed)

    def rows(count):
        X = rng.standard_normal((count, p.d))
        return X, p.sigma_star(X[:, 0]) + p.noise * rng.standard_normal(count)

    W = rng.standard_normal((p.N, p.d)) / np.sqrt(p.d)
    a = rng.standard_normal(p.N) / np.sqrt(p.N)
    X, y = rows(p.n_step)
    Z = X @ W.T
    residual = y - p.sigma(Z) @ a if p.residual == "full" else y
    G = (np.outer(residual, a) * p.sigma.derivative(Z)).T @ X / p.n_step
    sample = (*rows(p.n), *rows(6000))
    return errors(p, W, sample) - errors(p, W + p.eta * G, sample)


@pytest.mark.slow
@pytest.mark.parametrize("residual", ["labels", "full"])
@pytest.mark.parametrize("eta", [1.5, 4.0])
def test_drops(residual, eta):
    p = og.Problem(
        n=1200, d=400, N=600, n_step=2400, activation="erf", teacher="H1", noise=0.5, ridge=0.05,
        eta=eta, residual=residual,
    )  # fmt: skip
    seeds = np.array([drop(p, seed) for seed in range(20)])
    mean, error = seeds.mean(0), seeds.std(0, ddof=1) / np.sqrt(len(seeds))
    predicted = small_step.drops(Scalars.of([p]))
    assert abs(predicted.train[0] - mean[0]) < 4 * error[0] + 0.06 * mean[0]
    assert abs(predicted.test[0] - mean[1]) < 4 * error[1] + 0.06 * mean[1]
