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
measure = "errors"          # see onegrad.experiments.measures
seeds = 50
seeds_per_cell = 5
problem.alpha = "0:0.5:11"  # a range start:stop:count[:log]; a list works too
quick.seeds = 5
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from onegrad.exceptions import InvalidInput, check_choice, did_you_mean
from onegrad.experiments.cell import DTYPES, Option
from onegrad.experiments.measures import MEASURES
from onegrad.io.ranges import parse_numbers
from onegrad.problem import FIELDS, Problem

CONVENTIONS: dict[str, Callable[..., Problem]] = {
    "onegrad": Problem,
    "moniri": Problem.moniri,
    "ba": Problem.ba,
    "cui": Problem.cui,
}
FIXED = {  # what a convention sets by itself
    "moniri": {"ridge", "noise", "d", "N", "eta"},
    "ba": {"ridge", "noise", "n", "N", "residual", "weights", "alpha"},
    "cui": {"ridge", "noise", "N", "n_step", "residual", "readout", "alpha"},
}
STEP_KEYS = ("alpha", "eta", "c", "ridge", "lam")  # they share one gradient, hence one cell
TEXT_KEYS = tuple(name for name, f in FIELDS.items() if f.written)
FLAG_KEYS = tuple(name for name, f in FIELDS.items() if f.kind == "flag")
MOST_VALUES = 100_000
MOST_SEEDS, MOST_BLOCK = 10**9, 10**6  # of a grid, of a cell


@dataclass(frozen=True)
class Grid:
    """One grid: a measure, its seeds, and the problem's fields as values or tuples of values."""

    name: str
    measure: str
    problem: Mapping[str, Any]
    seeds: int = 1
    seeds_per_cell: int = 1
    convention: str = "onegrad"
    options: Mapping[str, Option] = field(default_factory=dict)
    dtype: str = "float64"
    where: str = "grid"


@dataclass(frozen=True)
class Spec:
    """A named list of grids; `about` holds what a figure says of itself (title, caption, …)."""

    name: str
    grids: tuple[Grid, ...]
    about: Mapping[str, Any] = field(default_factory=dict)

    def limited(self, seeds: int | None) -> Spec:
        """With at most this many seeds a point, in whole cells: a part of the full run's cells."""
        if seeds is None:
            return self
        most = _count(seeds, "--seeds", MOST_SEEDS)
        few = [replace(g, seeds=min(g.seeds, -(-most // g.seeds_per_cell) * g.seeds_per_cell))
               for g in self.grids]  # fmt: skip
        return replace(self, grids=tuple(few))


SHARED = ("convention", "problem", "seeds", "seeds_per_cell", "dtype")  # by all grids of a file
ABOUT = ("title", "paper", "caption", "parameters", "order", "question", "explained")
GRID_KEYS = tuple(f.name for f in fields(Grid) if f.name != "where")


def read_spec(path: Path, *, quick: bool = False) -> Spec:
    """The spec in a TOML file; with quick, as its [grid.quick] tables change it."""
    try:
        with path.open("rb") as file:
            table = tomllib.load(file)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror or error}") from None
    except RecursionError:
        raise InvalidInput(f"{path}: not valid TOML: nested too deeply") from None
    except ValueError as error:  # of TOML, of an encoding, of a number with too many digits
        raise InvalidInput(f"{path}: not valid TOML: {error}") from None
    try:
        return parse_spec(table, path.stem, quick=quick)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


def parse_spec(table: Mapping[str, Any], name: str, *, quick: bool = False) -> Spec:
    """A spec from its parsed table; `name` is taken where the table gives none."""
    _known(table, ("name", "grid", *SHARED, "quick", *ABOUT), "")
    _known(table.get("quick", {}), SHARED, "quick")
    name = _text(table.get("name", name), "name")
    grids = table.get("grid")
    if isinstance(grids, Mapping):
        grids = [grids]
    if not isinstance(grids, list) or not grids:
        raise InvalidInput("grid: at least one [[grid]] table is needed")
    shared = {key: table[key] for key in SHARED if key in table}
    if quick:
        shared = _merged(shared, table.get("quick", {}))
    parsed = tuple(_grid(g, f"grid[{i}]", shared, quick) for i, g in enumerate(grids))
    names = [g.name for g in parsed]
    if len(set(names)) < len(names):
        raise InvalidInput(f"grid: names must differ; got {', '.join(names)}")
    return Spec(name, parsed, {k: table[k] for k in ABOUT if k in table})


def _grid(table: Any, where: str, shared: Mapping[str, Any], quick: bool) -> Grid:
    if not isinstance(table, Mapping):
        raise InvalidInput(f"{where}: must be a table")
    _known(table, (*GRID_KEYS, "quick"), where)
    if quick and "quick" in table:
        _known(table["quick"], GRID_KEYS[2:], f"{where}.quick")
        table = _merged(table, table["quick"])
    table = _merged(shared, table)
    for key in ("measure", "problem"):
        if key not in table:
            raise InvalidInput(f"{where}.{key}: missing")
    measure = check_choice(f"{where}.measure:", table["measure"], MEASURES)
    convention = check_choice(
        f"{where}.convention:", table.get("convention", "onegrad"), CONVENTIONS
    )
    seeds = _count(table.get("seeds", 1), f"{where}.seeds", MOST_SEEDS)
    block = _count(table.get("seeds_per_cell", seeds), f"{where}.seeds_per_cell", MOST_SEEDS)
    if block > MOST_BLOCK and seeds > MOST_BLOCK:
        raise InvalidInput(
            f"{where}.seeds_per_cell: must be at most {MOST_BLOCK} of these {seeds} seeds"
        )
    options = table.get("options", {})
    _known(options, MEASURES[measure].options, f"{where}.options")
    for key, value in options.items():
        if not isinstance(value, Option):
            raise InvalidInput(f"{where}.options.{key}: must be a number, a text or true/false")
    return Grid(
        name=_text(table.get("name", measure), f"{where}.name"),
        measure=measure,
        problem=_fields(table["problem"], convention, f"{where}.problem"),
        seeds=seeds,
        seeds_per_cell=block,
        convention=convention,
        options=dict(options),
        dtype=check_choice(f"{where}.dtype:", table.get("dtype", "float64"), DTYPES),
        where=where,
    )


def _fields(table: Any, convention: str, where: str) -> dict[str, Any]:
    """The problem's fields; lists and ranges become tuples."""
    own = inspect.signature(CONVENTIONS[convention]).parameters
    allowed = {k for k, p in own.items() if p.kind is p.KEYWORD_ONLY}
    if convention != "onegrad":
        allowed |= set(FIELDS) - FIXED[convention]
    _known(table, sorted(allowed), where)
    if "alpha" in table and "eta" in table:
        raise InvalidInput(f"{where}.alpha: give alpha or eta, not both")
    return {key: _values(value, key, f"{where}.{key}") for key, value in table.items()}


def _values(value: Any, key: str, where: str) -> Any:
    if isinstance(value, list):
        if not value:
            raise InvalidInput(f"{where}: an empty list; give at least one value")
        return tuple(_scalar(v, key, where) for v in value)
    if isinstance(value, str) and key not in TEXT_KEYS:
        return tuple(parse_numbers(value, where, MOST_VALUES))
    return _scalar(value, key, where)


def _scalar(value: Any, key: str, where: str) -> Any:
    wanted: tuple[type, ...] = (str,) if key in TEXT_KEYS else (int, float)
    if not isinstance(value, wanted) or (isinstance(value, bool) and key not in FLAG_KEYS):
        kind = "a text" if key in TEXT_KEYS else "a number, a list, or a range 'start:stop:count'"
        raise InvalidInput(f"{where}: must be {kind}; got {value!r:.60}")
    return value


def _known(table: Any, allowed: Collection[str], where: str) -> None:
    if not isinstance(table, Mapping):
        raise InvalidInput(f"{where}: must be a table")
    for key in table:
        if key not in allowed:
            hint = did_you_mean(str(key), allowed) or f"allowed are {', '.join(allowed)}"
            raise InvalidInput(f"{where}{'.' if where else ''}{key}: unknown key; {hint}")


def _count(value: Any, where: str, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise InvalidInput(f"{where}: must be a whole number from 1 to {most}; got {value!r:.60}")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value or len(value) > 100:
        raise InvalidInput(f"{where}: must be a text of 1 to 100 characters; got {value!r:.60}")
    return value


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """base with changes; tables are merged one level down."""
    merged = dict(base)
    for key, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(base.get(key), Mapping)
        merged[key] = {**base[key], **value} if both else value
    return merged
