"""The spec of a sweep: a TOML file of grids, validated with messages that name the key.

name = "my-sweep"
convention = "moniri"       # whose parameters [problem] uses; default "onegrad"

[problem]                   # what all grids share
n = 1000
phi = 0.5
psi = 0.75

[quick]                     # what --quick changes
problem.n = 400

[[grid]]
name = "simulation"
measure = "errors"          # a name in the table of measures
seeds = 50
seeds_per_cell = 5
problem.alpha = "0:0.5:11"  # a range start:stop:count[:log]; a list works too
quick.seeds = 5
"""

import inspect
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any, Self

from onegrad.exceptions import InvalidInput, check_choice, closest
from onegrad.experiments.cell import DTYPES, Option
from onegrad.experiments.measure import Measures
from onegrad.io.files import suggest_file
from onegrad.io.ranges import parse_numbers
from onegrad.problem import FIELDS, Problem

CONVENTIONS: dict[str, Callable[..., Problem]] = {
    "onegrad": Problem,
    "moniri": Problem.moniri,
    "ba": Problem.ba,
    "cui": Problem.cui,
}
FIXED_FIELDS = {  # fields that a convention sets by itself
    "moniri": {"ridge", "noise", "d", "N", "eta"},
    "ba": {"ridge", "noise", "n", "N", "residual", "weights", "alpha"},
    "cui": {"ridge", "noise", "N", "n_step", "residual", "readout", "alpha"},
}
STEP_KEYS = ("alpha", "eta", "c", "ridge", "lam")  # they share one gradient, hence one cell
TEXT_KEYS = tuple(name for name, f in FIELDS.items() if f.is_text)
FLAG_KEYS = tuple(name for name, f in FIELDS.items() if f.kind == "flag")
# What is beyond these limits is a slip, refused before it is counted or held; none is tuned.
MAX_FIELD_VALUES = 100_000
MAX_ORDER = 10_000  # of the studies of a report
MAX_GRID_SEEDS = 10**9
MAX_SEEDS_PER_CELL = 10**6  # a cell that is killed is lost as a whole


@dataclass(frozen=True)
class Grid:
    """One grid: a measure, its seeds, and the problem's fields as values or tuples of values.

    seeded : True if the measure is random.
    location : the place of the grid in its file, for messages.
    """

    name: str
    measure: str
    problem: Mapping[str, Any]
    seeds: int = 1
    seeds_per_cell: int = 1
    convention: str = "onegrad"
    options: Mapping[str, Option] = field(default_factory=dict)
    dtype: str = "float64"
    seeded: bool = True
    location: str = "grid"


@dataclass(frozen=True)
class Spec:
    """A named list of grids, and what a study says about itself.

    order : place among the studies of a report.
    module : name of the module that draws it; None for one of the study's own name.
    text : templates of the study's texts (title, caption, …).
    headlines : sentences of the study, each with the fact that decides it.
    method : what a study declares about its sizes, competitors, data and teachers.
    """

    name: str
    grids: tuple[Grid, ...]
    order: int = 0
    module: str | None = None
    text: Mapping[str, Any] = field(default_factory=dict)
    headlines: tuple[Mapping[str, Any], ...] = ()
    method: Mapping[str, Any] = field(default_factory=dict)

    def limited(self, seeds: int | None) -> Self:
        """Return the spec with about this many seeds per point, rounded up to whole cells.

        Its cells are a subset of those of the full spec.
        """
        if seeds is None:
            return self
        limit = _whole_number(seeds, "seeds", MAX_GRID_SEEDS)
        grids = []
        for grid in self.grids:
            rounded = -(-limit // grid.seeds_per_cell) * grid.seeds_per_cell
            grids.append(replace(grid, seeds=min(grid.seeds, rounded)))
        return replace(self, grids=tuple(grids))


SHARED_KEYS = ("convention", "problem", "seeds", "seeds_per_cell", "dtype")  # by all grids
STUDY_KEYS = ("order", "module", "text", "headline", "method")
HEADLINE_KEYS = ("says", "quantity", "value", "above", "below")
METHOD_KEYS = ("sizes", "competitors", "untuned", "real_data", "out_of_reach")
GRID_KEYS = tuple(f.name for f in fields(Grid) if f.name not in ("seeded", "location"))


def read_spec(path: Path, measures: Measures, *, quick: bool = False) -> Spec:
    """Return the spec in a TOML file; with quick, as its [quick] tables change it."""
    try:
        table = tomllib.loads(path.read_text("utf-8-sig"))  # which may begin with a byte-order mark
    except OSError as error:
        question = suggest_file(path, (".toml",)) if isinstance(error, FileNotFoundError) else ""
        problem = f"cannot be read: {error.strerror or error}{question}"
        raise InvalidInput(str(path), problem=problem) from None
    except RecursionError:
        raise InvalidInput(str(path), problem="not valid TOML: nested too deeply") from None
    except ValueError as error:  # of TOML, of an encoding, of a number with too many digits
        raise InvalidInput(str(path), problem=f"not valid TOML: {error}") from None
    try:
        return parse_spec(table, path.stem, measures, quick=quick)
    except InvalidInput as error:
        raise error.renamed(f"{path}: {error.argument}") from None


def parse_spec(
    table: Mapping[str, Any], name: str, measures: Measures, *, quick: bool = False
) -> Spec:
    """Return the spec of a parsed table; `name` is used where the table has none."""
    _check_keys(table, ("name", "grid", *SHARED_KEYS, "quick", *STUDY_KEYS), "")
    _check_keys(table.get("quick", {}), SHARED_KEYS, "quick")
    name = _text(table.get("name", name), "name")
    grids = table.get("grid")
    if isinstance(grids, Mapping):
        grids = [grids]
    if not isinstance(grids, list) or not grids:
        raise InvalidInput("grid", problem="at least one [[grid]] table is needed")
    shared = {key: table[key] for key in SHARED_KEYS if key in table}
    if quick:
        shared = _merged(shared, table.get("quick", {}))
    parsed = tuple(
        _grid(grid, f"grid[{i}]", shared, measures, quick) for i, grid in enumerate(grids)
    )
    names = [g.name for g in parsed]
    if len(set(names)) < len(names):
        raise InvalidInput("grid", problem=f"names must differ; got {', '.join(names)}")
    order = _whole_number(table["order"], "order", MAX_ORDER) if "order" in table else 0
    module = _text(table["module"], "module") if "module" in table else None
    text = table.get("text", {})
    if not isinstance(text, Mapping):
        raise InvalidInput("text", text, "a table")
    method = table.get("method", {})
    _check_keys(method, METHOD_KEYS, "method")
    headlines = tuple(_headline(h, i) for i, h in enumerate(table.get("headline", ())))
    return Spec(name, parsed, order, module, text, headlines, method)


def _headline(table: Any, index: int) -> Mapping[str, Any]:
    location = f"headline[{index}]"
    _check_keys(table, HEADLINE_KEYS, location)
    for key in ("quantity", "value"):
        if not isinstance(table.get(key), str):
            raise InvalidInput(f"{location}.{key}", table.get(key), "a text")
    if not {"above", "below"} & set(table):
        raise InvalidInput(location, problem="give above, below or both: where the sentence holds")
    return dict(table)


def _grid(
    table: Any, location: str, shared: Mapping[str, Any], measures: Measures, quick: bool
) -> Grid:
    _check_keys(table, (*GRID_KEYS, "quick"), location)
    if quick and "quick" in table:
        _check_keys(table["quick"], GRID_KEYS[2:], f"{location}.quick")
        table = _merged(table, table["quick"])
    table = _merged(shared, table)
    for key in ("measure", "problem"):
        if key not in table:
            raise InvalidInput(f"{location}.{key}", problem="missing")
    name = check_choice(f"{location}.measure", table["measure"], measures)
    convention = table.get("convention", "onegrad")
    check_choice(f"{location}.convention", convention, CONVENTIONS)
    seeds = _whole_number(table.get("seeds", 1), f"{location}.seeds", MAX_GRID_SEEDS)
    per_cell = table.get("seeds_per_cell", seeds)
    _whole_number(per_cell, f"{location}.seeds_per_cell", MAX_GRID_SEEDS)
    if per_cell > MAX_SEEDS_PER_CELL and seeds > MAX_SEEDS_PER_CELL:
        raise InvalidInput(f"{location}.seeds_per_cell", per_cell, f"at most {MAX_SEEDS_PER_CELL}")
    options = table.get("options", {})
    _check_keys(options, measures[name].options, f"{location}.options")
    for key, value in options.items():
        if not isinstance(value, Option) or (isinstance(value, float) and not isfinite(value)):
            allowed = "a number that is finite, a text or true/false"
            raise InvalidInput(f"{location}.options.{key}", value, allowed)
    return Grid(
        name=_text(table.get("name", name), f"{location}.name"),
        measure=name,
        problem=_fields(table["problem"], convention, f"{location}.problem"),
        seeds=seeds,
        seeds_per_cell=per_cell,
        convention=convention,
        options=dict(options),
        dtype=check_choice(f"{location}.dtype", table.get("dtype", "float64"), DTYPES),
        seeded=measures[name].seeded,
        location=location,
    )


def _fields(table: Any, convention: str, location: str) -> dict[str, Any]:
    """Return the problem's fields, lists and ranges as tuples."""
    own = inspect.signature(CONVENTIONS[convention]).parameters
    allowed = {k for k, p in own.items() if p.kind is p.KEYWORD_ONLY}
    if convention != "onegrad":
        allowed |= set(FIELDS) - FIXED_FIELDS[convention]
    _check_keys(table, sorted(allowed), location)
    if "alpha" in table and "eta" in table:
        raise InvalidInput(f"{location}.alpha", problem="give alpha or eta, not both")
    return {key: _values(value, key, f"{location}.{key}") for key, value in table.items()}


def _values(value: Any, key: str, location: str) -> Any:
    if isinstance(value, list):
        if not value:
            raise InvalidInput(location, problem="an empty list; give at least one value")
        return tuple(_scalar(v, key, location) for v in value)
    if isinstance(value, str) and key not in TEXT_KEYS:
        return tuple(parse_numbers(value, location, MAX_FIELD_VALUES))
    return _scalar(value, key, location)


def _scalar(value: Any, key: str, location: str) -> Any:
    types: tuple[type, ...] = (str,) if key in TEXT_KEYS else (int, float)
    # True is an int to Python, and a slip unless the field is a flag
    if not isinstance(value, types) or (isinstance(value, bool) and key not in FLAG_KEYS):
        numbers = "a number, a list, or a range 'start:stop:count'"
        raise InvalidInput(location, value, "a text" if key in TEXT_KEYS else numbers)
    return value


def _check_keys(table: Any, allowed: Collection[str], location: str) -> None:
    if not isinstance(table, Mapping):
        raise InvalidInput(location, table, "a table")
    for key in table:
        if key not in allowed:
            near = closest(str(key), allowed)
            hint = f"did you mean {near}?" if near else f"allowed are {', '.join(allowed)}"
            path = f"{location}.{key}" if location else str(key)
            raise InvalidInput(path, problem=f"unknown key; {hint}")


def _whole_number(value: Any, location: str, largest: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= largest:
        raise InvalidInput(location, value, f"a whole number from 1 to {largest}")
    return value


def _text(value: Any, location: str) -> str:
    """Return the name of a folder, or one that is printed and stands in a list."""
    if not isinstance(value, str) or not value.isprintable() or not 1 <= len(value) <= 100:
        raise InvalidInput(location, value, "a text of 1 to 100 characters that can be printed")
    if "/" in value or ", " in value:
        raise InvalidInput(location, value, "a text without '/' and ', '")
    return value


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return base with changes; tables are merged one level down."""
    merged = dict(base)
    for key, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(base.get(key), Mapping)
        merged[key] = {**base[key], **value} if both else value
    return merged
