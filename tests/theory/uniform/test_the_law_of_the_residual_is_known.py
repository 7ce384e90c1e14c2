"""Nodes of the labels' law: moments of each noise law, corrupted labels, several indices."""

import numpy as np
import pytest

from onegrad import Problem
from onegrad.problem import Law
from onegrad.theory.uniform.laws.rows import points_of_step, row_sizes
from onegrad.theory.uniform.laws.table import laws_of
from onegrad.theory.uniform.rules import noise_nodes
from onegrad.theory.uniform.step import take_step


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
    problem = Problem(
        n=10**7, d=4 * 10**6, N=100, teacher=text, noise=0.5, noise_law="uniform",
        corrupted=replaced, alpha=0.1,
    )  # fmt: skip
    step = take_step(laws_of(problem)[0])
    (law,), f = points_of_step(step, row_sizes(step.inputs, 0.0), None), problem.teacher_function
    indices = law.primitives[: step.indices]
    assert law.p.sum() == pytest.approx(1.0)
    assert law.p @ law.r**2 == pytest.approx(f.second_moment + 0.25, rel=5e-3)
    assert indices @ (law.p * law.r) == pytest.approx(step.labels.linear, abs=5e-3)
    assert (indices * law.p) @ indices.T == pytest.approx(np.eye(step.indices), abs=5e-3)
