"""The sampling-free nodes of M and S: exact moments, and matrices drawn from the definition."""

import numpy as np
import pytest
from scipy.special import erfcinv

from onegrad import Problem
from onegrad.theory.uniform.covariance import step_covariance
from onegrad.theory.uniform.laws.labels import LabelLaw

D = 250
CASES = [
    ("H1", 1.0, 0.5, True),
    ("H1 + H2/sqrt(2)", 0.0, 0.5, False),
    ("relu", 0.2, 2.0, False),
    ("tanh", 0.1, 0.2, True),
]


def law(teacher, noise, rows):
    """(z, r, p) on a fine grid: standard normals cut where 1/rows is left, of unit variance."""
    edge = np.sqrt(2) * erfcinv(1 / rows)
    x = edge * np.linspace(-1, 1, 1201)
    p = np.exp(-x * x / 2) / np.exp(-x * x / 2).sum()
    x = x / np.sqrt(p @ x**2)
    r = teacher(x)[:, None] + noise * x  # index, noise
    return np.broadcast_to(x[:, None], r.shape), r, np.outer(p, p)


@pytest.mark.parametrize(("teacher", "noise", "phi", "squared"), CASES)
def test_moments_are_those_of_free_probability(teacher, noise, phi, squared):
    """The free cumulants of M are phi^(k-1) E w^k; its forms in the teacher's direction follow.

    There h.x = c_1 z + phi r + G, G of variance phi E r^2, and e is the teacher's direction
    without its part along h.
    """
    f, rows = Problem(n=2, d=2, N=2, teacher=teacher).sigma_star, round(D / phi)
    nodes = step_covariance(LabelLaw(f, noise), noise, phi, rows, squared)
    z, r, p = law(f, noise, rows)
    w = r * r if squared else r

    def mean(x):
        return np.sum(p * x)

    w1, w2, w3 = mean(w), mean(w * w), mean(w**3)
    exact = [
        w1,
        w1**2 + phi * w2,
        w1**3 + 3 * phi * w1 * w2 + phi**2 * w3,
        mean(r * r),
        mean(r * r) * w1 + phi * mean(r * r * w),
    ]
    m = nodes.trace
    found = [m.weight @ x for x in (m.mu, m.mu**2, m.mu**3, m.s, m.s * m.mu)]

    c1, energy = mean(r * z), mean(r * r)
    b2 = c1**2 + phi * energy
    known = c1 * z + phi * r

    def along_e(weight):
        form = mean(weight * z * z) - 2 * c1 / b2 * mean(weight * z * known)
        form += (c1 / b2) ** 2 * mean(weight * (known**2 + phi * energy))
        return form / (1 - c1**2 / b2)

    exact += [along_e(w), along_e(r * r)]
    found += [nodes.teacher.weight @ x for x in (nodes.teacher.mu, nodes.teacher.s)]
    assert found == pytest.approx(exact, rel=5e-3, abs=2e-3)  # 32 nodes see a kink


def sampled(teacher, noise, phi, squared, t, seeds):
    """Means and standard errors of smooth forms of M and S: traces, then along the teacher."""
    rows = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        n = round(D / phi)
        X = rng.standard_normal((n, D))
        y = teacher(X[:, 0]) + noise * rng.standard_normal(n)
        v = X.T @ y
        P = np.eye(D) - np.outer(v, v) / (v @ v)
        weight = y * y if squared else y
        M, S = (P @ (X.T * w) @ X @ P / n for w in (weight, y * y))
        e = P[:, 0] / np.linalg.norm(P[:, 0])
        R = np.linalg.inv(t * np.eye(D) + M @ M)
        forms = [np.eye(D) - t * R, S @ R]
        rows.append([*(np.trace(A) / D for A in forms), *(e @ A @ e for A in forms)])
    return np.mean(rows, 0), np.std(rows, 0, ddof=1) / np.sqrt(seeds)


@pytest.mark.parametrize(("teacher", "noise", "phi", "squared"), CASES)
def test_nodes_integrate_like_sampled_matrices(teacher, noise, phi, squared):
    f = Problem(n=2, d=2, N=2, teacher=teacher).sigma_star
    bulk = step_covariance(LabelLaw(f, noise), noise, phi, round(D / phi), squared)
    t = 4 * (bulk.trace.weight @ bulk.trace.mu**2)  # smooth on the scale of the spectrum
    mean, se = sampled(f, noise, phi, squared, t, seeds=40)
    nodes = []
    for m in (bulk.trace, bulk.teacher):
        nodes += [m.weight @ x for x in (m.mu**2 / (t + m.mu**2), m.s / (t + m.mu**2))]
        assert m.weight.sum() == pytest.approx(1, abs=1e-9)
        assert m.weight.min() > 0
    # one of D directions is v itself, and the tails of the labels' law are cut: a few percent
    tolerance = 4 * se + 0.03 * mean
    assert (np.abs(nodes - mean) < tolerance).all()
    assert (tolerance < 0.1 * mean)[:2].all(), "too few matrices to see a wrong factor"
