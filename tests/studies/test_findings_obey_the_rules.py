"""Every rule of a finding is broken by a small study here, and by no study of the gallery."""

from typing import Any

import numpy as np
import pytest

from onegrad import InvalidInput, Problem
from onegrad.experiments import Point, check
from onegrad.experiments.results import Points
from onegrad.experiments.spec import parse_spec
from onegrad.studies import gallery, rules
from onegrad.studies.findings import (
    Estimate,
    Selection,
    largest,
    largest_deviation,
    lowest_point,
    paired_change,
    paired_difference,
    smallest,
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
    headline: dict[str, Any] | None = None,
) -> Study:
    """A study that obeys all rules, with changes to its parts; `first` is of its first grid."""
    fields = {"n": [200, 400, 800], "d": 100, "N": 100, "teacher": "H1", "activation": "tanh"}
    grid = {
        "measure": "errors",
        "options": {"n_test": 20_000},
        "problem": fields | {"ridge": [0.1, 1.0, 10.0]} | (problem or {}),
    }
    texts = {"title": "A is better", "question": "Is it?", "finding": "{{ gain|number('.2f') }}"}
    decided = {"quantity": "A less B", "value": "gain", "above": 0}
    budgets = [{"name": "A", "grid": "a"}, {"name": "B", "grid": "b"}]
    declared = {"sizes": {"grid": "a", "along": "n"}, "competitors": budgets}
    table = {
        "grid": [grid | {"name": "a"} | (first or {}), grid | {"name": "b"}],
        "text": texts | (text or {}),
        "headline": [decided | (headline or {})] if headline != {} else [],
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
    "trend": trend([200, 400, 800], [Estimate(1.0, 0.1)] * 3),
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
    bound = "{{ gain|number('.2f') }}, {{ best.bound }}{{ best.value|number('.2f') }}"
    assert broken(study(text={"finding": bound}), best=best) == [], "the sentence says so"


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
    real = {"competitors": [{"name": name, "settings": 3, "rows": 1000} for name in "AB"]}
    assert broken(study(real, first=few)) == ["test rows"]
    assert broken(study(real | {"real_data": ["a"]}, first=few)) == []
    assert broken(study(real, first={"options": {}})) == ["test rows"], "nor by default"


def test_one_size_breaks_a_rule_unless_the_title_names_it() -> None:
    assert broken(study(problem={"n": 400})) == ["several sizes"]
    assert broken(study(), trend=None) == ["several sizes"]
    named = {"title": "A is better at n = 400"}
    assert broken(study(problem={"n": 400}, text=named), trend=None) == []
    both: dict[str, Any] = {"sizes": {"grid": ["a", "b"], "along": "n"}}
    largest_n = {"n": 800, "d": 100, "N": 100, "teacher": "H1", "activation": "tanh"}
    first = {"problem": largest_n | {"ridge": [0.1, 1.0, 10.0]}}
    assert broken(study(both, problem={"n": [200, 400]}, first=first)) == [], "of two grids"
    below = {"finding": "At n = 400 it is, by {{ gain|number('.2f') }}"}
    assert broken(study(problem={"n": 400}, text=below), trend=None) == ["several sizes"]


def test_what_is_compared_is_declared_and_tuned() -> None:
    assert broken(study({"competitors": []})) == ["paired differences"], "a difference of what?"
    one: dict[str, Any] = {"n": [200, 400, 800], "d": 100, "N": 100, "teacher": "H1"}
    one["activation"] = "tanh"
    budgets = [{"name": name, "settings": 1, "rows": 500} for name in "AB"]
    assert broken(study({"competitors": budgets})) == ["same tuning"] * 2
    assert broken(study({"competitors": budgets, "untuned": "two laws of the inputs"})) == []
    undeclared = study()
    del undeclared.spec.method["competitors"]  # type: ignore[attr-defined]
    assert broken(undeclared) == ["paired differences"] * 2


def test_a_headline_is_decided_by_its_own_quantity() -> None:
    assert broken(study(headline={})) == ["decided headline"], "there must be one"
    assert broken(study(headline={"above": 2.0})) == ["decided headline"], "beyond 2, it is not"
    assert broken(study(headline={"below": 2.0})) == [], "from 0 to 2, it is"
    noisy = paired_difference(SEEDS, np.roll(SEEDS, 1) - 0.1)
    assert noisy.mean > 0 and broken(study(), gain=noisy) == ["decided headline"], "by luck"
    share = Selection(3, 4)
    stated = study(text={"finding": "{{ share }}"}, headline={"value": "share", "above": 0.9})
    assert broken(stated, share=share) == ["decided headline"]
    with pytest.raises(InvalidInput, match="headline value title"):
        broken(study(headline={"value": "title"}), title="A is better")


def test_the_largest_of_several_noisy_values_knows_how_many_they_are() -> None:
    rows = [{"off": Estimate(mean, 0.01)} for mean in (0.01, -0.02, 0.015)]
    assert broken(study(), rows=rows) == []
    for quoted in (0.015, 0.02, -0.02, rows[2]["off"]):
        assert broken(study(), rows=rows, worst=quoted) == ["largest of several"]
    worst = largest_deviation([row["off"] for row in rows])
    assert broken(study(), rows=rows, worst=worst) == [] and worst.mean == 0.02
    exact = [{"off": Estimate(mean, 0.0)} for mean in (0.01, 0.03, 0.015)]
    assert broken(study(), rows=exact, worst=0.03) == [], "of a theory"


def test_the_interval_of_the_largest_covers_it_as_often_as_that_of_one() -> None:
    rng, true, missed = np.random.default_rng(2), np.zeros(13), 0
    for noise in rng.standard_normal((20_000, 13)):
        low, high = largest([Estimate(m, 1.0) for m in true + noise]).interval
        missed += not low <= 0 <= high
    assert missed / 20_000 < 0.0027 + 3 * np.sqrt(0.0027 / 20_000)
    of_one = smallest([Estimate(1.0, 0.1)]).interval
    assert of_one == pytest.approx(Estimate(1.0, 0.1).interval)


def test_an_effect_needs_the_coefficient_that_makes_it() -> None:
    relu = {"activation": "relu", "teacher": "H1"}
    counted = {"measure": "weights", "options": {}}
    declared: dict[str, Any] = {"competitors": [], "real_data": ["a"]}
    own = {"headline": {"value": "trend", "above": -1}}

    def rules_of(needs: dict[str, Any]) -> list[str]:
        made_up = study(declared | needs, problem=relu, first=counted, **own)
        return broken(made_up, gain=0.5)

    assert rules_of({}) == ["representable effect"], "spikes of which degree?"
    assert rules_of({"needs": {"a": [2]}}) == []
    assert rules_of({"needs": {"a": [2, 3]}}) == ["representable effect"], "c_3 of a ReLU is zero"


def test_a_long_sentence_breaks_a_rule() -> None:
    long = {"title": "A is better than B and than C"}
    assert broken(study(text=long)) == ["short sentences"]
    assert broken(study(text={"finding": "word " * 41})) == ["short sentences"]
    assert broken(study(text={"finding": "1, 2, 3, 4, 5 and 6"})) == ["short sentences"]
    assert broken(study(text={"finding": "It is 1. It is 2."})) == ["short sentences"]
    four = "Ba et al. 2022 say so. The index e.g. is it. That is one. And one more."
    assert broken(study(text={"explained": four})) == ["short sentences"]
    assert broken(study(text={"explained": four.partition(" And")[0]})) == []
    assert broken(study(text={"finding": "0.10 ± 0.02, 2, 3, 4 at n = 1,000 and n^¼, R²"})) == []


def test_a_point_that_theory_has_must_be_compared() -> None:
    networks = points([1.0, 1.0, 1.0, 1.0])
    theory = Points(Point(p.problem, {"test": np.array(1.0)}, False) for p in networks)
    results: Any = {"networks": networks, "theory": theory}
    checks = [check("test", p.problem, p.values["test"], 1.0, "theory", 0.0) for p in networks]
    every = broken_rules(study(), FACTS, results, checks)
    assert every == []
    (left_out,) = broken_rules(study(), FACTS, results, checks[:-1])
    assert left_out.rule == "every shared point" and "λ=10" in left_out.problem
    assert broken_rules(study({"unchecked": "why"}), FACTS, results, checks[:-1]) == []


def test_a_teacher_out_of_reach_breaks_a_rule_unless_it_is_declared() -> None:
    cubic = {"teacher": "H1 + H3/6", "activation": "relu"}
    assert broken(study(problem=cubic)) == ["representable teacher"]
    assert broken(study({"out_of_reach": "this is the question"}, problem=cubic)) == []


def test_a_selection_that_no_text_states_breaks_a_rule() -> None:
    selection = Selection.of(k > 2 for k in range(6))
    assert selection == Selection(3, 6)
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
        slopes.append(trend([100, 200, 400], values))
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
