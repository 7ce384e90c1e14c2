"""The learning problem: sizes, functions, noise and step, in one convention.

The convention (docs/notation.md has every symbol): x in R^d, y = sigma_star(beta_star . x) + noise,
f(x) = a . sigma(W x) with W of shape (N, d) and rows of length about one, a ~ N(0, I/N),
W = W_0 + eta G with minus the gradient G of half the mean squared loss over n_step rows, then ridge
regression of n labels on sigma(X_tilde W^T): (1/n)|y - F a|^2 + ridge |a|^2.

A field is added here and nowhere else; docs/make_notation.py then writes its row of that table.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

from onegrad.exceptions import (
    AssumptionWarning,
    InvalidInput,
    OutOfScope,
    UnknownArgument,
    named_arguments,
)
from onegrad.functions import REGISTRY, Function, MultiIndex, resolve, resolve_activation
from onegrad.functions.teacher_exponents import unreachable_degrees
from onegrad.problem.conventions import Conventions, complete_step
from onegrad.problem.fields import Field, described_fields, description, is_sequence
from onegrad.problem.laws import INPUT_LAWS, NOISE_LAWS, Law, parse_law

TEACHERS = ("H1", "H1 + H2/sqrt(2)", "H1 + H2/2 + H3/6", "tanh", "erf", "relu", "softplus", "sin")
# of the mean eigenvalue, added to the covariance of a preconditioned step: enough where the batch
# has fewer rows than inputs
PRECONDITIONER_SHIFT = 0.1
_MIN_SHARE = 1e-4  # of the labels' variance that is worth a warning; not tuned


@named_arguments
@dataclass(frozen=True, kw_only=True)
class Problem(Conventions):
    """A two-layer network, its data, one gradient step on the first layer, then ridge.

    Parameters
    ----------
    n, d, N : number of rows of the ridge fit, of inputs and of neurons.
    activation, teacher : a name, a formula ("H1 + H2/sqrt(2)", "tanh(2*x)", "x1*x2"), or a callable
        with its derivative.
    noise : standard deviation of the label noise.
    ridge : the penalty, > 0.
    alpha, eta : the step size, as the exponent in eta = n**alpha or as eta itself; the other one is
        computed. If neither is given, eta = 0: the untrained network.
    n_step : rows of the gradient step (default n).
    weights : rows of W_0 are N(0, I/d) or uniform on the unit sphere.
    readout : entries of sqrt(N) a are N(0, 1), uniform of unit variance, one, or plus or minus one.
    paired : whether neurons come in pairs (w, a), (w, -a), so that the initial output is zero: the
        residual of the first step is then the label, whatever `residual` says.
    residual : residual of the step: the label, the label minus the initial output, or the label
        minus that output over sqrt(N), the mean-field scaling.
    steps, batches : number of steps; each on a fresh batch or all on the same one.
    later_alpha : exponents of the second, third, ... step, such as "0.3, 0.2"; the last one repeats
        (default: the size of the first step). alpha=[0.4, 0.3, 0.2] sets alpha, later_alpha and
        steps.
    labels : the labels unchanged, or minus a fit to the labels of the first step: their mean, their
        mean and X^T y/n_step, or least squares (the least-norm solution if n_step <= d). Errors are
        then those of the fit and the network together.
    update : direction of the step: the gradient, the gradient times the inverse covariance of its
        rows, or its orthogonal factor; all have the length of the gradient.
    weight_decay : share of the weights that a step takes off, W = (1 - weight_decay) W_0 + eta G.
    inputs : distribution of the inputs, e.g. "student-t(5)"; see onegrad.problem.INPUT_LAWS.
    input_overlap : cosine between the direction of spiked or mixture inputs and the teacher's first
        direction.
    noise_law, corrupted : distribution of the label noise; fraction of labels replaced by that of
        another row, drawn from the same inputs.
    ridge_rows : ridge on fresh rows or on the rows of the step.
    intercept : whether the ridge fit has an unpenalised constant.

    Examples
    --------
    >>> import onegrad as og
    >>> problem = og.Problem(n=10_000, d=5_000, N=8_000, teacher="H1 + H2/sqrt(2)", alpha=0.25)
    >>> round(problem.step, 9), round(problem.replace(eta=100.0).alpha, 9)
    (10.0, 0.5)
    """

    # fmt: off
    n: int = field(metadata=description(
        label="Rows n", symbol="n", help="rows of the ridge fit, and of the step by default",
        kind="whole", papers=("n", "n = ψ₁d", "n"), logarithmic=True, group="sizes",
        limits=(2, 1e9), slider=(100, 100_000)))
    d: int = field(metadata=description(
        label="Inputs d", symbol="d", help="inputs: the dimension of x",
        kind="whole", papers=("d", "d", "d"), logarithmic=True, group="sizes",
        limits=(2, 1e9), slider=(50, 50_000)))
    N: int = field(metadata=description(
        label="Neurons N", symbol="N", help="neurons: the width of the hidden layer",
        kind="whole", papers=("N", "N = ψ₂d", "p"), logarithmic=True, group="sizes",
        limits=(2, 1e9), slider=(50, 50_000)))
    activation: Any = field(default="tanh", metadata=description(
        label="Activation σ", symbol="σ", kind="text", choices=tuple(REGISTRY),
        help="a name or a formula such as tanh(2*x), centred under N(0, 1)",
        papers=("σ", "σ", "σ"), group="functions"))
    teacher: Any = field(default="H1", metadata=description(
        label="Teacher σ⋆", symbol="σ⋆", kind="text", choices=TEACHERS,
        help="a name, centred under N(0, 1), or a formula such as H1 + H2/sqrt(2) or x1*x2, as"
        " written; its value at β⋆·x is the noiseless label",
        papers=("σ⋆", "σ*", "g"), group="functions"))
    noise: float = field(default=0.0, metadata=description(
        label="Label noise σ_ε", symbol="σ_ε", help="standard deviation of the label noise",
        low=0.0, papers=("σ_ε", "σ_ε", "√Δ"), group="functions", limits=(0, 100), slider=(0, 2)))
    ridge: float = field(default=1e-2, metadata=description(
        label="Ridge λ", symbol="λ", help="penalty of the second layer: (1/n)|y − Fa|² + λ|a|²",
        low=0.0, above=True, papers=("λ", "λ (as λ/N with features σ/√N)", "λp/n"),
        logarithmic=True, group="fit", limits=(1e-8, 1e4), slider=(1e-5, 10)))
    alpha: float | None = field(default=None, metadata=description(
        label="Step exponent α", symbol="α",
        help="step exponent, η = n^α; spike k appears near α = (k − 1)/(2k)",
        papers=("α, with c = 1", "log η / log n", "log(η̃√p) / log n"), group="step",
        limits=(-1, 1), slider=(-0.25, 0.6)))
    eta: float | None = field(default=None, metadata=description(
        label="Step size η", symbol="η", help="step size, W = W₀ + ηG; 0 is the untrained network",
        low=0.0, unset="0", papers=("η = c·n^α", "η (with √N·G)", "η̃√p"), logarithmic=True,
        group="step", limits=(0, 1e6)))
    n_step: int | None = field(default=None, metadata=description(
        label="Step rows n₀", symbol="n₀", help="rows of the gradient step", kind="whole",
        unset="n", papers=("n", "n", "n₀"), logarithmic=True, group="fit", limits=(2, 1e9)))
    weights: Literal["gaussian", "sphere"] = field(default="gaussian", metadata=description(
        label="Initial weights W₀", symbol="W₀", kind="choice",
        help="rows of W₀ are N(0, I/d) or uniform on the unit sphere",
        papers=("sphere", "Gaussian", "Gaussian or sphere"), group="network"))
    readout: Literal["gaussian", "uniform", "constant", "rademacher"] = field(
        default="gaussian", metadata=description(
            label="Readout a", symbol="a",
            help="entries of √N·a are N(0, 1), uniform over [−√3, √3], one, or ±1",
            kind="choice", papers=("N(0, I/N)", "a/√N with a ~ N(0, I/N)", "constant, 1/√p"),
            group="network"))
    paired: bool = field(default=False, metadata=description(
        label="Paired neurons", kind="flag",
        help="neurons in pairs (w, a), (w, −a): the initial output is zero"))
    residual: Literal["labels", "full", "mean-field"] = field(
        default="labels", metadata=description(
            label="Residual", kind="choice",
            help="residual of the step: the label, the label minus the initial output, or the"
            " label minus that output over √N",
            papers=("full in the text, labels in the formulas", "labels", "labels"),
            group="network"))
    steps: int = field(default=1, metadata=description(
        label="Steps", help="number of gradient steps", kind="whole", papers=("1", "1", "1")))
    batches: Literal["fresh", "same"] = field(default="fresh", metadata=description(
        label="Batches", help="each step on a fresh batch, or all on the same one",
        kind="choice"))
    later_alpha: str = field(default="", metadata=description(
        label="Later exponents", symbol="α₂, α₃, …", kind="numbers", unset="η at every step",
        help="exponents of the later steps, separated by commas; the last one repeats"))
    labels: Literal["plain", "centred", "residual-linear", "residual-least-squares"] = field(
        default="plain", metadata=description(
            label="Labels", kind="choice",
            help="labels unchanged, minus their mean, minus their linear fit by moments, or minus"
            " their linear fit by least squares"))
    update: Literal["gradient", "preconditioned", "spectral"] = field(
        default="gradient", metadata=description(
            label="Update", kind="choice",
            help="direction of the step: the gradient, the gradient times the inverse covariance of"
            " its rows, or its orthogonal factor; all have the length of the gradient"))
    weight_decay: float = field(default=0.0, metadata=description(
        label="Weight decay", help="share δ of the weights that a step takes off, W = (1−δ)W₀ + ηG",
        low=0.0, high=1.0))
    inputs: str = field(default="gaussian", metadata=description(
        label="Law of the inputs", help="distribution of the inputs", kind="law", laws=INPUT_LAWS,
        papers=("gaussian", "gaussian", "gaussian")))
    input_overlap: float = field(default=0.0, metadata=description(
        label="Overlap of the inputs' direction", low=-1.0, high=1.0,
        help="cosine between the direction of spiked or mixture inputs and the teacher's first"
        " direction; 0 is a random direction"))
    noise_law: str = field(default="gaussian", metadata=description(
        label="Law of the noise", help="distribution of the label noise", kind="law",
        laws=NOISE_LAWS, papers=("gaussian", "gaussian", "gaussian")))
    corrupted: float = field(default=0.0, metadata=description(
        label="Corrupted labels", help="fraction of labels replaced by that of another row",
        low=0.0, high=1.0))
    ridge_rows: Literal["fresh", "same"] = field(default="fresh", metadata=description(
        label="Rows of ridge", help="ridge on fresh rows, or on the rows of the step",
        kind="choice", papers=("fresh", "fresh", "fresh")))
    intercept: bool = field(default=False, metadata=description(
        label="Intercept", help="ridge fits an unpenalised constant", kind="flag",
        papers=("no", "no", "no")))
    # fmt: on

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields: functions of formulas cannot be pickled, and are resolved anew."""
        return {name: getattr(self, name) for name in FIELDS}

    def __post_init__(self) -> None:
        if isinstance(self.alpha, list | tuple):
            object.__setattr__(self, "later_alpha", self.alpha[1:])
            object.__setattr__(self, "steps", max(self.steps, len(self.alpha)))
            object.__setattr__(self, "alpha", self.alpha[0] if self.alpha else None)
        values = {name: f.check(getattr(self, name)) for name, f in FIELDS.items()}
        # stored and not left open: equal problems are equal however they were written
        values["n_step"] = values["n_step"] or values["n"]
        values["alpha"], values["eta"] = complete_step(values["n"], values["alpha"], values["eta"])
        for name, value in values.items():
            object.__setattr__(self, name, value)  # the only place that sets a field
        _, teacher = self.sigma, self.teacher_function  # both are resolved, and thereby checked
        if teacher.indices > self.d:
            allowed = f"a function of at most d = {self.d} indices"
            raise InvalidInput("teacher", teacher.name, allowed)
        if self.paired and self.N % 2:
            raise InvalidInput("N", self.N, "even with paired neurons")

    def __repr__(self) -> str:
        """Return a call that makes this problem: sizes, and what is not at its default."""
        fields = self.changed()
        if self.alpha is not None:
            del fields["eta"]  # it follows from alpha
        return f"Problem({', '.join(f'{name}={value!r}' for name, value in fields.items())})"

    # -- derived quantities ------------------------------------------------------------------

    @property
    def phi(self) -> float:
        """The ratio d / n."""
        return self.d / self.n

    @property
    def psi(self) -> float:
        """The ratio d / N."""
        return self.d / self.N

    @property
    def phi_step(self) -> float:
        """The ratio d / n_step."""
        return self.d / self.rows_of_step

    @property
    def rows_of_step(self) -> int:
        """Number of rows of the gradient step, n_step."""
        assert self.n_step is not None
        return self.n_step

    @property
    def step(self) -> float:
        """Size of the step, eta."""
        assert self.eta is not None
        return self.eta

    @property
    def later_sizes(self) -> tuple[float, ...]:
        """Sizes of the second, third, ... step, of which the last one repeats up to `steps`.

        By default all have the size of the first.
        """
        # the exponents are those of n, also where the step has n_step rows
        etas = tuple(float(self.n) ** float(a) for a in self.later_alpha.split(",") if a)
        return (etas or (self.step,))[: self.steps - 1]

    @property
    def output_scale(self) -> float:
        """The factor of the network's output in the residual of a step."""
        return {"labels": 0.0, "full": 1.0, "mean-field": 1 / math.sqrt(self.N)}[self.residual]

    @cached_property
    def sigma(self) -> Function:
        """The activation."""
        return resolve_activation(self.activation)

    @cached_property
    def teacher_function(self) -> Function | MultiIndex:
        """The teacher, of one index or several."""
        return resolve(self.teacher, "teacher")

    @property
    def sigma_star(self) -> Function:
        """The teacher, if it has one index; raises OutOfScope otherwise."""
        if isinstance(self.teacher_function, MultiIndex):
            name = self.teacher_function.name
            raise OutOfScope("single-index", "teacher", name, "teachers of one index")
        return self.teacher_function

    @property
    def input_law(self) -> Law:
        """Law of the inputs."""
        return parse_law(self.inputs, INPUT_LAWS, "inputs")

    @property
    def noise_distribution(self) -> Law:
        """Law of the label noise."""
        return parse_law(self.noise_law, NOISE_LAWS, "noise_law")

    # -- other problems ----------------------------------------------------------------------

    def replace(self, **changes: Any) -> Problem:
        """Return a copy with other values; alpha and eta replace each other.

        An n_step that equals n follows n.
        """
        fields = {name: getattr(self, name) for name in FIELDS}
        for name in changes:
            if name not in fields:
                raise UnknownArgument("replace", name, fields)
        if "n" in changes and self.n_step == self.n:  # whether it was written or left out
            fields["n_step"] = None
        if "alpha" in changes or "eta" in changes:
            fields["alpha"] = fields["eta"] = None
        elif self.alpha is not None and "n" in changes:
            fields["eta"] = None  # the exponent stays when n changes
        else:
            fields["alpha"] = None
        return Problem(**(fields | changes))

    def grid(self, **axes: Any) -> tuple[list[Problem], tuple[int, ...]]:
        """Return all combinations of the listed values, in C order, and the shape of the grid.

        A single value is a replacement and adds no axis: grid(alpha=[0, .1], ridge=[1, 2]) has
        shape (2, 2), grid(alpha=.1) shape ().
        """
        values = {k: list(v) if is_sequence(v) else [v] for k, v in axes.items()}
        empty = next((k for k, v in values.items() if not v), None)
        if empty is not None:
            raise InvalidInput(empty, axes[empty], "a list of at least one value")
        shape = tuple(len(values[k]) for k in axes if is_sequence(axes[k]))
        points = itertools.product(*values.values())
        return [self.replace(**dict(zip(values, point, strict=True))) for point in points], shape

    def to_dict(self) -> dict[str, Any]:
        """Return every field as a JSON value, functions by name."""
        fields = {name: getattr(self, name) for name in FIELDS}
        fields["activation"] = self.sigma.name
        fields["teacher"] = self.teacher_function.name
        return fields

    def changed(self) -> dict[str, Any]:
        """Return the fields whose values are not the defaults; the default of n_step is n."""
        implied = {"n_step"} if self.n_step == self.n else set()
        values = self.to_dict().items()
        return {k: v for k, v in values if k not in implied and v != FIELDS[k].default}


FIELDS = described_fields(Problem)
# the problem of the docs' first page: the default of functions and commands without a problem
QUICK_START: dict[str, Any] = {
    "n": 4000,
    "d": 500,
    "N": 1000,
    "activation": "softplus",
    "teacher": "H1 + H2/sqrt(2)",
    "alpha": 0.4,
}


@lru_cache(maxsize=1)
def quick_start() -> Problem:
    """Return the problem of the docs' first page."""
    return Problem(**QUICK_START)


def check_axes(function: Callable[..., Any], axes: Mapping[str, Any]) -> None:
    """Raise UnknownArgument if one of a function's keyword arguments is not a field of Problem."""
    for name in axes:
        if name not in FIELDS:
            parameters = inspect.signature(function).parameters.values()
            own = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]
            raise UnknownArgument(function.__name__, name, [*own, *FIELDS])


RATIO_FIELDS = {
    "phi": Field(
        name="phi", label="φ = d/n", symbol="φ", help="inputs per row; d follows n",
        papers=("φ", "1/ψ₁", "d/n"), logarithmic=True, group="sizes", limits=(1e-3, 1e3),
        slider=(0.05, 5)),
    "psi": Field(
        name="psi", label="ψ = d/N", symbol="ψ", help="inputs per neuron; N follows d",
        papers=("ψ", "1/ψ₂", "d/p"), logarithmic=True, group="sizes", limits=(1e-3, 1e3),
        slider=(0.05, 5)),
}  # fmt: skip


def representation_warnings(problems: Sequence[Problem]) -> tuple[AssumptionWarning, ...]:
    """Return a warning for each pair of teacher and activation of which a part is out of reach."""
    pairs = {(p.teacher_function, p.sigma): None for p in problems}
    return tuple(warning for pair in pairs for warning in _warnings(*pair))


@lru_cache(maxsize=256)
def _warnings(teacher: Function | MultiIndex, sigma: Function) -> tuple[AssumptionWarning, ...]:
    if not teacher.variance > 0 or not sigma.variance > 0:
        return ()
    shares = {k: s for k, s in unreachable_degrees(teacher, sigma).items() if s > _MIN_SHARE}
    if not shares:
        return ()
    degrees = f"degree{'s' * (len(shares) > 1)} {', '.join(map(str, shares))}"
    text = (
        f"a network of {sigma.name} without biases cannot represent {degrees} "
        f"of the teacher {teacher.name}, {100 * sum(shares.values()):.2g} % of the labels' variance"
    )
    return (AssumptionWarning("network", "teacher", text),)
