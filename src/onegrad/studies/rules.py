"""Rules of a finding, judged at full sizes: docs/open/method.md says why.

A study declares what cannot be read off its grids in the table [method] of its TOML file:

    sizes = { grid = "networks", along = "n" }      # at least three, with a `Trend` in the facts
    competitors = [ { name = "ours", grid = "same" },               # of a grid
                    { name = "AdamW", settings = 6, rows = 500 } ]  # or of a measure
    untuned = "why what is compared has one setting alone, such as a law of the inputs"
    real_data = ["digits"]                          # grids whose test rows are limited by the data
    needs = { outliers = [2, 3] }                   # grids and c_k without which there is no effect
    out_of_reach = "why the teacher has degrees that the network cannot represent"
    unchecked = "why theory is not compared with networks at some points that both have"
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.exceptions import InvalidInput
from onegrad.experiments.checks import Check, Headline, location, place
from onegrad.experiments.grid import problems_of
from onegrad.experiments.results import Points
from onegrad.experiments.spec import Grid, Spec
from onegrad.problem import representation_warnings
from onegrad.studies.findings import (
    BestPoint,
    Estimate,
    Facts,
    PairedEstimate,
    Selection,
    Trend,
    values_in,
)
from onegrad.studies.measures import MEASURES

MIN_TEST_ROWS = 20_000  # the error of a mean of squared Gaussian residuals is then sqrt(2/n) = 1 %
MIN_SIZES = 3  # through two points there is always a line
MAX_TITLE_WORDS, MAX_WORDS, MAX_NUMBERS = 6, 40, 5  # of a title; of the sentence below it
MAX_SENTENCES = 3  # below the figure; the rest of a page is folded
ZERO_COEFFICIENT = 1e-9  # a smaller Hermite coefficient is zero up to rounding
MIN_NOISY = 3  # values of which the largest is too large by luck
_SIZE = re.compile(r"\b(n|d|N) = \d[\d,]*")  # a size that a sentence names: one word, one number
_SENTENCE = re.compile(r"[.?!](?=\s+[A-ZΑ-Ω]|\s*$)")  # where one ends
_NUMBER = re.compile(r"(?<![\w.,^])(?:[−+-]?\d[\d.,]*(?: ± [\d.]+)?|[½⅓¼⅜])")  # with its error: one
_OUTLIERS = ("weights", "spectrum", "three-layer-spectrum")  # measures in which spikes are counted


@dataclass(frozen=True)
class Violation:
    """A rule that a study breaks, and where."""

    rule: str
    problem: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.problem}"


def is_judged(spec: Spec) -> bool:
    """Return whether the rules apply: to open questions, and to what declares a [method]."""
    return "question" in spec.text or bool(spec.method)


def spec_violations(spec: Spec) -> list[Violation]:
    """Return the rules that the grids of a study break, before anything is computed."""
    return [*enough_test_rows(spec), *same_tuning(spec), *representable(spec)]


def finding_violations(spec: Spec, facts: Facts, text: Mapping[str, str]) -> list[Violation]:
    """Return the rules that the facts and sentences of a study break."""
    title, finding = text.get("title", ""), text.get("finding", "")
    return [
        *interior_optima(facts, f"{title} {finding}"),
        *paired_differences(spec, facts),
        *several_sizes(spec, facts, title),
        *largest_of_several(facts),
        *short_sentences(title, finding, text.get("explained", "")),
        *stated_selections(facts, " ".join(text.values())),
        *named_headlines(spec),
    ]


def named_headlines(spec: Spec) -> Iterator[Violation]:
    """A study names the quantity that decides its sentence."""
    if not spec.headlines:
        yield Violation("decided headline", "no [[headline]] names the quantity that decides it")


def decided_headlines(headlines: Iterable[Headline]) -> Iterator[Violation]:
    """The quantity of a sentence is where the sentence says, with three standard errors."""
    for h in headlines:
        if not h.holds:
            problem = f"{h.sentence}: {h.quantity} is {h.shown}, not {h.condition}"
            yield Violation("decided headline", problem)


def every_shared_point(
    spec: Spec, results: Mapping[str, Points], checks: Sequence[Check]
) -> Iterator[Violation]:
    """Networks and theory are compared at every point that both have."""
    if not checks or "unchecked" in spec.method:
        return
    points = [point for grid in results.values() for point in grid]
    predicted = {location(point.problem) for point in points if not point.seeded}
    compared = {check.where for check in checks}
    shared = (p.problem for p in points if p.seeded and location(p.problem) in predicted)
    left_out = {where for problem in shared if (where := place(problem)) not in compared}
    for where in sorted(left_out):
        yield Violation("every shared point", f"theory is not compared with networks at {where}")


def largest_of_several(facts: Facts) -> Iterator[Violation]:
    """The largest of several noisy values has an error that knows how many they are."""
    tables = {name: value for name, value in facts.items() if isinstance(value, list)}
    for name, rows in tables.items():
        for column in {key for row in rows if isinstance(row, Mapping) for key in row}:
            noisy = [v for row in rows if isinstance(v := row.get(column), Estimate) and v.se > 0]
            if len(noisy) < MIN_NOISY:
                continue
            means = np.array([v.mean for v in noisy])
            extremes = (means.max(), means.min(), abs(means).max())
            for fact, value in facts.items():
                quoted = value.mean if isinstance(value, Estimate) else value
                if isinstance(quoted, float) and quoted in extremes:
                    problem = f"{fact} is an extreme of the {len(noisy)} values {name}.{column}"
                    yield Violation("largest of several", f"{problem}; use `largest`")


def short_sentences(title: str, finding: str, explained: str) -> Iterator[Violation]:
    """A title has six words, the finding is one sentence, and three explain the figure."""
    counts = (
        ("sentences of the finding", len(_SENTENCE.findall(finding)), 1),
        ("sentences below the figure", len(_SENTENCE.findall(explained)), MAX_SENTENCES),
        ("words of the title", len(_SIZE.sub("size", title).split()), MAX_TITLE_WORDS),
        ("words of the finding", len(_SIZE.sub("size", finding).split()), MAX_WORDS),
        ("numbers of the finding", len(_NUMBER.findall(finding)), MAX_NUMBERS),
    )
    for what, count, most in counts:
        if count > most:
            yield Violation("short sentences", f"{count} {what}; at most {most}")


def interior_optima(facts: Facts, sentences: str) -> Iterator[Violation]:
    """A best value lies inside its grid, or the sentence says "at least" or "at most"."""
    for path, value in values_in(facts):
        if not isinstance(value, BestPoint):
            continue
        for axis in value.axes_at_end:
            if "at least" not in sentences and "at most" not in sentences:
                place = f"{path} is best at {axis} = {value.at[axis]:.4g}, an end of its grid"
                problem = f'{place}, and the sentence does not say "at least" or "at most"'
                yield Violation("interior optimum", problem)


def same_tuning(spec: Spec) -> Iterator[Violation]:
    """All competitors try equally many settings, more than one, and choose on as many rows."""
    budgets = competitors(spec)
    if "untuned" not in spec.method:
        for budget in budgets:
            if budget["settings"] < 2:
                problem = f"{budget['name']} has one setting, and `untuned` does not say why"
                yield Violation("same tuning", problem)
    for what in ("settings", "rows"):
        numbers = {budget["name"]: budget[what] for budget in budgets}
        if len(set(numbers.values())) > 1:
            listed = ", ".join(f"{name} {number}" for name, number in numbers.items())
            yield Violation("same tuning", f"{what} differ: {listed}")


def paired_differences(spec: Spec, facts: Facts) -> Iterator[Violation]:
    """A study of competitors states a difference over common seeds; what differs is declared."""
    if "competitors" not in spec.method:
        yield Violation(
            "paired differences", "`competitors` says not what is compared, if anything"
        )
    paired = [path for path, value in values_in(facts) if isinstance(value, PairedEstimate)]
    if competitors(spec) and not paired:
        yield Violation("paired differences", "competitors are compared without one")
    if paired and len(competitors(spec)) < 2:
        yield Violation("paired differences", f"{paired[0]} compares what is no competitor")


def enough_test_rows(spec: Spec) -> Iterator[Violation]:
    """Every network is tested on enough rows, unless the data are real."""
    for grid in spec.grids:
        rows = _test_rows(grid)
        if rows is not None and rows < MIN_TEST_ROWS and grid.name not in _real_data(spec):
            problem = f"grid {grid.name} has n_test = {rows}; at least {MIN_TEST_ROWS} are needed"
            yield Violation("test rows", problem)


def several_sizes(spec: Spec, facts: Facts, title: str) -> Iterator[Violation]:
    """There are three sizes and the trend, or the title names its size."""
    if _SIZE.search(title):
        return
    levels = sizes(spec)
    if len(levels) < MIN_SIZES:
        problem = f"{len(levels) or 1} of {MIN_SIZES} sizes, and the title does not say at which n"
        yield Violation("several sizes", problem)
    elif not any(isinstance(value, Trend) for _, value in values_in(facts)):
        yield Violation("several sizes", "the facts have no trend in the size")


def representable(spec: Spec) -> Iterator[Violation]:
    """The network can show the effect, and represent the teacher unless the study declares it.

    A spike of degree k needs c_k: a ReLU, whose c_3 is zero, has no third one at any size.
    """
    needs = spec.method.get("needs", {})
    for name, degrees in needs.items():
        sigmas = {v.problem.activation: v.problem.sigma for v in problems_of(_grid(spec, name))}
        for activation, sigma in sigmas.items():
            absent = [k for k in degrees if abs(sigma.c[k]) < ZERO_COEFFICIENT]
            if absent:
                problem = f"{activation} of grid {name} has c_k = 0 for k = {absent}"
                yield Violation("representable effect", problem)
    for grid in spec.grids:
        if grid.measure in _OUTLIERS and grid.name not in needs:
            problem = f"grid {grid.name} counts spikes; `needs` does not say of which degrees"
            yield Violation("representable effect", problem)
    if "out_of_reach" in spec.method:
        return
    problems = [variant.problem for grid in spec.grids for variant in problems_of(grid)]
    for warning in representation_warnings(problems):
        yield Violation("representable teacher", str(warning))


def stated_selections(facts: Facts, texts: str) -> Iterator[Violation]:
    """A selection is quoted with the number of all, as `3 of 6`."""
    for path, value in values_in(facts):
        if isinstance(value, Selection) and value.chosen < value.total and str(value) not in texts:
            yield Violation("stated selections", f"{path}: no text says {value}")


# -- what a study declares -------------------------------------------------------------------


def competitors(spec: Spec) -> list[dict[str, Any]]:
    """Return the name, tried settings and rows for choosing of each competitor."""
    return [_budget(entry, spec) for entry in spec.method.get("competitors", ())]


def _budget(entry: Mapping[str, Any], spec: Spec) -> dict[str, Any]:
    if "grid" not in entry:
        return {key: entry[key] for key in ("name", "settings", "rows")}
    grid = _grid(spec, entry["grid"])
    first = problems_of(grid)[0]
    rows = _test_rows(grid) or 0  # chosen by the test error itself
    return {"name": entry["name"], "settings": len(first.etas) * len(first.ridges), "rows": rows}


def sizes(spec: Spec) -> list[int]:
    """Return the sizes of the grid that the study declares for its trend."""
    declared = spec.method.get("sizes")
    if declared is None:
        return []
    grids = declared["grid"]
    names = [grids] if isinstance(grids, str) else grids
    variants = [variant for name in names for variant in problems_of(_grid(spec, name))]
    return sorted({int(getattr(variant.problem, declared["along"])) for variant in variants})


def _grid(spec: Spec, name: str) -> Grid:
    for grid in spec.grids:
        if grid.name == name:
            return grid
    allowed = ", ".join(grid.name for grid in spec.grids)
    raise InvalidInput("method: grid", name, f"one of {allowed}")


def _test_rows(grid: Grid) -> int | None:
    """Return the test rows per network that a grid sets; None if its measure tests nothing."""
    if "n_test" not in MEASURES[grid.measure].options:
        return None
    return int(grid.options.get("n_test", 0))


def _real_data(spec: Spec) -> tuple[str, ...]:
    return tuple(spec.method.get("real_data", ()))


def audit(spec: Spec, facts: Facts, violations: list[Violation]) -> dict[str, Any]:
    """Return what docs/open/method.md says of a study, as JSON values."""
    values = list(values_in(facts))
    rows = [n for grid in spec.grids if (n := _test_rows(grid)) is not None]
    seeds = [grid.seeds for grid in spec.grids if grid.seeded]
    return {
        "networks": [min(seeds), max(seeds)] if seeds else [],
        "test_rows": min(rows, default=None),
        "sizes": sizes(spec),
        "along": spec.method.get("sizes", {}).get("along"),
        "optima": [
            {
                "path": path,
                "at": dict(best.at),
                "ends": {axis: list(ends) for axis, ends in best.ends.items()},
                "at_end": list(best.axes_at_end),
            }
            for path, best in values
            if isinstance(best, BestPoint)
        ],
        "competitors": competitors(spec),
        "paired": sum(isinstance(v, PairedEstimate) for _, v in values),
        "selections": [str(v) for _, v in values if isinstance(v, Selection)],
        "real_data": [name for name in _real_data(spec) if name in {g.name for g in spec.grids}],
        "out_of_reach": spec.method.get("out_of_reach"),
        "violations": [str(v) for v in violations],
    }
