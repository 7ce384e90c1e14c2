"""What the sentence of each preset says is what theory, or a network, gives there."""

import numpy as np
import pytest

import onegrad as og
from onegrad.explorer import api
from onegrad.explorer.controls import PRESETS, read_problem
from onegrad.networks import neurons

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.exceptions.AssumptionWarning")


def promised(name: str, words: str) -> og.Problem:
    """The setting of a preset whose sentence says these words."""
    (preset,) = (preset for preset in PRESETS if preset.name == name)
    assert words in preset.title
    return read_problem(preset.query)


def test_setting_1_only_the_linear_spike_helps_and_a_very_large_step_hurts() -> None:
    problem = promised(
        "One spike, with noise", "only the linear spike helps, a very large step hurts"
    )
    stairs = [og.predict(problem, theory="staircase", alpha=a).test for a in (-0.1, 0.1, 0.3, 0.45)]
    assert stairs[1] < 0.97 * stairs[0]
    assert stairs[1:] == pytest.approx([stairs[1]] * 3, rel=1e-3)
    untrained, largest = og.predict(problem, alpha=[-0.25, 0.6]).test
    assert largest > 1.05 * untrained


def test_setting_2_learns_the_quadratic_part_beyond_a_quarter_gradually() -> None:
    problem = promised("Two spikes, two stairs", "learned once α passes ¼, gradually at this n")
    before, after = (og.predict(problem, theory="staircase", alpha=a).test for a in (0.24, 0.26))
    assert after < 0.6 * before
    at_n = og.predict(problem, alpha=[0.24, 0.26]).test
    assert 0.9 * at_n[0] < at_n[1] < at_n[0]


def test_ba_3a_is_better_at_every_size() -> None:
    problem = promised("A small step helps", "better at every n/d")
    sizes = [api.problem_at(problem, "n", ratio).n for ratio in api.CURVE_RATIOS[::3]]
    assert np.all(og.predict(problem, n=sizes).test < og.predict(problem, n=sizes, eta=0.0).test)


def test_ba_3c_goes_below_the_kernel_bound() -> None:
    problem = promised("Below every kernel", "below the kernel bound")
    bound = api.reference_levels(problem)["kernel"]
    assert og.predict(problem).test < 0.9 * bound < bound < og.predict(problem, eta=0.0).test


def test_the_maximal_step_turns_every_neuron() -> None:
    problem = promised("All neurons turn", "every neuron turns to the teacher")
    found = neurons(problem.replace(n=1600, n_step=800, d=200, N=400, eta=20.0))  # eta = sqrt(N)
    assert np.all(found.after > found.before)
    assert np.mean(found.after) > 0.3
