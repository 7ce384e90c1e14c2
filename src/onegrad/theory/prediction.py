"""predict: the errors of a problem, or of a grid of problems, under a named theory."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onegrad.errors import InvalidInput, OutOfScope
from onegrad.functions.hermite import Floats
from onegrad.problem import Problem
from onegrad.theory.asymptotic import assumptions, random_features, small_step, staircase
from onegrad.theory.asymptotic.random_features import Errors
from onegrad.theory.asymptotic.scalars import Scalars
from onegrad.theory.asymptotic.windows import Counts, counts

Value = Any  # a float, or an array of the grid's shape


@dataclass(frozen=True, repr=False)
class Prediction:
    """Errors that a theory predicts: floats, or arrays of the grid's shape.

    train : ridge objective at its minimum, penalty included.
    test : E(y - f)^2 with label noise; risk = test - noise^2.
    squared_loss : training loss without the penalty, where the theory gives it.
    alpha, eta, ridge : the points; alpha is NaN where eta = 0.
    linear : test error of the best linear predictor; kernel_bound : lower bound on the test error
        of every kernel at n of the order of d. In this limit the two agree.
    axes : the listed values of the grid, in the order of the arrays' axes.
    printed : whether these are a theorem's formulas as printed, wrong factors included.
    """

    problem: Problem
    theory: str
    train: Value
    test: Value
    risk: Value
    alpha: Value
    eta: Value
    ridge: Value
    squared_loss: Value
    linear: Value
    kernel_bound: Value
    axes: dict[str, list[Any]] = field(default_factory=dict)
    printed: bool = False

    def results(self) -> list[dict[str, float | None]]:
        """One dictionary per point, in C order: the JSON of the command line."""
        names = ["alpha", "eta", "ridge", "train", "test", "risk"]
        columns = [np.ravel(getattr(self, name)).tolist() for name in names]
        others = [name for name in self.axes if name not in names]
        grids = np.meshgrid(*map(_objects, self.axes.values()), indexing="ij")
        extra = {k: g.ravel() for k, g in zip(self.axes, grids, strict=True) if k in others}
        rows = []
        for i, point in enumerate(zip(*columns, strict=True)):
            row = dict(zip(names, point, strict=True)) | {k: v[i] for k, v in extra.items()}
            row["alpha"] = None if row["alpha"] != row["alpha"] else row["alpha"]
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return {
            "results": self.results(),
            "problem": self.problem.to_dict(),
            "theory": self.theory,
        }

    def __repr__(self) -> str:
        if np.ndim(self.test) == 0:
            values = f"train={self.train:.6g}, test={self.test:.6g}, risk={self.risk:.6g}"
        else:
            grid = " x ".join(f"{len(v)} {k}" for k, v in self.axes.items())
            values = f"{grid}: test {np.min(self.test):.6g} to {np.max(self.test):.6g}"
        name = f"{self.theory} as printed" if self.printed else self.theory
        return f"Prediction({name}: {values})"


def _objects(values: list[Any]) -> np.ndarray[Any, Any]:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def predict(
    problem: Problem, theory: str = "uniform", *, printed: bool = False, **axes: Any
) -> Prediction:
    """The errors of a problem under a theory; lists among `axes` make a grid.

    Parameters
    ----------
    theory : "uniform" (every step size at finite n), "staircase" (eta = n**alpha between
        thresholds, n to infinity), "small-step" (eta of order one, n to infinity) or
        "random-features" (the untrained network).
    printed : with "staircase", the formulas as printed, wrong factors included.
    axes : fields of the problem with a value or a list, e.g. alpha=[0, 0.1, 0.2].

    See onegrad.theory.asymptotic and onegrad.theory.uniform for formulas and assumptions.
    """
    if theory not in THEORIES:
        raise InvalidInput(f"theory must be one of {', '.join(THEORIES)}; got {theory!r:.60}")
    if printed and theory != "staircase":
        raise InvalidInput(f"printed is for theory 'staircase' only; got theory {theory!r}")
    problems, shape = problem.grid(**axes)
    errors = _printed(problems) if printed else THEORIES[theory](problems)
    noise = np.array([p.noise**2 for p in problems])
    floor = noise + [p.sigma_star.nonlinear_energy for p in problems]
    columns = {
        "train": errors.train,
        "test": errors.test,
        "risk": errors.test - noise,
        "alpha": np.array([np.nan if p.alpha is None else p.alpha for p in problems]),
        "eta": np.array([p.step for p in problems]),
        "ridge": np.array([p.ridge for p in problems]),
        "squared_loss": errors.squared,
        "linear": floor,
        "kernel_bound": floor.copy(),
    }
    values = {k: _shaped(v, shape) for k, v in columns.items()}
    lists = {k: list(v) for k, v in axes.items() if np.ndim(v) or isinstance(v, list)}
    base = problem.replace(**{k: v for k, v in axes.items() if k not in lists})
    return Prediction(problem=base, theory=theory, axes=lists, printed=printed, **values)


def _shaped(values: Floats | None, shape: tuple[int, ...]) -> Value:
    if values is None:
        return None
    return values.reshape(shape) if shape else float(values[0])


def _random_features(problems: Sequence[Problem]) -> Errors:
    assumptions.warn_outside(problems, "random-features", trained=False)
    return random_features.errors(Scalars.of(problems))


def _small_step(problems: Sequence[Problem]) -> Errors:
    assumptions.warn_outside(problems, "small-step", trained=True)
    return small_step.errors(Scalars.of(problems))


def _staircase(problems: Sequence[Problem]) -> Errors:
    assumptions.need_linear_part(problems, "staircase")
    assumptions.warn_outside(problems, "staircase", trained=True)
    return staircase.errors(Scalars.of(problems), _counts(problems))


def _printed(problems: Sequence[Problem]) -> Errors:
    assumptions.need_linear_part(problems, "staircase")
    assumptions.warn_outside(problems, "staircase", trained=True)
    return staircase.printed_errors(Scalars.of(problems), _counts(problems))


def _counts(problems: Sequence[Problem]) -> Counts:
    if any(p.step > 0 and p.alpha is None for p in problems):
        raise OutOfScope("n: the staircase needs n >= 2, since it counts spikes by eta = n**alpha")
    return counts([p.alpha for p in problems])


def _uniform(problems: Sequence[Problem]) -> Errors:
    uniform = importlib.import_module("onegrad.theory.uniform")
    points = uniform.predict_curve(problems)
    squared = [getattr(point, "squared_loss", None) for point in points]
    return Errors(
        train=np.array([point.train for point in points]),
        test=np.array([point.test for point in points]),
        squared=None if None in squared else np.array(squared),
    )


THEORIES: dict[str, Callable[[Sequence[Problem]], Errors]] = {
    "uniform": _uniform,
    "staircase": _staircase,
    "small-step": _small_step,
    "random-features": _random_features,
}
