"""A prediction prepares its problem once and states accuracy, spread and concerns once."""

import sys
from collections import Counter

import pytest

import onegrad as og

PROBLEM = og.Problem(n=300, d=150, N=200, alpha=0.1)
ONCE = ("laws_of", "refine", "discretise", "take_step", "solve", "respond", "stated_accuracy",
        "spread", "concerns", "kernel_lower_bound")  # fmt: skip


def calls_of(function) -> Counter:
    """Return how often each function of the package is entered, by qualified name."""
    counts: Counter = Counter()

    def count(frame, event, argument):
        if event == "call" and "/onegrad/" in frame.f_code.co_filename:
            counts[frame.f_code.co_qualname] += 1

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return counts


def test_a_point_does_once_what_does_not_depend_on_the_nodes():
    counts = calls_of(lambda: og.predict(PROBLEM))
    assert {name: counts[name] for name in ONCE} == dict.fromkeys(ONCE, 1)
    assert counts["Problem.__post_init__"] == 0  # it has been validated already


@pytest.mark.parametrize("theory", ["uniform", "staircase", "random-features"])
def test_a_grid_validates_each_point_once(theory):
    counts = calls_of(lambda: og.predict(PROBLEM, theory, ridge=[0.01, 0.1, 1.0]))
    assert counts["Problem.__post_init__"] == 3
