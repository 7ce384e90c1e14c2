r"""The step, the penalty and the split of the rows that theory calls best.

.. math:: \min_{\alpha,\,\lambda,\,n_0}\ L_{te}(\alpha, \lambda, n_0), \qquad n_0 + n = \text{total}

over a grid in the variables' own scales and then by the simplex method of Nelder and Mead, with the
uniform theory.
"""

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import scipy

from onegrad.arrays import Floats
from onegrad.exceptions import (
    AssumptionWarning,
    InvalidInput,
    NotConverged,
    OutOfScope,
    check_choice,
    warn,
)
from onegrad.io.json_values import json_values
from onegrad.pictures import style
from onegrad.pictures.error_curves import draw_predicted_errors
from onegrad.pictures.result_tables import dataframe, html_table
from onegrad.problem import Problem, check_axes, list_axes
from onegrad.theory import scope
from onegrad.theory.direction import NumberOrArray
from onegrad.theory.dispatch import predict
from onegrad.theory.prediction import Prediction, TrainTest
from onegrad.theory.uniform import uniform_errors

# numbers of points are chosen so that a search takes about a hundred predictions; not tuned
SEARCH_POINTS = {1: 13, 2: 8, 3: 5}  # per variable, by their number
NEIGHBOUR_POINTS = 4  # for later points of a curve, which also start from the one before
CURVE_POINTS = 25
MAX_EVALUATIONS = 80  # of the simplex method
NEAR_END = 0.01  # of a range: an optimum this close to its end is at it


@dataclass(frozen=True)
class SearchRange:
    """The values of a variable that are searched, from low to high."""

    low: float
    high: float
    logarithmic: bool
    about: str  # the variable in words

    def value(self, share: float) -> float:
        if self.logarithmic:
            return float(self.low * (self.high / self.low) ** share)
        return float(self.low + (self.high - self.low) * share)


SEARCH_RANGES = {
    "alpha": SearchRange(-0.5, 1.0, False, "the exponent of the step"),
    "ridge": SearchRange(1e-6, 10.0, True, "the penalty"),
    "n_step": SearchRange(0.02, 0.98, False, "the share of all rows that the step takes"),
}


@dataclass(frozen=True, kw_only=True, repr=False)
class Optimum:
    """The values of some fields of a problem with the least predicted test error.

    Attributes
    ----------
    problem : the problem at its optimum; of a curve, as it was given.
    over : the fields that were chosen.
    values : the best value of each of them.
    train, test, accuracy : errors at the optimum, and how far the mean over networks may lie off.
    axes : the listed values of a curve.
    total : rows of the step and of the fit together, where the step's share was chosen.
    curve : test errors along the first of `over` through the optimum; None for a curve.
    warnings : a best value at the end of its range, and the reasons to distrust the errors.

    Examples
    --------
    >>> import onegrad as og
    >>> problem = og.Problem(n=600, d=300, N=400, activation="tanh", teacher="H1", noise=0.5)
    >>> best = og.optimum(problem, over="ridge")
    >>> bool(best.test < og.predict(problem).test), list(best.values)
    (True, ['ridge'])
    """

    problem: Problem
    over: tuple[str, ...]
    values: dict[str, NumberOrArray]
    train: NumberOrArray
    test: NumberOrArray
    accuracy: TrainTest
    axes: dict[str, list[Any]] = field(default_factory=dict)
    total: int | None = None
    curve: Prediction | None = None
    warnings: tuple[AssumptionWarning, ...] = ()

    def results(self) -> list[dict[str, Any]]:
        """Return one dictionary per point: axis, best values, errors and their accuracy."""
        columns = {
            **self.axes,
            **self.values,
            "train": self.train,
            "test": self.test,
            "train_accuracy": self.accuracy.train,
            "test_accuracy": self.accuracy.test,
        }
        numbers = zip(*(np.ravel(column).tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, point, strict=True)) for point in numbers]

    def to_dict(self) -> dict[str, Any]:
        """Return the optimum as JSON values."""
        return json_values(
            {
                "results": self.results(),
                "problem": self.problem.to_dict(),
                "over": self.over,
                "total": self.total,
                "curve": None if self.curve is None else self.curve.results(),
                "warnings": [str(warning) for warning in self.warnings],
            }
        )

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with the rows of `results`."""
        return dataframe(self.results())

    def plot(self, ax: Any = None, **line: Any) -> Any:
        """Draw the test error through the optimum and mark it, or the best errors along the axis.

        Parameters
        ----------
        ax : matplotlib axes; by default new ones.
        line : options of matplotlib's lines, such as color and label.
        """
        if self.curve is not None:
            ax = self.curve.plot(ax, "test", **line)
            with style.styled_axes(ax) as ax:
                x = self.values[self.over[0]]
                ax.plot(x, self.test, "*", color=style.BLACK, ms=11, zorder=5, label="optimum")
                style.add_legend(ax)
            return ax
        nothing = np.full(np.shape(self.test), math.nan)
        band = self.accuracy.test * np.asarray(self.test)
        name = f"best {' and '.join(self.over)}, uniform"
        curves = {"test": (self.test, band, nothing)}
        return draw_predicted_errors(ax, name, self.axes, curves, **line)

    def _repr_html_(self) -> str:
        title = f"Best {' and '.join(self.over)}, uniform theory"
        return html_table(title, self.problem, self.results(), self.axes)

    def __repr__(self) -> str:
        if self.axes:
            (name, values), low, high = *self.axes.items(), np.min(self.test), np.max(self.test)
            ends = f"test {low:.6g} to {high:.6g}"
            return f"Optimum(over {', '.join(self.over)}: {len(values)} {name}: {ends})"
        best = ", ".join(f"{name}={value:.4g}" for name, value in self.values.items())
        return f"Optimum({best}: test={self.test:.6g})"


def optimum(
    problem: Problem,
    over: str | Sequence[str] = ("alpha", "ridge"),
    *,
    total: int | None = None,
    **axes: Any,
) -> Optimum:
    """Find the step, the penalty or the split of the rows with the least predicted test error.

    Parameters
    ----------
    problem : sizes, functions, noise, ridge and step.
    over : one or several of alpha (the step is n^alpha), ridge and n_step.
    total : rows of the step and of the ridge fit together, which n_step divides; n is the rest.
    axes : one field of the problem with a list of values makes a curve of optima, such as
        N=[250, 500, 1000]; single values replace the problem's own.

    Returns
    -------
    Optimum : the best values, the errors there, and the curve through them.

    Examples
    --------
    >>> import onegrad as og
    >>> best = og.optimum(og.Problem(n=400, d=100, N=200, activation="relu", noise=0.3), "ridge")
    >>> float(best.test) <= float(og.predict(best.problem, ridge=0.5).test)
    True

    Holds where the uniform theory does; an optimum at the end of the searched range warns.
    See tests/theory/test_the_optimum_is_the_least_error.py.
    """
    check_axes(optimum, axes)
    names = (over,) if isinstance(over, str) else tuple(over)
    for name in names:
        check_choice("over", name, tuple(SEARCH_RANGES))
    if not names or len(set(names)) < len(names):
        raise InvalidInput("over", names, "different ones of " + ", ".join(SEARCH_RANGES))
    if ("n_step" in names) != (total is not None):
        raise InvalidInput("total", total, "a number of rows together with 'n_step' in over")
    for name, value in axes.items():
        if name in names or (name == "n" and total is not None):
            raise InvalidInput(name, value, "a field that is not chosen by the optimum")
    lists = list_axes(axes)
    if len(lists) > 1:
        raise InvalidInput(", ".join(lists), problem="at most one list makes a curve of optima")
    problems, _ = problem.grid(**axes) if axes else ([problem], ())
    bests: list[Floats] = []
    for one in problems:
        bests.append(_least(one, names, total, bests[-1] if bests else None))
    chosen = [_at(p, names, best, total) for p, best in zip(problems, bests, strict=True)]
    with scope.numerical_failures("uniform theory"):
        errors = uniform_errors(chosen)
    warnings = (*_warnings_of_ends(names, bests), *errors.warnings)
    warn(*warnings)

    def shaped(values: Any) -> Any:
        return np.array(values) if lists else np.asarray(values)[0].item()

    return Optimum(
        problem=problem if lists else chosen[0],
        over=names,
        values={name: shaped([getattr(p, name) for p in chosen]) for name in names},
        train=shaped(errors.train),
        test=shaped(errors.test),
        accuracy=errors.accuracy.map(shaped),
        axes=lists,
        total=total,
        curve=None if lists else _curve(problems[0], names, bests[0], total),
        warnings=warnings,
    )


def _at(problem: Problem, names: Sequence[str], shares: Iterable[float], total: Any) -> Problem:
    """Return the problem with its variables at these shares of their ranges."""
    changes: dict[str, Any] = {}
    for name, share in zip(names, shares, strict=True):
        value = SEARCH_RANGES[name].value(float(share))
        if name == "n_step":
            rows = min(max(round(value * total), 1), total - 1)
            changes |= {"n_step": rows, "n": total - rows}
        else:
            changes[name] = value
    return problem.replace(**changes)


def _least(problem: Problem, names: Sequence[str], total: Any, before: Floats | None) -> Floats:
    """Return the shares of the ranges at which the test error is least."""

    def test_errors(points: Sequence[Floats]) -> Floats:
        return _errors_or_infinity([_at(problem, names, x, total) for x in points])

    count = NEIGHBOUR_POINTS if before is not None else SEARCH_POINTS[len(names)]
    axis = np.linspace(0, 1, count)
    grid = [np.array(point) for point in product(*[axis] * len(names))]
    grid += [before] if before is not None else []
    values = test_errors(grid)
    start = grid[int(np.argmin(values))]
    if not np.isfinite(values).any():
        raise NotConverged("optimum: the uniform theory gave no error anywhere in the range")
    step = 0.5 / (count - 1)
    simplex = [start] + [
        start + step * (1 if start[i] + step <= 1 else -1) * np.eye(len(names))[i]
        for i in range(len(names))
    ]
    search = scipy.optimize.minimize(
        lambda x: float(test_errors([np.clip(x, 0, 1)])[0]),
        start,
        method="Nelder-Mead",
        bounds=[(0.0, 1.0)] * len(names),
        options={
            "initial_simplex": np.array(simplex),
            "xatol": 2e-3,
            "fatol": 1e-5 * float(values.min()),
            "maxfev": MAX_EVALUATIONS,
        },
    )
    return search.x if search.fun <= values.min() else start


def _errors_or_infinity(problems: Sequence[Problem]) -> Floats:
    """Return test errors, infinite where the theory has none."""
    try:
        with scope.numerical_failures("uniform theory"):
            return uniform_errors(problems).test
    except (NotConverged, OutOfScope) as refusal:
        if isinstance(refusal, OutOfScope) and refusal.instead:
            raise  # at every size of such a step
        if len(problems) == 1:
            return np.array([np.inf])
        return np.concatenate([_errors_or_infinity([problem]) for problem in problems])


def _curve(problem: Problem, names: Sequence[str], best: Floats, total: Any) -> Prediction | None:
    """Return the errors along the first variable, with the others at their best."""
    name, shares = names[0], np.linspace(0, 1, CURVE_POINTS)
    if name == "n_step":
        return None
    base = _at(problem, names, best, total)
    values = [SEARCH_RANGES[name].value(x) for x in shares]
    errors = _errors_or_infinity([base.replace(**{name: value}) for value in values])
    axis: dict[str, Any] = {
        name: [v for v, error in zip(values, errors, strict=True) if np.isfinite(error)]
    }
    with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
        return predict(base, **axis)


def _warnings_of_ends(names: Sequence[str], bests: Sequence[Floats]) -> list[AssumptionWarning]:
    """Return a warning for each variable whose best value is at an end of its range."""
    shares = np.array(bests)
    warnings_of_ends = []
    for i, name in enumerate(names):
        if ((shares[:, i] < NEAR_END) | (shares[:, i] > 1 - NEAR_END)).any():
            searched = SEARCH_RANGES[name]
            text = (
                f"optimum: {searched.about}, {name}, is best at an end of the range "
                f"{searched.low:g} to {searched.high:g}"
            )
            warnings_of_ends.append(AssumptionWarning("uniform", name, text))
    return warnings_of_ends
