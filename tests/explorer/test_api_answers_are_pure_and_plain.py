"""The functions behind the page: plain values, the same for the same question."""

import itertools
import json

import pytest

import onegrad as og
from onegrad.explorer import api
from onegrad.explorer.controls import control_table, read_problem
from onegrad.theory import THEORIES, Theory

PROBLEM = read_problem({})


def test_ratios_and_sizes_say_the_same() -> None:
    by_ratio = read_problem({"n": "1000", "phi": "0.5", "psi": "0.625"})
    by_size = read_problem({"n": "1000", "d": "500", "N": "800"})
    assert by_ratio == by_size


def test_instant_is_plain_and_repeatable() -> None:
    first, second = api.instant_answer(PROBLEM), api.instant_answer(PROBLEM)
    assert first == second
    assert json.loads(json.dumps(first, allow_nan=False)) == first


@pytest.mark.filterwarnings("ignore::onegrad.exceptions.AssumptionWarning")
def test_instant_draws_the_staircase_that_predict_gives() -> None:
    stairs = api.instant_answer(PROBLEM)["staircase"]
    for alpha in (-0.1, 0.1, 0.3, 0.35, 0.39):
        left = max(i for i, a in enumerate(stairs["alpha"]) if a <= alpha)
        expected = og.predict(PROBLEM, theory="staircase", alpha=alpha)
        assert stairs["test"][left] == pytest.approx(expected.test, rel=1e-12)
        assert stairs["train"][left] == pytest.approx(expected.train, rel=1e-12)


def test_what_a_theory_does_not_cover_is_said_and_not_drawn() -> None:
    answer = api.instant_answer(read_problem({"activation": "H2"}))  # without a linear part
    assert answer["staircase"]["test"] == []
    assert "c_1" in answer["staircase"]["unavailable"]


def test_the_kernel_bound_is_the_teachers_nonlinear_energy() -> None:
    levels = api.reference_levels(read_problem({"teacher": "H1 + H2/sqrt(2)", "noise": "0.5"}))
    assert levels["kernel"] == pytest.approx(0.25 + 1.0)
    assert levels["noise"] == 0.25


def test_a_curve_is_refined_from_coarse_to_fine() -> None:
    for axis in api.AXES:
        values = api.axis_values(axis)
        complete = api.CURVE_ALPHAS if axis == "alpha" else api.CURVE_RATIOS
        assert sorted(values) == list(complete)
        coarse = sorted(values[: len(complete) // api.COARSE_STRIDE + 1])
        assert coarse[0] == complete[0]
        widest = max(complete.index(b) - complete.index(a) for a, b in itertools.pairwise(coarse))
        assert widest <= api.COARSE_STRIDE


def test_a_size_axis_keeps_the_exponent() -> None:
    moved = api.problem_at(PROBLEM, "n", 4.0)
    assert moved.n == 4 * PROBLEM.d and moved.alpha == PROBLEM.alpha
    assert moved.n_step == moved.n
    wider = api.problem_at(PROBLEM, "N", 2.0)
    assert (wider.N, wider.eta) == (2 * PROBLEM.d, PROBLEM.eta)


def test_another_theory_needs_nothing_but_its_entry(monkeypatch) -> None:
    standard = THEORIES["small-step"]
    mine = Theory("my-theory", standard.function, standard.fields, label="mine")
    monkeypatch.setitem(THEORIES, "my-theory", mine)  # as `register` does, for this test only
    answer = json.loads(
        json.dumps(api.instant_answer(read_problem({"n": "300", "d": "100", "N": "150"})))
    )
    assert control_table()["theories"][-1]["label"] == "mine"
    low, high = answer["alphas"]
    assert (answer["my_theory"]["alpha"][0], answer["my_theory"]["alpha"][-1]) == (low, high)
    assert len(answer["my_theory"]["test"]) == len(answer["my_theory"]["alpha"])
    assert answer["my_theory"]["test"][0] == answer["small_step"]["test"][0]
