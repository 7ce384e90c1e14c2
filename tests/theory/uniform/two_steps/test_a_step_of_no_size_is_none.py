"""Two steps of which one is small are one step; without a first step they are the second."""

import pytest

import onegrad as og
from onegrad.theory.uniform.refinement import fresh_row_errors

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
SMALLEST = -9.0  # exponent of a step that moves nothing
BASE = og.Problem(
    n=1000, d=500, N=600, activation="softplus", teacher="H1 + H2/sqrt(2)", noise=0.2, alpha=0.4
)
CHANGES = [
    {},
    {"activation": "tanh"},
    {"residual": "full"},
    {"residual": "mean-field", "readout": "constant"},
    {"activation": "relu", "readout": "constant", "residual": "full"},
    {"activation": "H1 + H2/2", "readout": "rademacher", "residual": "full"},
    {"teacher": "H1@1 + H1@1*H1@2"},
]


def errors(problem):
    found = og.predict(problem)
    return found.train, found.test


def one_step(problem):
    """Return the errors of one step by the same solver."""
    found = fresh_row_errors([problem], 1e-3, None)[0]
    return found.train, found.test


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_a_small_step_before_or_after_changes_nothing(changes):
    one = BASE.replace(**changes)
    after = one.replace(steps=2, later_alpha=[SMALLEST])
    before = one.replace(steps=2, later_alpha=[one.alpha], alpha=SMALLEST)
    assert errors(after) == pytest.approx(one_step(one), rel=1e-3)
    assert errors(before) == pytest.approx(one_step(one), rel=3e-3)


def test_without_a_first_step_there_is_one_step():
    two = BASE.replace(eta=0.0, steps=2, later_alpha=[0.4])
    assert errors(two) == one_step(BASE)


def test_a_step_that_blows_the_output_up_makes_wide_bars():
    """Numbers of a setting at which 64 networks are 30 % above the training error predicted."""
    problem = og.Problem(
        n=1500, d=2205, N=1000, n_step=750, activation="H1 + H2/2", teacher="silu", noise=0.3,
        ridge=0.01, readout="constant", residual="full", alpha=0.4, steps=2, later_alpha=[0.2],
    )  # fmt: skip
    blown, calm = og.predict(problem), og.predict(problem.replace(alpha=-0.3, later_alpha=[-0.3]))
    assert blown.accuracy.train > 0.08 > calm.accuracy.train
    assert any(warning.field == "accuracy" for warning in blown.warnings)
