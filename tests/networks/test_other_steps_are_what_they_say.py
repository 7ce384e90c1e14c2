"""Later step sizes, turned input directions, and theories that do not treat other steps."""

import numpy as np
import pytest

import onegrad as og
from onegrad.networks.one_network import network_of
from onegrad.networks.sampling import RowSet
from onegrad.networks.streams import Purpose

SMALL = {"n": 90, "d": 20, "N": 30, "activation": "relu", "teacher": "H1 + H2/2", "noise": 0.1}


def test_each_step_has_its_own_size_and_the_last_is_kept():
    problem = og.Problem(**SMALL, alpha=[0.3, 0.2, 0.4])
    assert (problem.steps, problem.alpha, problem.later_alpha) == (3, 0.3, "0.2,0.4")
    assert problem.later_steps == (90**0.2, 90**0.4)
    assert og.Problem(**SMALL, alpha=0.3, later_alpha="0.1", steps=4).later_steps == (90**0.1,) * 3
    assert og.Problem(**SMALL, alpha=0.3, later_alpha=0.1, steps=2).later_alpha == "0.1"
    assert og.Problem(**SMALL, alpha=0.3, steps=3).later_steps == (90**0.3,) * 2
    with pytest.raises(og.InvalidInput, match="later_alpha must be a finite number"):
        og.Problem(**SMALL, alpha=0.3, steps=2, later_alpha="0.1,x")


def test_the_inputs_direction_has_the_cosine_asked_for():
    for law in ("spiked(30)", "mixture(5)"):
        problem = og.Problem(n=4000, d=10, N=5, teacher="H1", inputs=law, input_overlap=0.6)
        sampler = network_of(problem, 1).sampler
        X = np.concatenate([r.X[0] for r in sampler.blocks(RowSet(Purpose.STEP, 4000))])
        top = np.linalg.svd(X, full_matrices=False)[2][0]
        assert abs(top @ sampler.beta_star[0, :, 0]) == pytest.approx(0.6, abs=0.03)


def test_theories_do_not_answer_for_other_steps_without_a_word():
    for field, value in (("steps", 3), ("update", "spectral")):
        fields = {"n": 400, "d": 200, "N": 300, "activation": "softplus", "alpha": 0.3}
        problem = og.Problem(**fields | {field: value})
        with pytest.raises(og.OutOfScope, match=field):
            og.predict(problem)
        with pytest.warns(og.AssumptionWarning, match=field):
            og.predict(problem, theory="staircase")
