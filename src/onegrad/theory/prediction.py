"""Predicted errors: numbers of a theory, with what its solver knows about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from onegrad.exceptions import AssumptionWarning
from onegrad.io.json_values import json_values
from onegrad.pictures import style
from onegrad.pictures.error_curves import check_quantities, draw_predicted_errors
from onegrad.pictures.result_tables import (
    dataframe,
    field_text,
    html_table,
    row_with_margins,
    with_error,
)
from onegrad.problem import Problem
from onegrad.theory.direction import NumberOrArray


@dataclass(frozen=True, kw_only=True)
class TrainTest:
    """A number, or an array over problems, for each of the training and the test error."""

    train: NumberOrArray = math.nan
    test: NumberOrArray = math.nan

    def map(self, change: Callable[[Any], Any]) -> TrainTest:
        """Return both changed in the same way."""
        return TrainTest(train=change(self.train), test=change(self.test))


@dataclass(frozen=True, kw_only=True)
class Errors:
    """Errors under a theory: numbers for one problem, or arrays over several."""

    train: NumberOrArray  # ridge objective at its minimum, penalty included
    test: NumberOrArray  # E(y - f)^2 with label noise
    squared_loss: NumberOrArray  # training loss without the penalty, where the theory gives it
    residual: NumberOrArray  # of the solver of the equations behind the errors, when it stopped
    iterations: NumberOrArray  # of the same solver
    # relative, 95 %: |mean over networks - prediction| <= accuracy x prediction; NaN for the
    # asymptotic theories, which have no finite-size error of their own
    accuracy: TrainTest = TrainTest()
    # standard deviation of a single network around that mean; NaN likewise
    spread: TrainTest = TrainTest()
    # relative, estimated, of finitely many nodes; None for closed forms
    quadrature_error: NumberOrArray = None
    # their numbers for the index and for a neuron (a last axis of two); None likewise
    nodes: NumberOrArray = None
    # mean square of the labels where inputs have a covariance; else NaN
    label_energy: NumberOrArray = math.nan
    warnings: tuple[AssumptionWarning, ...] = ()  # one for each assumption that does not hold
    # numbers that neglected terms grow with, by their names: one mapping for each problem
    neglected: tuple[Mapping[str, float], ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class Prediction(Errors):
    """Errors that a theory predicts: floats, or arrays of the grid's shape.

    Attributes
    ----------
    train, test, risk : the ridge objective at its minimum, E(y - f_hat)^2 with label noise, and
        test - noise^2.
    squared_loss : the training loss without penalty.
    accuracy, spread : how far the mean over networks may lie off (relative, 95 %), and how far
        single networks scatter around it (standard deviation), each with train and test.
    alpha, eta, ridge : the points; alpha is NaN where eta = 0.
    kernel_bound : lower bound on the test error of every kernel at n of the order of d, which is
        also the test error of the best linear predictor; NaN for inputs with a covariance.
    axes : the listed values of the grid, in the order of the arrays' axes.
    label, dash, jumps : name in legends, matplotlib's line style, and whether curves jump at the
        thresholds of alpha.

    Examples
    --------
    >>> import onegrad as og
    >>> p = og.predict(og.Problem(n=1000, d=500, N=667), alpha=[0.1, 0.3])
    >>> p
    Prediction(uniform: 2 alpha: test ... to ...)
    >>> p.test.shape, bool((p.margin("test") < 0.02 * p.test).all())
    ((2,), True)
    """

    problem: Problem
    theory: str
    risk: NumberOrArray
    alpha: NumberOrArray
    eta: NumberOrArray
    ridge: NumberOrArray
    kernel_bound: NumberOrArray
    label: str
    axes: dict[str, list[Any]] = field(default_factory=dict)
    dash: Any = style.SOLID
    jumps: bool = False

    def margin(self, quantity: str) -> NumberOrArray:
        """Return the half-width of the 95 % band around train, test or risk.

        It is the accuracy times the error for which the accuracy is stated, and NaN for a theory
        without an accuracy or for the squared loss.
        """
        name = {"risk": "test"}.get(quantity, quantity)
        return getattr(self.accuracy, name, math.nan) * getattr(self, name)

    def results(self) -> list[dict[str, float | None]]:
        """Return one dictionary per point, in C order: the JSON of the command line."""
        columns = {k: getattr(self, k) for k in ("alpha", "eta", "ridge", "train", "test", "risk")}
        for kind in ("accuracy", "spread"):
            for name in ("train", "test"):
                value = getattr(getattr(self, kind), name)
                if np.all(np.isfinite(value)):
                    columns[f"{name}_{kind}"] = value
        numbers = zip(*(np.ravel(column).tolist() for column in columns.values()), strict=True)
        rows = []
        for point, values in zip(product(*self.axes.values()), numbers, strict=True):
            named = zip(columns, values, strict=True)
            row = {name: None if np.isnan(value) else value for name, value in named}
            along = zip(self.axes, point, strict=True)
            rows.append(
                row | {name: _json_value(value) for name, value in along if name not in row}
            )
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return the prediction as JSON values."""
        return json_values(
            {
                "results": self.results(),
                "problem": self.problem.to_dict(),
                "theory": self.theory,
                "kernel_bound": self.kernel_bound,
                "warnings": [str(warning) for warning in self.warnings],
            }
        )

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with one row per point.

        `train_margin` and `test_margin` are half-widths of 95 % bands, in place of the relative
        accuracies of `results`.
        """
        rows = self.results()
        for name in ("train", "test"):
            margins = np.ravel(np.broadcast_to(self.margin(name), np.shape(getattr(self, name))))
            for row, margin in zip(rows, margins, strict=True):
                if row.pop(f"{name}_accuracy", None) is not None:
                    row[f"{name}_margin"] = float(margin)
        return dataframe(rows)

    def plot(
        self, ax: Any = None, quantities: str | Sequence[str] = ("test", "train"), **line: Any
    ) -> Any:
        """Draw the errors along the first axis of numbers, a colour for each value of the others.

        Bands show the accuracy where the theory states one; a single problem is drawn as bars.

        Parameters
        ----------
        ax : matplotlib axes; by default new ones.
        quantities : one or several of train, test, risk and squared_loss.
        line : options of matplotlib's lines, such as color and label.

        Returns
        -------
        matplotlib.axes.Axes : on which `Simulation.plot` adds networks in the same colours.
        """
        names = check_quantities(quantities, ("test", "train", "risk", "squared_loss"))
        curves = {}
        for name in names:
            values = getattr(self, name)
            spread = getattr(self.spread, {"risk": "test"}.get(name, name), math.nan)
            bars = (np.broadcast_to(bar, np.shape(values)) for bar in (self.margin(name), spread))
            curves[name] = (values, *bars)
        bound = self.kernel_bound if {"test", "risk"} & set(names) else ()
        if "risk" in names:
            bound = bound - (self.test - self.risk)
        return draw_predicted_errors(
            ax, self.label, self.axes, curves, bound, dash=self.dash, jumps=self.jumps, **line
        )

    def _repr_html_(self) -> str:
        rows = [row_with_margins(row) for row in self.results()]
        return html_table(f"{self.label} theory", self.problem, rows, self.axes)

    def __repr__(self) -> str:
        if np.ndim(self.test) == 0:
            errors = (
                f"{name}={with_error(float(getattr(self, name)), float(self.margin(name)))}"
                for name in ("train", "test")
            )
            values = ", ".join(errors)
        else:
            grid = " x ".join(f"{len(v)} {k}" for k, v in self.axes.items())
            values = f"{grid}: test {np.min(self.test):.4g} to {np.max(self.test):.4g}"
        return f"Prediction({self.label}: {values})"


def _json_value(value: Any) -> Any:
    """Return a value of an axis: numbers and texts as they are, functions by name."""
    simple = isinstance(value, str | int | float | np.generic)
    return json_values(value) if simple else field_text(value)
