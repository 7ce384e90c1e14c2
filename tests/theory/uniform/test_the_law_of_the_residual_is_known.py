"""Nodes of the labels' law: moments of each noise law, corrupted labels, several indices; and the
matrix-valued measure of M that several indices need, against sampled matrices."""

import numpy as np
import pytest

from onegrad import Problem
from onegrad.problem import Law
from onegrad.theory.uniform.covariance import step_covariance
from onegrad.theory.uniform.laws.labels import LabelLaw
from onegrad.theory.uniform.residuals import binned, residual_law
from onegrad.theory.uniform.rules import noise_nodes

D = 200


def teacher(text):
    return Problem(n=9, d=9, N=9, teacher=text).teacher_function


@pytest.mark.parametrize(
    ("law", "fourth"),
    [(Law("rademacher"), 1.0), (Law("uniform"), 1.8), (Law("student-t", 12.0), 3.75)],
    ids=str,
)
def test_noise_has_the_moments_of_its_law(law, fourth):
    x, p = noise_nodes(law, 10**9)
    assert p @ x == pytest.approx(0.0, abs=1e-12)
    assert p @ x**2 == pytest.approx(1.0, rel=2e-3)
    assert p @ x**4 == pytest.approx(fourth, rel=3e-2)


def test_a_heavy_tail_is_cut_where_fewer_than_one_row_is_expected():
    few, many = (np.abs(noise_nodes(Law("student-t", 3.0), n)[0]).max() for n in (100, 10**6))
    assert 2 < few < 10 < many


@pytest.mark.parametrize("text", ["H1 + H2/2", "H1@1 + H1@1*H1@2 + H2@3/2"])
@pytest.mark.parametrize("replaced", [0.0, 0.4])
def test_moments_of_residual_and_indices(text, replaced):
    f = teacher(text)
    labels = LabelLaw(f, 0.5, Law("uniform"), replaced)
    law = residual_law(labels, 0.5, 10**7, 0.0)
    assert law.p.sum() == pytest.approx(1.0)
    assert law.p @ law.r**2 == pytest.approx(f.second_moment + 0.25, rel=5e-3)
    assert law.tau @ (law.p * law.r) == pytest.approx(labels.linear, abs=5e-3)
    assert law.tau_tau @ law.p == pytest.approx(np.eye(labels.indices), abs=5e-3)


def test_bins_keep_what_the_resolvent_sees():
    fine = residual_law(LabelLaw(teacher("H1 + H2/2"), 0.3), 0.3, 10**4, 0.0)
    coarse = binned(fine)
    assert len(coarse.r) < 257
    for z in (4 + 1j, -3 + 0.5j):
        for f, g in ((fine.tau_tau[0, 0], coarse.tau_tau[0, 0]), (fine.tau[0], coarse.tau[0])):
            exact = fine.p @ (fine.r * f / (fine.r - z))
            assert coarse.p @ (coarse.r * g / (coarse.r - z)) == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize(("text", "replaced"), [("H1@1 + H1@2*H1@3", 0.0), ("H1@1 + H2@2/2", 0.3)])
def test_the_measure_along_several_directions_is_that_of_sampled_matrices(text, replaced):
    """e_i^T M e_j and e_i^T M (1 + M^2)^-1 e_j along the indices without v, e orthonormal."""
    f, rows, noise = teacher(text), 8 * D, 0.3
    t = f.indices
    nodes = step_covariance(
        LabelLaw(f, noise, replaced=replaced), noise, D / rows, rows, False
    ).teacher
    weights = np.array([nodes.mu, nodes.mu / (1 + nodes.mu**2)])
    ours = (nodes.vector.T * weights[:, None]) @ nodes.vector
    assert nodes.vector.T @ nodes.vector == pytest.approx(np.eye(t), abs=1e-8)
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((rows, D))
        clean, other = f(X[:, :t]), f(rng.standard_normal((rows, t)))
        y = np.where(rng.random(rows) < replaced, other, clean) + noise * rng.standard_normal(rows)
        v = X.T @ y
        P = np.eye(D) - np.outer(v, v) / (v @ v)
        M = P @ (X.T * y) @ X @ P / rows
        values, vectors = np.linalg.eigh(P[:t, :t])
        E = P[:, :t] @ (vectors / np.sqrt(values)) @ vectors.T
        ME = M @ E
        found.append([E.T @ ME, E.T @ np.linalg.solve(np.eye(D) + M @ M, ME)])
    mean, se = np.mean(found, 0), np.std(found, 0) / np.sqrt(len(found))
    tolerance = 4 * se + 0.02
    assert (np.abs(ours - mean) < tolerance).all()
    apart = np.abs(mean - mean[:, :1, :1] * np.eye(t)).max((1, 2))
    assert (apart > 1.5 * tolerance.max((1, 2))).all(), "one measure for both would pass"
