"""A query of texts is a problem, or a complaint that names its control."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import onegrad as og
from onegrad.explorer.controls import (
    CONTROLS,
    DEFAULTS,
    PRESETS,
    control_of,
    control_table,
    read_problem,
)
from onegrad.problem import Problem


def test_the_defaults_and_every_preset_are_a_problem() -> None:
    problem = read_problem({})
    assert (problem.n, problem.d, problem.N) == (4000, 500, 1000)
    assert problem.alpha == 0.3
    assert all(isinstance(read_problem(preset.query), Problem) for preset in PRESETS)


def test_a_problem_with_a_formula_reaches_another_process() -> None:
    for teacher in ("tanh(2*x)", "relu(x) + 0.1*x^2", "x^3 - 3*x"):
        problem = read_problem({"teacher": teacher})
        copy = pickle.loads(pickle.dumps(problem))
        assert copy == problem
        assert copy.sigma_star(np.array([0.7])) == problem.sigma_star(np.array([0.7])), teacher


def test_ratios_and_sizes_say_the_same() -> None:
    by_ratio = read_problem({"n": "1000", "phi": "0.5", "psi": "0.625"})
    by_size = read_problem({"n": "1000", "d": "500", "N": "800"})
    assert by_ratio == by_size


def test_a_complaint_names_its_control() -> None:
    for query, field in (
        ({"ridge": "0"}, "ridge"),
        ({"ridge": "nan"}, "ridge"),
        ({"n": "10.5"}, "n"),
        ({"n": "1e12"}, "n"),
        ({"n": "1_000"}, "n"),
        ({"noise": "٣"}, "noise"),
        ({"d": "0"}, "d"),
        ({"phi": "-1"}, "phi"),
        ({"n": "2", "phi": "0.001"}, "phi"),
        ({"alpha": "3"}, "alpha"),
        ({"alpha": "0.1", "eta": "2"}, "eta"),
        ({"d": "10", "phi": "2"}, "phi"),
        ({"noise": "-0.1"}, "noise"),
        ({"teacher": "H1 + "}, "teacher"),
        ({"teacher": "__import__('os')"}, "teacher"),
        ({"activation": "tan"}, "activation"),
        ({"activation": "H1" * 300}, "activation"),
        ({"weights": "cauchy"}, "weights"),
    ):
        with pytest.raises(og.InvalidInput) as caught:
            read_problem(query)
        assert control_of(caught.value) == field, query
        assert "\n" not in str(caught.value)


def test_the_page_is_told_every_control_and_its_names_in_the_papers() -> None:
    table = control_table()
    assert {c["name"] for c in table["controls"]} == set(CONTROLS)
    for control in table["controls"]:
        assert control["help"] and len(control["papers"]) == 3
    assert set(DEFAULTS) <= set(CONTROLS)
