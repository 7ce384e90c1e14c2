"""The sampling-free nodes of M and S against matrices drawn from the definition."""

import numpy as np
import pytest

from onegrad import Problem
from onegrad.theory.uniform.covariance import covariance

D = 250


def sampled(teacher, noise, phi, squared, seeds):
    """Averages over seeds of what the nodes integrate; traces, then the teacher's direction."""
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
        root = np.linalg.inv(4 * np.eye(D) + M @ M)
        rows.append(
            [
                np.trace(M @ M) / D,
                np.trace(M @ M @ M) / D,
                np.trace(S) / D,
                np.trace(S @ M) / D,
                np.trace(root) / D,
                e @ M @ e,
                e @ M @ M @ e,
                e @ S @ e,
                e @ S @ M @ e,
                e @ root @ e,
            ]
        )
    rows = np.array(rows)
    return rows.mean(0), rows.std(0) / np.sqrt(seeds)


@pytest.mark.parametrize(
    "teacher, noise, phi, squared",
    [
        ("H1", 1.0, 0.5, True),
        ("H1 + H2/sqrt(2)", 0.0, 0.5, False),
        ("relu", 0.2, 2.0, False),
        ("tanh", 0.1, 0.2, True),
    ],
)
def test_nodes_integrate_like_sampled_matrices(teacher, noise, phi, squared):
    f = Problem(n=2, d=2, N=2, teacher=teacher).sigma_star
    mean, se = sampled(f, noise, phi, squared, seeds=16)
    nodes_of = covariance(f, noise, phi, round(D / phi), squared)
    nodes = []
    for m in (nodes_of.trace, nodes_of.teacher):
        moments = [m.mu**2, m.mu**3, m.s, m.s * m.mu, 1 / (4 + m.mu**2)]
        if m is nodes_of.teacher:
            moments[:2] = [m.mu, m.mu**2]
        nodes += [m.weight @ x for x in moments]
        assert m.weight.sum() == pytest.approx(1, abs=1e-9)
        assert m.weight.min() > 0
    # one of D directions is v itself, and the tails of the labels' law are cut: a few percent
    assert (np.abs(nodes - mean) <= 4 * se + 0.03 * np.abs(mean) + 1e-3).all()
