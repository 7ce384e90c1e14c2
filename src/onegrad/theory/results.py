"""What a theory answers: errors of problems, and spectra, with what the solver knew of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.problem import Problem

Value = Any  # a number, an array, or None

SHOWN = 6  # degrees whose alignments a spectrum has


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
    warnings : each broken assumption in one line, already issued.
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
    warnings: tuple[str, ...] = ()


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
            rows.append(row | {name: value for name, value in others if name not in row})
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


@dataclass(frozen=True)
class Spike:
    """An eigenvalue outside the bulk and what its eigenvector looks like.

    eigenvalue : of F F^T/n; singular_value : of F, sqrt(n eigenvalue).
    alignment : squared cosine with He_k(u) for each degree k, u the learned direction's index.
    """

    eigenvalue: float
    singular_value: float
    alignment: dict[int, float]


def spikes(n: int, outliers: Iterable[tuple[float, Floats]]) -> list[Spike]:
    """Spikes from eigenvalues with their squared cosines to He_1, He_2, ..."""
    return [
        Spike(x, math.sqrt(n * x), dict(enumerate(cosines[:SHOWN].tolist(), start=1)))
        for x, cosines in outliers
    ]


@dataclass(frozen=True, repr=False)
class Spectrum:
    """The limiting law of the eigenvalues of F F^T/n and its outliers, largest first.

    Attributes
    ----------
    edge, lower_edge : ends of the bulk; lower_edge is None where it touches zero.
    atom : mass at zero.
    x, rho : a ready grid of the density, without the atom.
    residual, iterations : largest last Newton step and all steps together; None for closed forms.
    warnings : each broken assumption in one line, already issued.

    Examples
    --------
    >>> import onegrad as og
    >>> s = og.spectrum(og.Problem(n=1000, d=500, N=667, alpha=0.4))
    >>> len(s.spikes), s.spikes[0].alignment[1] > 0.9  # the first spike is the linear function
    (1, True)
    """

    problem: Problem
    method: str
    edge: float
    lower_edge: float | None
    atom: float
    x: Floats
    rho: Floats
    spikes: list[Spike]
    density: Callable[[Floats], Floats]
    residual: float | None = None
    iterations: int | None = None
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        spikes = ", ".join(f"{s.eigenvalue:.4g}" for s in self.spikes) or "none"
        return (
            f"Spectrum({self.method}: edge={self.edge:.6g}, atom={self.atom:.4g}, spikes: {spikes})"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return {
            "edge": self.edge,
            "lower_edge": self.lower_edge,
            "atom": self.atom,
            "spikes": [
                asdict(s) | {"alignment": {str(k): v for k, v in s.alignment.items()}}
                for s in self.spikes
            ],
            "density": {"x": self.x.tolist(), "rho": self.rho.tolist()},
            "method": self.method,
            "problem": self.problem.to_dict(),
        }
