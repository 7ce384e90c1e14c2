"""A step of constant size starts at the untrained errors and ends at the first stair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onegrad as og
from onegrad.theory.asymptotic import random_features, staircase
from onegrad.theory.asymptotic.scalars import Scalars

problems = st.builds(
    og.Problem,
    n=st.integers(50, 5000),
    d=st.integers(50, 5000),
    N=st.integers(50, 5000),
    activation=st.sampled_from(["tanh", "relu", "softplus", "H1 + H3/4", "erf:unit"]),
    teacher=st.sampled_from(["H1", "tanh", "relu:unit", "H1 + H2/sqrt(2)"]),
    noise=st.floats(0, 2),
    ridge=st.floats(-5, 2).map(lambda x: 10.0**x),
    residual=st.sampled_from(["labels", "full"]),
    weights=st.sampled_from(["gaussian", "sphere"]),
    n_step=st.integers(50, 5000),
)


@settings(max_examples=60, deadline=None)
@given(problem=problems)
def test_large_steps_join_the_first_stair(problem):
    s = Scalars.of([problem.replace(eta=1e9)])
    stair = staircase.staircase_drops(s, staircase.all_degrees(np.array([1])))
    step = random_features.small_step_drops(s)
    assert step.train[0] == pytest.approx(stair.train[0], rel=1e-5)
    assert step.test[0] == pytest.approx(stair.test[0], rel=1e-5)


@settings(max_examples=60, deadline=None)
@given(problem=problems)
def test_small_steps_join_the_untrained_network(problem):
    s = Scalars.of([problem.replace(eta=1e-7)])
    step = random_features.small_step_drops(s)
    assert abs(step.train[0]) + abs(step.test[0]) < 1e-6


@settings(max_examples=60, deadline=None)
@given(problem=problems)
def test_larger_steps_lower_the_training_objective(problem):
    """With the labels as residual the new direction only ever gains strength."""
    etas = np.geomspace(1e-2, 1e3, 15).tolist()
    curve = og.predict(problem.replace(residual="labels"), theory="small-step", eta=etas)
    assert np.all(np.diff(curve.train) <= 1e-12 * curve.train[0])
    untrained = og.predict(problem, theory="random-features")
    assert np.all(curve.train <= untrained.train * (1 + 1e-12))
    assert np.all(curve.test <= untrained.test * (1 + 1e-12))  # delta >= 0


def test_no_linear_part_no_gain():
    p = og.Problem(n=500, d=300, N=400, activation="H2", eta=2.0)
    assert og.predict(p, theory="small-step").test == og.predict(p, theory="random-features").test


def test_step_rows_enter_through_the_direction_only():
    p = og.Problem(n=500, d=300, N=400, activation="tanh", eta=2.0, noise=0.5)
    more = p.replace(n_step=50_000)
    untrained = [og.predict(q, theory="random-features").test for q in (p, more)]
    trained = [og.predict(q, theory="small-step").test for q in (p, more)]
    assert untrained[0] == untrained[1]
    assert trained[1] < trained[0]
    b_squared = Scalars.of([p, more]).direction.b_squared
    assert b_squared == pytest.approx([1 + 300 / 500 * 1.25, 1 + 300 / 50_000 * 1.25])
