"""Rules of a finding, judged at full sizes: docs/open/method.md says why.

A study declares what cannot be read off its grids in the table [method] of its TOML file:

    sizes = { grid = "networks", along = "n" }      # at least three, with a `Trend` in the facts
    competitors = [ { name = "ours", grid = "same" },               # those of a grid, or of several
                    { name = "AdamW", settings = 6, rows = 500 } ]  # or of a measure
    real_data = ["digits"]                          # grids whose test rows are limited by the data
    out_of_reach = "why the teacher has degrees that the network cannot represent"
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from onegrad.exceptions import InvalidInput
from onegrad.experiments.grid import problems_of
from onegrad.experiments.spec import Grid, Spec
from onegrad.problem import representation_warnings
from onegrad.studies.findings import BestPoint, Facts, PairedEstimate, Selection, Trend, values_in
from onegrad.studies.measures import MEASURES

MIN_TEST_ROWS = 20_000  # the error of a mean of squared Gaussian residuals is then sqrt(2/n) = 1 %
MIN_SIZES = 3  # through two points there is always a line
_SIZE = re.compile(r"\b(n|d|N) = \d")  # a size that a sentence names


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
    sentences = f"{text.get('title', '')} {text.get('finding', '')}"
    return [
        *interior_optima(facts, sentences),
        *paired_differences(spec, facts),
        *several_sizes(spec, facts, sentences),
        *stated_selections(facts, " ".join(text.values())),
    ]


def interior_optima(facts: Facts, sentences: str) -> Iterator[Violation]:
    """A best value lies inside its grid, or the sentence says "at least" or "at most"."""
    for path, value in values_in(facts):
        if not isinstance(value, BestPoint):
            continue
        for axis in value.axes_at_end:
            place = f"{path} is best at {axis} = {value.at[axis]:.4g}, an end of its grid"
            if axis not in value.one_sided:
                yield Violation("interior optimum", place)
            elif "at least" not in sentences and "at most" not in sentences:
                problem = f'{place}, and the sentence does not say "at least" or "at most"'
                yield Violation("interior optimum", problem)


def same_tuning(spec: Spec) -> Iterator[Violation]:
    """All competitors have the same number of tried settings and of rows to choose by."""
    budgets = competitors(spec)
    for what in ("settings", "rows"):
        numbers = {budget["name"]: budget[what] for budget in budgets}
        if len(set(numbers.values())) > 1:
            listed = ", ".join(f"{name} {number}" for name, number in numbers.items())
            yield Violation("same tuning", f"{what} differ: {listed}")


def paired_differences(spec: Spec, facts: Facts) -> Iterator[Violation]:
    """A study of competitors states a difference over common seeds."""
    values = [value for _, value in values_in(facts)]
    if competitors(spec) and not any(isinstance(value, PairedEstimate) for value in values):
        yield Violation("paired differences", "competitors are compared without one")


def enough_test_rows(spec: Spec) -> Iterator[Violation]:
    """Every network is tested on enough rows, unless the data are real."""
    for grid in spec.grids:
        rows = _test_rows(grid)
        if rows is not None and rows < MIN_TEST_ROWS and grid.name not in _real_data(spec):
            problem = f"grid {grid.name} has n_test = {rows}; at least {MIN_TEST_ROWS} are needed"
            yield Violation("test rows", problem)


def several_sizes(spec: Spec, facts: Facts, sentences: str) -> Iterator[Violation]:
    """There are three sizes and the trend, or the sentence names its size."""
    if _SIZE.search(sentences):
        return
    levels = sizes(spec)
    if len(levels) < MIN_SIZES:
        problem = f"{len(levels) or 1} of {MIN_SIZES} sizes, and no sentence says at which n"
        yield Violation("several sizes", problem)
    elif not any(isinstance(value, Trend) for _, value in values_in(facts)):
        yield Violation("several sizes", "the facts have no trend in the size")


def representable(spec: Spec) -> Iterator[Violation]:
    """The network can represent the teacher, unless the study declares that it cannot."""
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
    names = [entry["grid"]] if isinstance(entry["grid"], str) else entry["grid"]
    grids = [_grid(spec, str(name)) for name in names]
    first_problems = [problems_of(grid)[0] for grid in grids]
    return {
        "name": entry["name"],
        "settings": sum(len(first.etas) * len(first.ridges) for first in first_problems),
        "rows": min(_test_rows(grid) or 0 for grid in grids),  # chosen by the test error itself
    }


def sizes(spec: Spec) -> list[int]:
    """Return the sizes of the grid that the study declares for its trend."""
    declared = spec.method.get("sizes")
    if declared is None:
        return []
    variants = problems_of(_grid(spec, str(declared["grid"])))
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
        "real_data": list(_real_data(spec)),
        "out_of_reach": spec.method.get("out_of_reach"),
        "violations": [str(v) for v in violations],
    }
