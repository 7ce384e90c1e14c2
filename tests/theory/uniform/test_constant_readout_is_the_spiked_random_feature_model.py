"""Equal readouts: one kind of neuron, whose equations close in scalars.

Independent of the package: the fixed point for one neuron type in an isotropic bulk (spiked random
features, Cui et al. 2024), solved by scalar iteration, its test error by differences in the labels'
weights. As n and the rows of the step grow, which make the bulk round, the uniform theory must
become it, up to what lengths and steps along a neuron's own weight add (a few 1e-4 here).
"""

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss

from onegrad import Problem
from uniform_point import uniform_point

K = 24


def gauss(k):
    x, w = hermegauss(k)
    return x, w / w.sum()


def spiked_random_features(problem):
    """(train, test) of tanh with tanh labels at gamma = eta/sqrt(N), all neurons alike."""
    n, d, N, lam = problem.n, problem.d, problem.N, problem.ridge
    z, wz = gauss(120)
    sigma, slope = np.tanh(z), 1 - np.tanh(z) ** 2
    c1, energy = wz @ (sigma * z), wz @ sigma**2 + problem.noise**2
    phi0 = d / problem.n_step
    gamma = problem.eta / np.sqrt(N)
    b = np.sqrt(c1**2 + phi0 * energy)
    theta, t = c1 / b, gamma * c1 * b
    kappa = 1 + gamma**2 * (wz @ slope**2 - c1**2) * phi0 * energy
    x, p = gauss(K)
    f = np.tanh(t * x[:, None] + np.sqrt(kappa) * z)
    A, B = f @ wz, f @ (wz * z) / np.sqrt(kappa)
    C2 = f**2 @ wz - A**2 - kappa * B**2
    y = np.tanh(theta * x[:, None] + np.sqrt(1 - theta**2) * z)
    Y0, Y1 = y @ wz, y @ (wz * z)
    Y2 = y**2 @ wz - Y0**2 - Y1**2 + problem.noise**2

    def delta(pi):
        D, size, value = lam + pi @ C2, kappa * (pi @ B**2), 1.0
        for _ in range(500):
            value = D + size / (1 + N / d * size / value)
        return value, 1 / (1 + N / d * size / value)

    def chi(pi):
        value, shrink = delta(pi)
        return N / n * (C2 + kappa * B**2 * shrink) / value

    def objective(pi):
        value, shrink = delta(pi)
        s = N / d * kappa / value
        along = (pi * B) @ Y1
        linear = pi @ Y1**2 - s * shrink * along**2
        # functions of the index: A, and x B from the initial weight along v, of variance kappa/d
        H = np.stack([np.sqrt(N) * A, np.sqrt(N / d * kappa) * x * B])
        inner = value * np.eye(2) + (H * pi) @ H.T
        mean = pi @ Y0**2 - (H * pi) @ Y0 @ np.linalg.solve(inner, (H * pi) @ Y0)
        return linear + mean + pi @ Y2

    pi = p / 2
    for _ in range(3000):
        pi = np.sqrt(pi * p / (1 + chi(pi)))
    h = 1e-5
    slope_, J = np.zeros(K), np.zeros((K, K))
    for k in range(K):
        step = np.zeros(K)
        step[k] = h * pi[k]
        slope_[k] = (objective(pi + step) - objective(pi - step)) / (2 * h * pi[k])
        J[:, k] = (chi(pi + step) - chi(pi - step)) / (2 * h * pi[k])
    T = np.linalg.solve(np.eye(K) + J * (pi**2 / p), slope_)
    return objective(pi), p @ T


@pytest.mark.parametrize("n_step", [4 * 10**8, 10**9])
def test_constant_readout_is_the_spiked_random_feature_model(n_step):
    problem = Problem(
        n=10**8, d=5 * 10**7, N=7 * 10**7, activation="tanh", teacher="tanh", noise=0.2,
        ridge=0.03, eta=0.9 * np.sqrt(7e7), n_step=n_step, readout="constant",
    )  # fmt: skip
    train, test = spiked_random_features(problem)
    ours = uniform_point(problem, rtol=1e-7)
    assert ours.train == pytest.approx(train, rel=5e-4)
    assert ours.test == pytest.approx(test, rel=5e-4)
