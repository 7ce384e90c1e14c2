"""A prediction prepares its problem once and states accuracy, spread and concerns once."""

from collections import Counter

import pytest

import onegrad as og
from calls import calls_of

PROBLEM = og.Problem(n=300, d=150, N=200, alpha=0.1)
ONCE = ("laws_of", "refine", "discretise", "take_step", "solve", "respond", "stated_accuracy",
        "spread", "concerns", "kernel_lower_bound")  # fmt: skip


def calls(function) -> Counter:
    """Return how often each function of the package is entered, by qualified name."""
    counts: Counter = Counter()
    for (_, name), times in calls_of(function).items():
        counts[name] += times
    return counts


def test_a_point_does_once_what_does_not_depend_on_the_nodes():
    counts = calls(lambda: og.predict(PROBLEM))
    assert {name: counts[name] for name in ONCE} == dict.fromkeys(ONCE, 1)
    assert counts["Problem.__post_init__"] == 0  # it has been validated already


@pytest.mark.parametrize("theory", ["uniform", "staircase", "random-features"])
def test_a_grid_validates_each_point_once(theory):
    counts = calls(lambda: og.predict(PROBLEM, theory, ridge=[0.01, 0.1, 1.0]))
    assert counts["Problem.__post_init__"] == 3
