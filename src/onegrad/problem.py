"""Problem: what is trained on what, in one convention, with conversions from each paper's own.

The convention (docs/notation.md has every symbol): x in R^d, y = sigma_star(beta_star . x) + noise,
f(x) = a . sigma(W x) with W of shape (N, d) and rows of length about one, a ~ N(0, I/N),
W = W_0 + eta G with minus the gradient G of half the mean squared loss over n_step rows, then ridge
regression of n labels on sigma(X_tilde W^T): (1/n)|y - F a|^2 + ridge |a|^2.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from onegrad.errors import InvalidInput, OutOfScope
from onegrad.functions import Function, MultiIndex, Spec, resolve
from onegrad.laws import INPUTS, NOISE, Law, parse_law

CHOICES = {
    "weights": ("gaussian", "sphere"),
    "readout": ("gaussian", "constant", "rademacher"),
    "residual": ("labels", "full"),
    "batches": ("fresh", "same"),
    "ridge_rows": ("fresh", "same"),
}
SIZES = ("n", "d", "N", "n_step", "steps")
LARGEST = 10**12  # no size beyond this is meant


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One gradient step on the first layer, then ridge: sizes, functions, noise, step.

    Parameters
    ----------
    n, d, N : rows of the ridge fit, inputs, neurons.
    activation, teacher : a name, a Hermite combination, or a callable with its derivative.
    noise : standard deviation of the label noise.
    ridge : the penalty, > 0.
    alpha, eta : the step, as the exponent in eta = n**alpha or as the number itself; the other one
        is filled in. Neither means eta = 0, the untrained network.
    n_step : rows of the gradient step (default n).
    weights : rows of W_0 are N(0, I/d) or uniform on the unit sphere.
    readout : entries of sqrt(N) a are N(0, 1), one, or plus or minus one.
    residual : the step's residual is the label, or the label minus the initial output.
    steps, batches : number of steps; each on a fresh batch or all on the same one.
    inputs : law of the inputs, e.g. "student-t(5)"; see onegrad.laws.INPUTS.
    noise_law, corrupted : law of the label noise; fraction of labels replaced by fresh ones.
    ridge_rows : ridge on fresh rows or on those of the step.
    intercept : whether ridge fits an unpenalised constant.
    """

    n: int
    d: int
    N: int
    activation: Spec = "tanh"
    teacher: Spec = "H1"
    noise: float = 0.0
    ridge: float = 1e-2
    alpha: float | None = None
    eta: float | None = None
    n_step: int | None = None
    weights: Literal["gaussian", "sphere"] = "gaussian"
    readout: Literal["gaussian", "constant", "rademacher"] = "gaussian"
    residual: Literal["labels", "full"] = "labels"
    steps: int = 1
    batches: Literal["fresh", "same"] = "fresh"
    inputs: str = "gaussian"
    noise_law: str = "gaussian"
    corrupted: float = 0.0
    ridge_rows: Literal["fresh", "same"] = "fresh"
    intercept: bool = False

    def __post_init__(self) -> None:
        fill = object.__setattr__  # the one moment in which a field may change
        if self.n_step is None:
            fill(self, "n_step", self.n)
        for name in SIZES:
            fill(self, name, _size(name, getattr(self, name)))
        fill(self, "noise", _number("noise", self.noise, 0.0, closed=True))
        fill(self, "ridge", _number("ridge", self.ridge, 0.0))
        fill(self, "corrupted", _number("corrupted", self.corrupted, 0.0, closed=True))
        if self.corrupted > 1.0:
            raise InvalidInput(f"corrupted must be between 0 and 1; got {self.corrupted:g}")
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InvalidInput(
                    f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r:.60}"
                )
        if not isinstance(self.intercept, bool):
            raise InvalidInput(f"intercept must be True or False; got {self.intercept!r:.60}")
        alpha, eta = _step(self.n, self.alpha, self.eta)
        fill(self, "alpha", alpha)
        fill(self, "eta", eta)
        fill(self, "inputs", str(parse_law(self.inputs, INPUTS, "inputs")))
        fill(self, "noise_law", str(parse_law(self.noise_law, NOISE, "noise_law")))
        if not isinstance(self.sigma, Function):
            raise InvalidInput("activation acts on one number: a multi-index function is a teacher")
        teacher = self.teacher_function
        if isinstance(teacher, MultiIndex) and teacher.indices > self.d:
            raise InvalidInput(f"teacher reads {teacher.indices} indices but d is {self.d}")

    # -- derived quantities ------------------------------------------------------------------

    @property
    def phi(self) -> float:
        """d / n."""
        return self.d / self.n

    @property
    def psi(self) -> float:
        """d / N."""
        return self.d / self.N

    @property
    def phi_step(self) -> float:
        """d / n_step."""
        return self.d / self.rows_of_step

    @property
    def rows_of_step(self) -> int:
        """n_step as a plain integer, also for type checkers."""
        assert self.n_step is not None
        return self.n_step

    @property
    def step(self) -> float:
        """eta as a plain float, also for type checkers."""
        assert self.eta is not None
        return self.eta

    @cached_property
    def sigma(self) -> Function:
        """The activation."""
        return resolve(self.activation, "activation")  # type: ignore[return-value]

    @cached_property
    def teacher_function(self) -> Function | MultiIndex:
        """The teacher, of one index or several."""
        return resolve(self.teacher, "teacher")

    @property
    def sigma_star(self) -> Function:
        """The single-index teacher; raises for several indices, which the theories do not cover."""
        if isinstance(self.teacher_function, MultiIndex):
            raise OutOfScope(
                "teacher: the theories cover single-index teachers; simulate multi-index ones"
            )
        return self.teacher_function

    @property
    def input_law(self) -> Law:
        return parse_law(self.inputs, INPUTS, "inputs")

    @property
    def noise_distribution(self) -> Law:
        return parse_law(self.noise_law, NOISE, "noise_law")

    # -- other problems ----------------------------------------------------------------------

    def replace(self, **changes: Any) -> Problem:
        """The same problem with other values; alpha and eta replace one another.

        An n_step that equalled n follows n.
        """
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        unknown = sorted(set(changes) - set(fields))
        if unknown:
            raise InvalidInput(f"unknown argument {unknown[0]!r}; allowed are {', '.join(fields)}")
        if "n" in changes and self.n_step == self.n:
            fields["n_step"] = None
        if "alpha" in changes or "eta" in changes:
            fields["alpha"] = fields["eta"] = None
        elif self.alpha is not None and "n" in changes:
            fields["eta"] = None  # the exponent is what is kept when n changes
        else:
            fields["alpha"] = None
        return Problem(**(fields | changes))

    def grid(self, **axes: Any) -> tuple[list[Problem], tuple[int, ...]]:
        """All combinations of the listed values, in C order, and the shape of the grid.

        A scalar is a plain replacement and adds no axis: grid(alpha=[0, .1], ridge=[1, 2]) has
        shape (2, 2), grid(alpha=.1) shape ().
        """
        values = {k: list(v) if _is_sequence(v) else [v] for k, v in axes.items()}
        empty = next((k for k, v in values.items() if not v), None)
        if empty is not None:
            raise InvalidInput(f"{empty} is an empty list; give at least one value")
        shape = tuple(len(values[k]) for k in axes if _is_sequence(axes[k]))
        points = itertools.product(*values.values())
        return [self.replace(**dict(zip(values, point, strict=True))) for point in points], shape

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON values; functions by name."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        fields["activation"] = self.sigma.name
        fields["teacher"] = self.teacher_function.name
        return fields

    # -- the papers' own parameters ----------------------------------------------------------

    @classmethod
    def moniri(
        cls,
        *,
        n: int,
        phi: float,
        psi: float,
        c: float = 1.0,
        alpha: float = 0.0,
        lam: float = 1e-2,
        sigma_eps: float = 0.0,
        residual: Literal["labels", "full"] = "full",
        weights: Literal["gaussian", "sphere"] = "sphere",
        **others: Any,
    ) -> Problem:
        r"""Moniri et al. 2024: phi = d/n, psi = d/N, step :math:`c\,n^\alpha`, ridge lam.

        Their readout is N(0, I/N) without a further :math:`1/\sqrt N`, so the initial output
        counts (residual="full"); the printed formulas drop it (residual="labels").
        """
        d = _ratio("phi", phi, "n", n)
        N = round(d / _number("psi", psi, 0.0))
        eta = _number("c", c, 0.0, closed=True) * _size("n", n) ** _exponent(alpha)
        return cls(
            n=n, d=d, N=N, ridge=lam, noise=sigma_eps, eta=eta, residual=residual, weights=weights,
            **others,
        )  # fmt: skip

    @classmethod
    def ba(
        cls,
        *,
        d: int,
        psi1: float,
        psi2: float,
        eta: float = 0.0,
        lam: float = 1e-2,
        sigma_eps: float = 0.0,
        **others: Any,
    ) -> Problem:
        r"""Ba et al. 2022: psi1 = n/d, psi2 = N/d, features :math:`\sigma/\sqrt N`.

        Their :math:`\frac{\lambda}{N}|a|^2` with features :math:`\sigma/\sqrt N` is our ridge with
        the same lam; their step :math:`\eta\sqrt N` with output :math:`O(N^{-1/2})` is our eta with
        residual="labels".
        """
        n, N = _ratio("psi1", psi1, "d", d), _ratio("psi2", psi2, "d", d)
        return cls(
            n=n, d=d, N=N, ridge=lam, noise=sigma_eps, eta=eta, residual="labels",
            weights="gaussian", **others,
        )  # fmt: skip

    @classmethod
    def cui(
        cls,
        *,
        d: int,
        p: int,
        n0: int,
        n: int,
        eta: float = 0.0,
        lam: float = 1e-2,
        sigma_eps: float = 0.0,
        **others: Any,
    ) -> Problem:
        r"""Cui et al. 2024: p neurons, n0 rows in the step, constant readout, the maximal step.

        Their step moves a neuron by :math:`\tilde\eta\,X^\top[y\odot\sigma']/n_0`, so our eta is
        :math:`\tilde\eta\sqrt p`. Their objective
        :math:`\sum_\mu (y_\mu - a\cdot\sigma/\sqrt p)^2 + \lambda|a|^2` is our ridge
        :math:`\lambda p/n`.
        """
        p, n = _size("p", p), _size("n", n)
        eta = _number("eta", eta, 0.0, closed=True) * math.sqrt(p)
        ridge = _number("lam", lam, 0.0) * p / n
        return cls(
            n=n, d=d, N=p, n_step=n0, ridge=ridge, noise=sigma_eps, eta=eta, readout="constant",
            residual="labels", **others,
        )  # fmt: skip


def _is_sequence(value: Any) -> bool:
    if isinstance(value, str | bytes) or callable(value):
        return False
    return isinstance(value, Sequence) or getattr(value, "ndim", 0) == 1


def _size(name: str, value: Any) -> int:
    try:
        size = int(value) if float(value).is_integer() else operator.index(value)
    except (TypeError, ValueError, OverflowError):
        size = 0
    if isinstance(value, bool) or not 1 <= size <= LARGEST:
        raise InvalidInput(f"{name} must be a whole number >= 1; got {value!r:.60}")
    return size


def _number(name: str, value: Any, low: float, closed: bool = False) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number < low or (number == low and not closed):
        bound = "" if low == -math.inf else f" {'>=' if closed else '>'} {low:g}"
        raise InvalidInput(f"{name} must be a finite number{bound}; got {value!r:.60}")
    return number


def _ratio(name: str, ratio: Any, size_name: str, size: Any) -> int:
    """The size that is `ratio` times another, at least one."""
    return max(1, round(_number(name, ratio, 0.0) * _size(size_name, size)))


def _exponent(alpha: Any) -> float:
    """The step's exponent, bounded so that n**alpha stays a number."""
    exponent = _number("alpha", alpha, -math.inf)
    if abs(exponent) > 10:
        raise InvalidInput(f"alpha must be between -10 and 10; got {exponent:g}")
    return exponent


def _step(n: int, alpha: Any, eta: Any) -> tuple[float | None, float]:
    """(alpha, eta) from whichever is given: eta = n**alpha; alpha is None for eta = 0."""
    if alpha is not None and eta is not None:
        alpha, eta = _number("alpha", alpha, -math.inf), _number("eta", eta, 0.0)
        if not math.isclose(alpha * math.log(n), math.log(eta), abs_tol=1e-9):
            raise InvalidInput(f"give alpha or eta, not both; got alpha={alpha:g}, eta={eta:g}")
        return alpha, eta
    if alpha is not None:
        alpha = _exponent(alpha)
        if n == 1:
            raise InvalidInput("alpha needs n >= 2, since eta = n**alpha; give eta for n = 1")
        return alpha, float(n) ** alpha
    eta = _number("eta", 0.0 if eta is None else eta, 0.0, closed=True)
    return (math.log(eta) / math.log(n) if eta > 0 and n > 1 else None), eta
