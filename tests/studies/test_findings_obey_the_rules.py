"""Every rule of a finding is broken by a small study here, and by no study of the gallery."""

from typing import Any

import numpy as np
import pytest

from onegrad import InvalidInput, Problem
from onegrad.experiments import Point
from onegrad.experiments.results import Points
from onegrad.experiments.spec import parse_spec
from onegrad.studies import gallery, rules
from onegrad.studies.findings import (
    Estimate,
    Selection,
    lowest_point,
    paired_change,
    paired_difference,
    selected,
    trend,
)
from onegrad.studies.gallery import Study
from onegrad.studies.measures import MEASURES
from onegrad.studies.reproduce import broken_rules

SEEDS = np.random.default_rng(0).uniform(0.5, 2.0, 40)


def study(
    method: dict[str, Any] | None = None,
    text: dict[str, str] | None = None,
    problem: dict[str, Any] | None = None,
    first: dict[str, Any] | None = None,
) -> Study:
    """A study that obeys all rules, with changes to its parts; `first` is of its first grid."""
    fields = {"n": [200, 400, 800], "d": 100, "N": 100, "teacher": "H1", "activation": "tanh"}
    grid = {
        "measure": "errors",
        "options": {"n_test": 20_000},
        "problem": fields | {"ridge": [0.1, 1.0, 10.0]} | (problem or {}),
    }
    texts = {"title": "A is better", "question": "Is it?", "finding": "{{ gain|number('.2f') }}"}
    budgets = [{"name": "A", "grid": "a"}, {"name": "B", "grid": "b"}]
    declared = {"sizes": {"grid": "a", "along": "n"}, "competitors": budgets}
    table = {
        "grid": [grid | {"name": "a"} | (first or {}), grid | {"name": "b"}],
        "text": texts | (text or {}),
        "method": declared | (method or {}),
    }
    return Study("made-up", "open", parse_spec(table, "made-up", MEASURES))


def points(values: list[float], field: str = "ridge") -> Points:
    grid = [0.01, 0.1, 1.0, 10.0]
    problem = Problem(n=100, d=50, N=80)
    pairs = zip(grid, values, strict=True)
    return Points(
        [Point(problem.replace(**{field: x}), {"test": v * SEEDS}, True) for x, v in pairs]
    )


FACTS: dict[str, Any] = {
    "gain": paired_difference(2 * SEEDS, SEEDS),
    "best": lowest_point(points([3.0, 1.0, 2.0, 4.0]), "test", ["ridge"]),
    "trend": trend("n", [200, 400, 800], [Estimate(1.0, 0.1)] * 3),
}


def broken(made_up: Study, **facts: Any) -> list[str]:
    return [violation.rule for violation in broken_rules(made_up, FACTS | facts)]


def test_a_study_that_obeys_breaks_nothing() -> None:
    assert broken(study()) == []


def test_a_best_value_at_the_end_of_a_grid_breaks_a_rule() -> None:
    at_end = points([4.0, 3.0, 2.0, 1.0])
    best = lowest_point(at_end, "test", ["ridge"])
    assert broken(study(), best=best) == ["interior optimum"]
    assert broken(study(), laws=[{"best": best}]) == ["interior optimum"], "nor inside a list"
    declared = lowest_point(at_end, "test", ["ridge"], one_sided=["ridge"])
    assert broken(study(), best=declared) == ["interior optimum"], "the sentence must say so"
    bound = "{{ gain|number('.2f') }}, {{ best.bound }}{{ best.value|number('.2f') }}"
    assert broken(study(text={"finding": bound}), best=declared) == []


def test_competitors_that_are_tuned_differently_break_a_rule() -> None:
    fewer = {"n": [200, 400, 800], "d": 100, "N": 100, "teacher": "H1", "ridge": [0.1, 1.0]}
    assert broken(study(first={"problem": fewer})) == ["same tuning"]
    for rows, rules_broken in ((375, ["same tuning"]), (500, [])):
        budgets = [{"name": "A", "settings": 54, "rows": 500}]
        budgets.append({"name": "B", "settings": 54, "rows": rows})
        assert broken(study({"competitors": budgets})) == rules_broken


def test_competitors_without_a_paired_difference_break_a_rule() -> None:
    assert broken(study(), gain=Estimate(1.0, 0.1)) == ["paired differences"]


def test_few_test_rows_break_a_rule_unless_data_are_real() -> None:
    few: dict[str, Any] = {"options": {"n_test": 1000}}
    alone: dict[str, Any] = {"competitors": []}
    assert broken(study(alone, first=few)) == ["test rows"]
    assert broken(study(alone | {"real_data": ["a"]}, first=few)) == []
    assert broken(study(alone, first={"options": {}})) == ["test rows"], "nor by default"


def test_one_size_breaks_a_rule_unless_the_sentence_names_it() -> None:
    assert broken(study(problem={"n": 400})) == ["several sizes"]
    assert broken(study(), trend=None) == ["several sizes"]
    named = {"title": "A is better at n = 400"}
    assert broken(study(problem={"n": 400}, text=named), trend=None) == []


def test_a_teacher_out_of_reach_breaks_a_rule_unless_it_is_declared() -> None:
    cubic = {"teacher": "H1 + H3/6", "activation": "relu"}
    assert broken(study(problem=cubic)) == ["representable teacher"]
    assert broken(study({"out_of_reach": "this is the question"}, problem=cubic)) == []


def test_a_selection_that_no_text_states_breaks_a_rule() -> None:
    chosen, selection = selected(range(6), lambda k: k > 2, "k > 2")
    assert chosen == [3, 4, 5] and selection == Selection(3, 6, "k > 2")
    assert broken(study(), selection=selection) == ["stated selections"]
    stated = {"finding": "{{ gain|number('.2f') }} for {{ selection }}"}
    assert broken(study(text=stated), selection=selection) == []


def test_pairing_needs_the_same_seeds_and_removes_their_luck() -> None:
    difference = paired_difference(SEEDS + 0.5, SEEDS)
    assert difference.mean == pytest.approx(0.5) and difference.se == pytest.approx(0, abs=1e-12)
    change = paired_change(1.5 * SEEDS, SEEDS)
    assert change.mean == pytest.approx(0.5) and change.se == pytest.approx(0, abs=1e-12)
    with pytest.raises(InvalidInput, match="same seeds"):
        paired_difference(SEEDS, SEEDS[:3])


def test_a_trend_has_the_error_of_a_slope() -> None:
    rng, se, slopes = np.random.default_rng(1), (0.1, 0.2, 0.1), []
    for noise in rng.standard_normal((2000, 3)) * se:
        means = np.array([3.0, 2.5, 2.0]) + noise
        values = [Estimate(m, s) for m, s in zip(means, se, strict=True)]
        slopes.append(trend("n", [100, 200, 400], values).per_doubling)
    assert np.mean([s.mean for s in slopes]) == pytest.approx(-0.5, abs=0.01)
    assert np.std([s.mean for s in slopes]) == pytest.approx(slopes[0].se, rel=0.06)


def test_an_optimum_over_two_axes_knows_both_ends() -> None:
    grid = [(n, ridge, abs(np.log(ridge)) + n / 100) for n in (100, 200) for ridge in (0.1, 1, 10)]
    problem = Problem(n=100, d=50, N=80)
    points = [Point(problem.replace(n=n, ridge=r), {"test": v * SEEDS}, True) for n, r, v in grid]
    found = lowest_point(Points(points), "test", ["n", "ridge"])
    assert found.at == {"n": 100, "ridge": 1.0}
    assert found.axes_at_end == ("n",) and found.bound == "at most "


def test_the_grids_of_all_studies_obey_the_rules() -> None:
    for study in gallery.select(gallery.groups()).values():
        if rules.is_judged(study.spec):
            assert rules.spec_violations(study.spec) == [], study.name
