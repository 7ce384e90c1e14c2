"""What a theory answers: errors of problems, with what the solver knew of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from onegrad.exceptions import AssumptionWarning
from onegrad.io.json_values import json_values
from onegrad.pictures import style
from onegrad.pictures.error_curves import check_quantities, draw_predicted_errors
from onegrad.pictures.layout import field_text, fixed_fields
from onegrad.pictures.result_tables import dataframe, html_table
from onegrad.problem import Problem

Value = Any  # a number, an array, or None
DASHES = {
    "staircase": style.LONG_DASHES,
    "staircase as printed": style.DOTS,
    "small-step": style.DASH_DOTS,
    "random-features": style.SHORT_DASHES,
}


@dataclass(frozen=True, kw_only=True)
class Bars:
    """A number, or an array over problems, for the training and for the test error."""

    train: Value = math.nan
    test: Value = math.nan

    def map(self, change: Callable[[Any], Any]) -> Bars:
        """Both changed in the same way."""
        return Bars(train=change(self.train), test=change(self.test))


@dataclass(frozen=True, kw_only=True)
class Errors:
    """What a theory says of errors: numbers for one problem, or arrays over several.

    train : ridge objective at its minimum, penalty included.
    test : E(y - f)^2 with label noise.
    squared_loss : training loss without the penalty, where the theory gives it.
    residual, iterations : of the equations behind the errors, when their solver stopped.
    accuracy : relative, 95 %: |mean over networks - prediction| <= accuracy x prediction; NaN for
        the asymptotic theories, which have no finite-size error of their own.
    spread : standard deviation of a single network around that mean; NaN likewise.
    quadrature_error, nodes : estimated relative error of finitely many nodes, and how many of the
        index and of a neuron (a last axis of two); None for closed forms.
    warnings : one for each assumption that does not hold.
    """

    train: Value
    test: Value
    squared_loss: Value
    residual: Value
    iterations: Value
    accuracy: Bars = Bars()
    spread: Bars = Bars()
    quadrature_error: Value = None
    nodes: Value = None
    warnings: tuple[AssumptionWarning, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class Prediction(Errors):
    """Errors that a theory predicts: floats, or arrays of the grid's shape.

    Attributes
    ----------
    train, test, squared_loss : the errors, penalty and label noise included; risk : test - noise^2.
    accuracy, spread : how far the mean over networks may lie off (relative, 95 %), and how far
        single networks scatter around it (standard deviation), each with train and test.
    alpha, eta, ridge : the points; alpha is NaN where eta = 0.
    linear : test error of the best linear predictor; kernel_bound : lower bound on the test error
        of every kernel at n of the order of d. In this limit the two agree.
    axes : the listed values of the grid, in the order of the arrays' axes.
    printed : whether these are a theorem's formulas as printed, wrong factors included.

    Examples
    --------
    >>> import onegrad as og
    >>> p = og.predict(og.Problem(n=1000, d=500, N=667), alpha=[0.1, 0.3])
    >>> p
    Prediction(uniform: 2 alpha: test ... to ...)
    >>> bool((p.accuracy.test < 0.02).all()), [sorted(row)[0] for row in p.results()]
    (True, ['alpha', 'alpha'])
    """

    problem: Problem
    theory: str
    risk: Value
    alpha: Value
    eta: Value
    ridge: Value
    linear: Value
    kernel_bound: Value
    axes: dict[str, list[Any]] = field(default_factory=dict)
    printed: bool = False

    def results(self) -> list[dict[str, float | None]]:
        """One dictionary per point, in C order: the JSON of the command line."""
        columns = {k: getattr(self, k) for k in ("alpha", "eta", "ridge", "train", "test", "risk")}
        for kind in ("accuracy", "spread"):
            for name in ("train", "test"):
                value = getattr(getattr(self, kind), name)
                if np.all(np.isfinite(value)):
                    columns[f"{name}_{kind}"] = value
        numbers = zip(*(np.ravel(column).tolist() for column in columns.values()), strict=True)
        rows = []
        for point, values in zip(product(*self.axes.values()), numbers, strict=True):
            found = zip(columns, values, strict=True)
            row = {name: None if np.isnan(value) else value for name, value in found}
            others = zip(self.axes, point, strict=True)
            known = {name: _json_value(value) for name, value in others if name not in row}
            rows.append(row | known)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        found: dict[str, Any] = json_values(
            {
                "results": self.results(),
                "problem": self.problem.to_dict(),
                "theory": self.theory,
                "printed": self.printed,
                "linear": self.linear,
                "kernel_bound": self.kernel_bound,
                "warnings": [str(warning) for warning in self.warnings],
            }
        )
        return found

    def to_dataframe(self) -> Any:
        """A pandas DataFrame with the rows of `results`."""
        return dataframe(self.results())

    def plot(
        self, ax: Any = None, quantities: str | Sequence[str] = ("test", "train"), **line: Any
    ) -> Any:
        """Draw the errors along the first axis of numbers, a colour for each value of the others.

        Bands show `accuracy` where the theory has one; a single problem is drawn as bars.

        Parameters
        ----------
        ax : matplotlib axes; new ones where none are given.
        quantities : of train, test, risk and squared_loss.
        line : options of matplotlib's lines, such as color and label.

        Returns
        -------
        The axes; `Simulation.plot` on the same ones adds networks in the same colours.
        """
        names = check_quantities(quantities, ("test", "train", "risk", "squared_loss"))
        found = {}
        for name in names:
            values, of = getattr(self, name), {"risk": "test"}.get(name, name)
            off = getattr(self.accuracy, of, math.nan) * getattr(self, of)
            spread = np.broadcast_to(getattr(self.spread, of, math.nan), np.shape(values))
            found[name] = values, np.broadcast_to(off, np.shape(values)), spread
        levels = {"best linear": self.linear, "kernel bound": self.kernel_bound}
        if not {"test", "risk"} & set(names):
            levels = {}
        if "risk" in names:
            noise = self.test - self.risk
            levels = {name: value - noise for name, value in levels.items()}
        look = {"dash": DASHES.get(self._named, style.SOLID), "jumps": self.theory == "staircase"}
        return draw_predicted_errors(ax, self._named, self.axes, found, levels, **look, **line)

    @property
    def _named(self) -> str:
        return f"{self.theory} as printed" if self.printed else self.theory

    def _repr_html_(self) -> str:
        settings = fixed_fields(self.problem, self.axes)
        return html_table(f"{self._named} theory", settings, self.results())

    def __repr__(self) -> str:
        if np.ndim(self.test) == 0:
            values = f"train={self.train:.6g}, test={self.test:.6g}, risk={self.risk:.6g}"
        else:
            grid = " x ".join(f"{len(v)} {k}" for k, v in self.axes.items())
            values = f"{grid}: test {np.min(self.test):.6g} to {np.max(self.test):.6g}"
        return f"Prediction({self._named}: {values})"


def _json_value(value: Any) -> Any:
    """A value of an axis: numbers and texts as they are, functions by name."""
    simple = isinstance(value, str | int | float | np.generic)
    return json_values(value) if simple else field_text(value)
