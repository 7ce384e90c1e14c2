"""A cell: the smallest piece of work of a sweep, a pure function of this value.

Its key is the SHA-256 of its canonical JSON. Resuming a sweep needs nothing else: what remains is
the grid minus the keys in the store.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from onegrad.exceptions import InvalidInput
from onegrad.problem import Problem

CELL_FORMAT = 1  # that of 0.4.0; changes if the same JSON comes to mean something else
Option = str | float | int | bool
DTYPES = ("float64", "float32")


@dataclass(frozen=True)
class Cell:
    """A measure, the problem that it is taken on, and the seeds.

    Parameters
    ----------
    measure : name of the measure, see onegrad.studies.measures.
    problem : the problem; its functions are written as text.
    etas, ridges : step sizes and penalties that share one gradient, hence one cell.
    first_seed, seeds : the seeds are first_seed, ..., first_seed + seeds - 1; none for a theory.
    options : further arguments of the measure, sorted by name.
    dtype : precision of a simulation.
    """

    measure: str
    problem: Problem
    etas: tuple[float, ...]
    ridges: tuple[float, ...]
    first_seed: int = 0
    seeds: int = 0
    options: tuple[tuple[str, Option], ...] = ()
    dtype: str = "float64"

    def __post_init__(self) -> None:
        for name in ("activation", "teacher"):
            function = getattr(self.problem, name)
            if not isinstance(function, str):
                raise InvalidInput(name, function, "written as text in a sweep")

    @property
    def precision(self) -> str:
        """Precision as the store records it: the option of this name, or the dtype."""
        return str(dict(self.options).get("precision", self.dtype))

    @cached_property
    def json(self) -> str:
        """Canonical JSON: sorted keys, no spaces, numbers as Python writes them."""
        # a field added to Problem later, whose default means what was meant before, changes no key
        changed = self.problem.changed()
        step_fields = ("alpha", "eta", "ridge")  # they are in the lists of the cell
        fields: dict[str, Any] = {
            "format": CELL_FORMAT,
            "measure": self.measure,
            "problem": {k: v for k, v in changed.items() if k not in step_fields},
            "etas": self.etas,
            "ridges": self.ridges,
            "first_seed": self.first_seed,
            "seeds": self.seeds,
            "options": dict(self.options),
            "dtype": self.dtype,
        }
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def key(self) -> str:
        """SHA-256 of the canonical JSON."""
        return hashlib.sha256(self.json.encode()).hexdigest()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the cell that this JSON describes."""
        fields = json.loads(text)
        if (number := fields.pop("format")) != CELL_FORMAT:
            raise InvalidInput("format", number, problem=f"this version reads {CELL_FORMAT}")
        etas, ridges = tuple(fields.pop("etas")), tuple(fields.pop("ridges"))
        problem = Problem(**fields.pop("problem"), eta=etas[0], ridge=ridges[0])
        options = tuple(sorted(fields.pop("options").items()))
        return cls(problem=problem, etas=etas, ridges=ridges, options=options, **fields)

    def __reduce__(self) -> tuple[Any, ...]:
        """Cross a process boundary as JSON."""
        return Cell.from_json, (self.json,)
