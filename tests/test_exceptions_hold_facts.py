"""An exception holds facts that callers read, survives pickling, and is one line as text."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import onegrad as og
from onegrad.exceptions import AssumptionWarning, InvalidInput, OutOfScope, not_a_choice, warn

CASES = [
    (InvalidInput("ridge", -1, "> 0"), "ridge must be > 0; got -1"),
    (InvalidInput("width", allowed="a whole number"), "width must be a whole number"),
    (InvalidInput("y", None, "numbers"), "y must be numbers; got None"),
    (InvalidInput("eta", 2.0, problem="give alpha or eta"), "eta 2.0: give alpha or eta"),
    (InvalidInput("X", problem="the table is empty"), "X: the table is empty"),
    (
        not_a_choice("theory", "unifrom", ["uniform", "staircase"]),
        "theory 'unifrom': did you mean uniform? It must be one of uniform, staircase",
    ),
    (
        OutOfScope("staircase", "steps", 2, "one step"),
        "steps: the staircase theory covers one step; got 2",
    ),
    (InvalidInput("a\nb", "c\n\x1b[2J", "short"), r"a\nb must be short; got 'c\n\x1b[2J'"),
]


@pytest.mark.parametrize(("error", "text"), CASES, ids=[text for _, text in CASES])
def test_text_is_one_line_made_of_the_facts(error, text):
    assert str(error) == text
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), type(again), again.__dict__) == (text, type(error), error.__dict__)


def test_long_values_are_cut_and_any_value_travels():
    error = InvalidInput("rows", np.arange(10**6), "short")
    assert len(str(error)) < 120
    assert str(pickle.loads(pickle.dumps(InvalidInput("f", lambda x: x, "short"))))


def test_callers_read_attributes():
    with pytest.raises(og.InvalidInput) as caught:
        og.Problem(n=10, d=5, N=5, ridge=-2)
    error = caught.value
    assert (error.argument, error.value) == ("ridge", -2) and error.allowed
    assert error.describe("--ridge") == str(error).replace("ridge", "--ridge", 1)
    assert error.renamed("grid[0].ridge").argument == "grid[0].ridge"
    with pytest.raises(og.OutOfScope) as caught:
        og.exponents("H1@1*H1@2*H1@3*H1@4")
    assert (caught.value.theory, caught.value.field) == ("exponent", "teacher")
    assert caught.value.covered == "up to 3 indices"


def test_warnings_point_at_the_caller_and_carry_their_facts():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn(AssumptionWarning("staircase", "alpha", "alpha is at a\nthreshold"))
    (issued,) = caught
    assert Path(issued.filename) == Path(__file__) and issued.category is AssumptionWarning
    assert (issued.message.theory, issued.message.field) == ("staircase", "alpha")
    assert str(issued.message) == r"alpha is at a\nthreshold"
    assert str(pickle.loads(pickle.dumps(issued.message))) == str(issued.message)
