r"""One gradient step on the first layer with a random readout, as in the papers.

.. math:: W = W_0 + \eta\,G, \qquad
          G = \frac1n \sum_i \big[(A\,r_i)\odot\sigma'(W_0 z_i + b)\big] z_i^\top,
          \qquad A_{jk} \sim N(0, 1/N)

with the residual r = y, or y minus the initial output. The step is eta itself, c n^alpha, or chosen
on held-out rows among multiples of |W_0| / |G|.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from onegrad.arrays import Floats
from onegrad.data.sample import Sample
from onegrad.estimators.fitting.first_layer.neurons import Ground
from onegrad.estimators.fitting.pipeline import Split
from onegrad.estimators.fitting.settings import check_layer, check_number, given, recipe_of
from onegrad.estimators.fitting.training_set import (
    START,
    Learned,
    Lesson,
    Mask,
    Search,
    Trial,
    chosen,
    try_layer,
)
from onegrad.estimators.sklearn_api.base import FeatureLearner
from onegrad.estimators.sklearn_api.documentation import STEP, documented
from onegrad.estimators.sklearn_api.tasks import Classification, Features, Regression
from onegrad.exceptions import InvalidInput, check_choice
from onegrad.functions import Function, resolve
from onegrad.layers.gradient import weight_gradient
from onegrad.layers.layer import Layer
from onegrad.layers.rows import ScaledRows
from onegrad.problem import Problem

RELATIVE_STEPS = (0.0, 0.1, 0.3, 1.0, 3.0)

CHOICES = {
    "inputs": ("standard", "raw"),
    "bias": ("data", "none"),
    "residual": ("labels", "full"),
    "rows": ("same", "fresh"),
    "readout": ("gaussian", "constant", "rademacher"),
    "weights": ("gaussian", "sphere"),
}


@dataclass(frozen=True)
class Start:
    """What is drawn before the step.

    Parameters
    ----------
    plain : the layer whose W_0 has rows N(0, I/d), without biases.
    kinks : (N, d) points at which neurons switch, or None where they have no biases.
    A : (N, K) readout.
    """

    plain: Layer
    kinks: Floats | None
    A: Floats

    def layer(self, W: Floats) -> Layer:
        r"""Of directions W; :math:`b_i = -w_i\cdot z_{j(i)}` for the row drawn for neuron i."""
        if self.kinks is None:
            return replace(self.plain, W=W)
        return replace(self.plain, W=W, b=-(W * self.kinks).sum(1))


@dataclass(frozen=True)
class OneStepRecipe:
    """The parameters of the estimators that say how the step is made, see there."""

    width: int
    eta: float | str
    c: float
    alpha: float | None
    ridge: float | str
    activation: Any
    inputs: str
    bias: str
    weights: str
    readout: str
    residual: str
    rows: str
    step_share: float
    skip: bool
    intercept: bool
    clip: float

    networks: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_layer(self.width, self.clip, self.ridge)
        for name, allowed in CHOICES.items():
            check_choice(name, getattr(self, name), allowed)
        if self.eta != "auto":
            check_number("eta", self.eta, 0)
        if self.alpha is not None:
            check_number("alpha", self.alpha, -10, 10)
            check_number("c", self.c, 0)
            if self.eta != "auto":
                raise InvalidInput("eta", self.eta, '"auto" where alpha is given')
        if self.rows == "fresh":
            check_number("step_share", self.step_share, 0.01, 0.99)

    @property
    def chooses(self) -> bool:
        return given(self.ridge) is None or self.step(2) is None

    def step(self, n: int) -> float | None:
        """eta for n rows where it is given; None where held-out rows choose it."""
        return given(self.eta) if self.alpha is None else float(self.c * float(n) ** self.alpha)

    @property
    def most_trials(self) -> int:
        return len(RELATIVE_STEPS) if self.step(2) is None else 1

    def split(self, sample: Sample, held: Mask) -> Split:
        if self.rows == "same":
            return Split(~held, ~held)
        below = (np.cumsum(sample.w) - 0.5 * sample.w) < self.step_share * sample.w.sum()
        update, fit = below & ~held, ~below & ~held
        if not update.any() or not fit.any():
            problem = f"needs at least 2 rows besides those held out; there are {(~held).sum()}"
            raise InvalidInput("rows", "fresh", problem=problem)
        return Split(update, fit, used_up=int(sample.keys[np.flatnonzero(~below)[0]]))

    def sized(self, rows: int, outputs: int) -> OneStepRecipe:
        return self

    def learn(self, lesson: Lesson, rng: np.random.Generator) -> Learned:
        """A trial for each step that is tried: eta where given, else multiples of |W_0| / |G|."""
        start = self.start(lesson, rng)
        W = start.plain.W
        untrained = start.layer(W)
        G = self.gradient(lesson.update, untrained, start.A)
        length = float(np.linalg.norm(G))
        unit = float(np.linalg.norm(W)) / length if length > 0 else 0.0
        eta = self.step(len(lesson.update))
        if eta is not None:
            etas = [eta]
        elif len(lesson.held) and unit > 0:
            etas = [step * unit for step in RELATIVE_STEPS]
        else:
            etas = [unit]
        trials: list[Trial] = []
        for eta in etas:
            if trials and lesson.watch.enough:
                break
            layer = untrained if eta == 0 else start.layer(W + eta * G)
            ridge = trials[-1].ridge if trials else START
            search = Search(given(self.ridge), ridge, self.intercept)
            relative = eta / unit if unit > 0 else 0.0
            label = {"eta": eta, "relative_step": relative, "step_rows": len(lesson.update)}
            trials.append(try_layer(lesson, layer, search, label))
        return Learned(untrained, trials, chosen(trials, lesson.held.w))

    def start(self, lesson: Lesson, rng: np.random.Generator) -> Start:
        """All random numbers: drawn once, so that candidates differ in what is learned."""
        N, d = self.width, lesson.inputs
        W, place = rng.standard_normal((N, d)), rng.random(N)
        if self.weights == "sphere":
            W = W * (np.sqrt(d) / np.linalg.norm(W, axis=1, keepdims=True))
        readout: dict[str, Callable[[tuple[int, int]], Floats]] = {
            "gaussian": rng.standard_normal,
            "constant": np.ones,
            "rademacher": lambda size: rng.choice([-1.0, 1.0], size=size),
        }
        A = readout[self.readout]((N, lesson.update.t.shape[1])) / np.sqrt(N)
        activation = resolve(self.activation)
        assert isinstance(activation, Function)
        ground = Ground.of(lesson.update, float(self.clip))
        kinks = ground.z[ground.rows(place)] if self.bias == "data" else None
        W /= np.sqrt(d)
        plain = Layer(lesson.scaling, W, np.zeros(N), activation, self.skip, float(self.clip))
        return Start(plain, kinks, A)

    def gradient(self, rows: ScaledRows, layer: Layer, A: Floats) -> Floats:
        """(N, d) minus the gradient of half the mean squared loss."""
        offset = (rows.w @ rows.t) / rows.w.sum() if self.intercept else 0.0

        def residual(block: ScaledRows, h: Floats) -> Floats:
            r: Floats = block.t - offset
            return r - layer.activation(h) @ A if self.residual == "full" else r

        return weight_gradient(rows, layer, A, residual)


PARAMETERS = r"""

    Parameters
    ----------
    width : number of neurons N.
    eta : the step; "auto" chooses among multiples of W_0 over G, 0 leaves random features.
    c, alpha : instead of eta, the step c n^alpha for n rows.
    ridge : the penalty; "auto" chooses a power of ten of the features' mean variance.
    activation : a name, a Hermite combination, or a pair (function, derivative).
    inputs : "standard" scales inputs and targets, "raw" takes them as they are.
    bias : "data" places each neuron's kink at a row, "none" has no biases.
    weights, readout, residual : as in Problem.
    rows : ridge on the "same" rows as the step, or on "fresh" ones.
    step_share : with fresh rows, the share that makes the step.
    skip, intercept : whether the inputs themselves are features; whether there is a free constant.
    clip : standard deviations at which the neurons' inputs are clipped.
    hold_out : share of the rows that no first-layer update sees and that choose what is "auto".
"""


def implied_alpha(choice: Mapping[str, Any]) -> float:
    """Exponent alpha of the step eta = n^alpha that was chosen for n rows; -inf for no step."""
    eta, n = float(choice["eta"]), choice["step_rows"]
    return math.log(eta) / math.log(n) if eta > 0 and n > 1 else -math.inf


def describe(choice: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Lines of a report, by name, on the step that was chosen."""
    alpha = implied_alpha(choice)
    exponent = f"{alpha:.3g}" if alpha > -math.inf else "none: no step"
    return [
        ("step", f"eta = {choice['eta']:.4g} = {choice['relative_step']:.3g} x |W0|/|G|"),
        ("implied alpha", f"{exponent} (eta = n^alpha, n = {choice['step_rows']:,})"),
    ]


@dataclass(eq=False, repr=False)
class _OneStep(FeatureLearner):
    """One gradient step with a random readout, then ridge."""

    width: int = 1000
    _: KW_ONLY
    eta: float | str = "auto"
    c: float = 1.0
    alpha: float | None = None
    ridge: float | str = "auto"
    activation: Any = "relu:raw"
    inputs: str = "standard"
    bias: str = "data"
    weights: str = "gaussian"
    readout: str = "gaussian"
    residual: str = "labels"
    rows: str = "same"
    step_share: float = 0.5
    skip: bool = True
    intercept: bool = True
    clip: float = 4.0

    @classmethod
    def literal(cls, problem: Problem, **parameters: Any) -> Any:
        """The algorithm of a Problem, with nothing added: raw inputs, no bias, skip or intercept.

        Fit it on n_step + n rows: a share of n_step / (n_step + n), drawn at random, makes the
        step where `ridge_rows` is "fresh".
        """
        p = problem
        same = ("eta", "ridge", "weights", "readout", "residual", "intercept")
        settings: dict[str, Any] = {name: getattr(p, name) for name in same} | {
            "activation": p.sigma,
            "inputs": "raw",
            "bias": "none",
            "rows": p.ridge_rows,
            "step_share": p.rows_of_step / (p.rows_of_step + p.n),
            "skip": False,
            "clip": math.inf,
            "sample_rows": p.rows_of_step + p.n,
        }
        return cls(p.N, **(settings | parameters))

    def _recipe(self) -> OneStepRecipe:
        return recipe_of(OneStepRecipe, self)

    @property
    def eta_(self) -> float:
        """The step that was made."""
        check_is_fitted(self)
        return float(self.choice_["eta"])

    @property
    def alpha_(self) -> float:
        """The exponent that the step amounts to: log eta / log n over its n rows."""
        check_is_fitted(self)
        return implied_alpha(self.choice_)

    _describe = staticmethod(describe)


class OneStepRegressor(_OneStep, Regression):
    __doc__ = documented("OneStepRegressor", PARAMETERS, STEP)


@dataclass(eq=False, repr=False)
class OneStepClassifier(_OneStep, Classification):
    __doc__ = documented("OneStepClassifier", PARAMETERS, STEP)
    _: KW_ONLY
    class_weight: Any = None


class OneStepFeatures(_OneStep, Features):
    __doc__ = documented("OneStepFeatures", PARAMETERS, STEP)
