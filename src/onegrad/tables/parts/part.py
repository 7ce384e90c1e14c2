r"""Parts of a prediction: functions of scaled rows whose scores add up.

.. math:: f(z) = \sum_p c_p\,p(z)

Ridge regression on the features of the first layer is always among them
(:class:`~onegrad.tables.model.fitted.Member`). Further ones are rows of a table
(:mod:`onegrad.tables.parts.table`). A new part is one file with

1. a class that follows :class:`Part`: its scores, and the arrays that a file holds;
2. a learner (:class:`~onegrad.tables.parts.learner.Learner`), which says what it makes of a fit;

and one row of the table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput
from onegrad.tables.rows.sample import RowKeys

FAR = 1e6  # beyond all scaled inputs
Single = np.ndarray[Any, np.dtype[np.float32]]
NamedArrays = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class ArraySpec:
    """Names of an array's axes, separated by spaces, and the type of its numbers."""

    axes: str
    dtype: type = np.float64
    infinite: bool = False  # whether its numbers may be
    increasing: bool = False  # whether they must be

    def __str__(self) -> str:
        return f"{self.dtype.__name__}({', '.join(self.axes.split())})"


KEYS = ArraySpec("rows", np.uint64, increasing=True)  # of distinct rows


def check_arrays(
    specs: Mapping[str, ArraySpec], arrays: NamedArrays, sizes: Mapping[str, int]
) -> None:
    """Raise InvalidInput unless the arrays are numbers that fit together.

    An axis whose size is not among `sizes` takes it from the first array that has it.
    """
    known_sizes = dict(sizes)
    for name, spec in specs.items():
        array, axes = arrays[name], spec.axes.split()
        fits = array.dtype == spec.dtype and array.ndim == len(axes)
        lengths = zip(axes, array.shape, strict=True)
        if not fits or any(known_sizes.setdefault(axis, size) != size for axis, size in lengths):
            raise InvalidInput("array", name, problem=f"{array.dtype}{array.shape}, not {spec}")
        if not (np.isfinite(array) | (spec.infinite & ~np.isnan(array))).all():
            raise InvalidInput("array", name, problem="it has entries that are not finite")
        if spec.increasing and (array[1:] <= array[:-1]).any():
            raise InvalidInput("array", name, problem="its entries do not increase")


class Part(ABC):
    """A function of scaled rows that adds to a prediction; a frozen value.

    It stays as it was learned, whatever rows come and go, unless it is a :class:`RowPart`.
    """

    @abstractmethod
    def __call__(self, z: Floats, keys: RowKeys | None = None) -> Floats:
        """Return the (n, K) scores of scaled inputs (n, d).

        `keys` (n,) are those of rows that are not to answer for themselves, where it knows them.
        """

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """Return the part whose scores are multiplied by a factor."""

    @property
    @abstractmethod
    def products_per_row(self) -> int:
        """Number of products in the time that the scores of one row take."""

    @property
    def facts(self) -> dict[str, Any]:
        """Everything but its arrays, as JSON values."""
        return {}

    @classmethod
    @abstractmethod
    def specs(cls, facts: Mapping[str, Any]) -> Mapping[str, ArraySpec]:
        """Return its arrays by name; the axes `inputs` and `outputs` are those of the model."""

    def arrays(self) -> NamedArrays:
        """Return its arrays by name: its fields, if they are nothing else."""
        return vars(self)

    @classmethod
    def from_arrays(cls, arrays: NamedArrays, _: Mapping[str, Any], __: int, /) -> Self:
        """Return the part of arrays that fit its specs, of its facts, for so many scaled inputs.

        Raise InvalidInput where their values do not fit.
        """
        return cls(**arrays)


class RowPart(Part):
    """A part that rows join as they come to the model, and that forgets those that leave it."""

    rows: Any  # the state that rows contributed: values which add and subtract

    @abstractmethod
    def rows_of(self, keys: RowKeys, z: Floats, t: Floats, w: Floats) -> Any:
        """Return the state that these rows contribute: a value that adds and subtracts."""

    @abstractmethod
    def with_rows(self, rows: Any) -> Self:
        """Return the part that knows other rows."""
