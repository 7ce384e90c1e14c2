"""An exception holds facts that callers read, survives pickling, and is one line as text."""

import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import onegrad as og
from onegrad.exceptions import (
    AssumptionWarning,
    InvalidInput,
    OutOfScope,
    UnknownArgument,
    not_a_choice,
    warn,
)

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
    (
        UnknownArgument("simulate", "seed", ["problem", "seeds"]),
        "simulate() has no argument 'seed': did you mean seeds?",
    ),
    (
        UnknownArgument("f", "zzz", ["problem", "seeds"]),
        "f() has no argument 'zzz': its arguments are problem, seeds",
    ),
    (InvalidInput("a\nb", "c\n\x1b[2J", "short"), r"a\nb must be short; got 'c\n\x1b[2J'"),
]


def test_text_is_one_line_made_of_the_facts():
    for error, text in CASES:
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


PROBLEM = og.Problem(n=20, d=10, N=10)


def test_a_wrong_argument_names_the_function_and_what_was_meant():
    for call, function, name, meant in (
        (lambda: og.simulate(PROBLEM, seed=3), "simulate", "seed", "seeds"),
        (lambda: og.compare(PROBLEM, seed=3), "compare", "seed", "seeds"),
        (lambda: og.predict(PROBLEM, alhpa=0.1), "predict", "alhpa", "alpha"),
        (lambda: og.optimum(PROBLEM, ovr="ridge"), "optimum", "ovr", "over"),
        (lambda: og.Problem(n=1, d=1, N=1, **{"alhpa": 1}), "Problem", "alhpa", "alpha"),
        (lambda: PROBLEM.replace(rigde=1), "replace", "rigde", "ridge"),
        (lambda: og.AlternatingRegressor(widht=3), "AlternatingRegressor", "widht", "width"),
    ):
        text = f"{function}() has no argument {name!r}: did you mean {meant}?"
        with pytest.raises(TypeError, match=re.escape(text)):
            call()
    with pytest.raises(TypeError, match=r"^OneStepClassifier\(\) takes from 1 to 2 positional"):
        og.OneStepClassifier(1, 2)
    with pytest.raises(TypeError, match=r"^Problem\(\) missing 2 required keyword-only arguments"):
        og.Problem(**{"n": 1})


def test_warnings_point_at_the_caller_and_carry_their_facts():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn(AssumptionWarning("staircase", "alpha", "alpha is at a\nthreshold"))
    (issued,) = caught
    assert Path(issued.filename) == Path(__file__) and issued.category is AssumptionWarning
    assert (issued.message.theory, issued.message.field) == ("staircase", "alpha")
    assert str(issued.message) == r"alpha is at a\nthreshold"
    assert str(pickle.loads(pickle.dumps(issued.message))) == str(issued.message)
