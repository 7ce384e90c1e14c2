"""The functions behind the page: plain values, the same for the same question."""

from __future__ import annotations

import itertools
import json
import math

import pytest

import onegrad as og
from onegrad.explorer import api
from onegrad.explorer.controls import CONTROLS, DEFAULTS, PRESETS, describe
from onegrad.problem import Problem

PROBLEM = api.read_problem({})


def test_the_defaults_are_a_problem() -> None:
    assert (PROBLEM.n, PROBLEM.d, PROBLEM.N) == (4000, 500, 1000)
    assert PROBLEM.alpha == 0.3


@pytest.mark.parametrize("preset", PRESETS, ids=lambda p: p.name)
def test_every_preset_is_a_problem(preset) -> None:
    assert isinstance(api.read_problem(preset.query), Problem)


def test_ratios_and_sizes_say_the_same() -> None:
    by_ratio = api.read_problem({"n": "1000", "phi": "0.5", "psi": "0.625"})
    by_size = api.read_problem({"n": "1000", "d": "500", "N": "800"})
    assert by_ratio == by_size


@pytest.mark.parametrize(
    ("query", "field"),
    [
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
    ],
)
def test_a_complaint_names_its_control(query, field) -> None:
    with pytest.raises(og.InvalidInput) as caught:
        api.read_problem(query)
    assert api.field_of(caught.value) == field
    assert "\n" not in str(caught.value)


def test_instant_is_plain_and_repeatable() -> None:
    first, second = api.instant(PROBLEM), api.instant(PROBLEM)
    assert first == second
    assert json.loads(json.dumps(first, allow_nan=False)) == first


@pytest.mark.filterwarnings("ignore::onegrad.errors.AssumptionWarning")
def test_instant_draws_the_staircase_that_predict_gives() -> None:
    stairs = api.instant(PROBLEM)["staircase"]
    for alpha in (-0.1, 0.1, 0.3, 0.35, 0.39):
        left = max(i for i, a in enumerate(stairs["alpha"]) if a <= alpha)
        expected = og.predict(PROBLEM, theory="staircase", alpha=alpha)
        assert stairs["test"][left] == pytest.approx(expected.test, rel=1e-12)
        assert stairs["train"][left] == pytest.approx(expected.train, rel=1e-12)


def test_what_a_theory_does_not_cover_is_said_and_not_drawn() -> None:
    answer = api.instant(api.read_problem({"activation": "H2"}))  # no linear part, no spike theory
    assert answer["staircase"]["test"] == []
    assert "c_1" in answer["staircase"]["unavailable"]


def test_the_kernel_bound_is_the_teachers_nonlinear_energy() -> None:
    levels = api.reference_levels(api.read_problem({"teacher": "H1 + H2/sqrt(2)", "noise": "0.5"}))
    assert levels["kernel"] == pytest.approx(0.25 + 1.0)
    assert levels["noise"] == 0.25


def test_spectrum_has_a_spike_only_after_a_step() -> None:
    before = api.spectrum(PROBLEM.replace(eta=0.0))
    after = api.spectrum(PROBLEM.replace(alpha=0.4))
    top = max((s["eigenvalue"] for s in before["spikes"]), default=0.0)
    assert after["spikes"][0]["eigenvalue"] > max(2 * after["edge"], 2 * top)
    assert after["spikes"][0]["alignment"]["1"] > 0.8
    mass = sum(
        (b - a) * (p + q) / 2
        for a, b, p, q in zip(
            after["x"], after["x"][1:], after["rho"], after["rho"][1:], strict=False
        )
    )
    assert mass + after["atom"] == pytest.approx(1.0, abs=0.01)


def test_a_curve_is_refined_from_coarse_to_fine() -> None:
    for axis in api.AXES:
        values = api.axis_values(PROBLEM, axis)
        complete = api.ALPHAS if axis == "alpha" else api.RATIOS
        assert sorted(values) == list(complete)
        coarse = sorted(values[: len(complete) // api.COARSE + 1])
        assert coarse[0] == complete[0]
        widest = max(complete.index(b) - complete.index(a) for a, b in itertools.pairwise(coarse))
        assert widest <= api.COARSE


def test_a_size_axis_keeps_the_exponent() -> None:
    moved = api.at(PROBLEM, "n", 4.0)
    assert moved.n == 4 * PROBLEM.d and moved.alpha == PROBLEM.alpha
    assert moved.n_step == moved.n
    wider = api.at(PROBLEM, "N", 2.0)
    assert (wider.N, wider.eta) == (2 * PROBLEM.d, PROBLEM.eta)


def test_the_page_is_told_every_control_and_its_names_in_the_papers() -> None:
    table = describe()
    assert {c["name"] for c in table["controls"]} == set(CONTROLS)
    for control in table["controls"]:
        assert control["help"] and len(control["papers"]) == 3
    assert set(DEFAULTS) <= set(CONTROLS)


def test_numbers_that_are_not_finite_become_null() -> None:
    assert api.plain({"a": [math.nan, 1.0, math.inf]}) == {"a": [None, 1.0, None]}
