"""The drops of one constant-size step against networks sampled here, for both residuals.

The formula is the limit n -> infinity; at n = 1200 the drops are allowed 3 standard errors plus
2 %, together less than a wrong factor of 1.1 would miss by. What moves a drop most is how much of
the teacher's direction the neurons see, |W e_1|^2: the mean is taken where it is as expected. The
term linear in eta, of mean zero, cancels between a and -a. At eta = 1.5, treating the full residual
like the labels (Q = s^2 b^2) would be 27 % off.
"""

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.asymptotic import small_step
from onegrad.theory.asymptotic.scalars import Scalars
from replicates import at_expected


def errors(p, W, sample):
    """Ridge objective and test error of the features of W."""
    X, y, X_test, y_test = sample
    F = p.sigma(X @ W.T)
    gram = F.T @ F / p.n + p.ridge * np.eye(p.N)
    readout = np.linalg.solve(gram, F.T @ y / p.n)
    train = np.mean((y - F @ readout) ** 2) + p.ridge * readout @ readout
    return np.array([train, np.mean((y_test - p.sigma(X_test @ W.T) @ readout) ** 2)])


def drops(p, seed):
    """Drops of train and test error, averaged over a and -a; and |W e_1|^2."""
    rng = np.random.default_rng(seed)

    def rows(count):
        X = rng.standard_normal((count, p.d))
        return X, p.sigma_star(X[:, 0]) + p.noise * rng.standard_normal(count)

    W = rng.standard_normal((p.N, p.d)) / np.sqrt(p.d)
    a = rng.standard_normal(p.N) / np.sqrt(p.N)
    X, y = rows(p.n_step)
    Z = X @ W.T
    sample = (*rows(p.n), *rows(3000))

    def after(a):
        residual = y - p.sigma(Z) @ a if p.residual == "full" else y
        G = (np.outer(residual, a) * p.sigma.derivative(Z)).T @ X / p.n_step
        return errors(p, W + p.eta * G, sample)

    return [*(errors(p, W, sample) - (after(a) + after(-a)) / 2), W[:, 0] @ W[:, 0]]


@pytest.mark.slow
@pytest.mark.parametrize("residual", ["labels", "full"])
@pytest.mark.parametrize("eta", [1.5, 4.0])
def test_drops(residual, eta):
    p = og.Problem(
        n=1200, d=400, N=600, n_step=2400, activation="erf", teacher="H1", noise=0.5, ridge=0.05,
        eta=eta, residual=residual,
    )  # fmt: skip
    seeds = np.array([drops(p, seed) for seed in range(40)])
    predicted = small_step.small_step_drops(Scalars.of([p]))
    for i, value in enumerate((predicted.train[0], predicted.test[0])):
        mean, se = at_expected(seeds[:, i], seeds[:, 2], p.N / p.d)
        tolerance = 3 * se + 0.02 * mean
        assert abs(value - mean) < tolerance
        assert tolerance < 0.09 * mean, "too few replicates to see a wrong factor"
