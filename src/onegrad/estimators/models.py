"""The estimators: parameters, and which recipe they follow."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from onegrad.data.sample import Sample
from onegrad.errors import InvalidInput
from onegrad.estimators import alternating, one_step
from onegrad.estimators.base import Network
from onegrad.estimators.kinds import Classification, Features, Regression
from onegrad.estimators.lesson import Draw, Lesson, Trial
from onegrad.functions import Function, resolve
from onegrad.layers.layer import Scaling
from onegrad.problem import Problem
from onegrad.ridge.moments import Floats

CHOICES = {
    "inputs": ("standard", "raw"),
    "bias": ("data", "none"),
    "residual": ("labels", "full"),
    "rows": ("same", "fresh"),
    "readout": ("gaussian", "constant", "rademacher"),
    "weights": ("gaussian", "sphere"),
}


def _check_number(
    name: str, value: Any, low: float, high: float = math.inf, whole: bool = False
) -> None:
    kind = numbers.Integral if whole else numbers.Real
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= float(value) <= high:
        what = "a whole number" if whole else "a number"
        upper = "" if high == math.inf else f" and <= {high:g}"
        raise InvalidInput(f"{name} must be {what} >= {low:g}{upper}; got {value!r:.60}")


class _Common(Network):
    """Checks of the parameters that all estimators have."""

    def _check_parameters(self) -> None:
        _check_number("width", self.width, 1, whole=True)
        _check_number("sample_rows", self.sample_rows, 1, whole=True)
        _check_number("hold_out", self.hold_out, 0, 0.9)
        _check_number("clip", self.clip, 0)
        if self.ridge != "auto":
            _check_number("ridge", self.ridge, np.finfo(float).tiny)

    @property
    def _ridge(self) -> float | None:
        return None if self.ridge == "auto" else float(self.ridge)


ONE_STEP = r"""

    Parameters
    ----------
    width : number of neurons N.
    eta : the step; "auto" chooses among multiples of |W_0| / |G|, 0 leaves random features.
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
    sample_rows : rows that the first layer is learned on; the readout is fitted on all.
    device : "cpu", or "cuda" for the pass over the data.
    n_jobs : processes for the passes over a source of several parts.
    random_state : seed of all random numbers.

    Attributes
    ----------
    eta_, alpha_ : the step that was made, and the exponent that it amounts to.
    choice_, held_out_score_ : what held-out rows chose, and the score of the choice.
    metric_, feature_importances_, spectrum_, coef_, n_rows_ : see the properties.
    """

ALTERNATING = """

    Parameters
    ----------
    width : number of neurons N.
    rounds : most rounds of new neurons.
    ridge : the penalty; "auto" chooses a power of ten of the features' mean variance.
    clip : standard deviations at which the neurons' inputs are clipped.
    hold_out : share of the rows that no first-layer update sees; they choose round and ridge.
        Without any the layer stays untrained.
    sample_rows : rows that the first layer is learned on; the readout is fitted on all.
    device : "cpu", or "cuda" for the pass over the data.
    n_jobs : processes for the passes over a source of several parts.
    random_state : seed of all random numbers.

    Attributes
    ----------
    choice_, held_out_score_ : what held-out rows chose, and the score of the choice.
    metric_, feature_importances_, spectrum_, coef_, n_rows_ : see the properties.
    """


class _OneStep(_Common):
    """One gradient step with a random readout, then ridge."""

    def __init__(
        self,
        width: int = 1000,
        *,
        eta: float | str = "auto",
        c: float = 1.0,
        alpha: float | None = None,
        ridge: float | str = "auto",
        activation: Any = "relu:raw",
        inputs: str = "standard",
        bias: str = "data",
        weights: str = "gaussian",
        readout: str = "gaussian",
        residual: str = "labels",
        rows: str = "same",
        step_share: float = 0.5,
        skip: bool = True,
        intercept: bool = True,
        clip: float = 4.0,
        hold_out: float = 0.2,
        sample_rows: int = 20_000,
        device: str = "cpu",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.eta = eta
        self.c = c
        self.alpha = alpha
        self.ridge = ridge
        self.activation = activation
        self.inputs = inputs
        self.bias = bias
        self.weights = weights
        self.readout = readout
        self.residual = residual
        self.rows = rows
        self.step_share = step_share
        self.skip = skip
        self.intercept = intercept
        self.clip = clip
        self.hold_out = hold_out
        self.sample_rows = sample_rows
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def literal(cls, problem: Problem, **parameters: Any) -> Any:
        """The algorithm of a Problem, with nothing added: raw inputs, no bias, skip or intercept.

        Fit it on n_step + n rows: a share of n_step / (n_step + n), drawn at random, makes the
        step where `ridge_rows` is "fresh".
        """
        p = problem
        settings: dict[str, Any] = {
            "eta": p.eta,
            "ridge": p.ridge,
            "activation": p.sigma,
            "inputs": "raw",
            "bias": "none",
            "weights": p.weights,
            "readout": p.readout,
            "residual": p.residual,
            "rows": p.ridge_rows,
            "step_share": p.rows_of_step / (p.rows_of_step + p.n),
            "skip": False,
            "intercept": p.intercept,
            "clip": math.inf,
            "sample_rows": p.rows_of_step + p.n,
        }
        return cls(p.N, **(settings | parameters))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InvalidInput(
                    f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r:.60}"
                )
        if self.eta != "auto":
            _check_number("eta", self.eta, 0)
        if self.alpha is not None:
            _check_number("alpha", self.alpha, -10, 10)
            _check_number("c", self.c, 0)
            if self.eta != "auto":
                raise InvalidInput("give eta, or c and alpha, not both")
        if self.rows == "fresh":
            _check_number("step_share", self.step_share, 0.01, 0.99)

    def _step(self, n: int) -> float | None:
        """eta where it is given; None where held-out rows choose it."""
        if self.alpha is not None:
            return float(self.c * float(n) ** self.alpha)
        return None if isinstance(self.eta, str) else float(self.eta)

    def _chooses(self) -> bool:
        return self._ridge is None or self._step(2) is None

    def _split(self, drawn: Sample, held: Any) -> tuple[Any, Any, int]:
        if self.rows == "same":
            return ~held, ~held, 0
        below = (np.cumsum(drawn.w) - 0.5 * drawn.w) < self.step_share * drawn.w.sum()
        update, fit = below & ~held, ~below & ~held
        if not update.any() or not fit.any():
            raise InvalidInput(
                f"rows='fresh' needs at least 2 rows besides held-out ones; got {(~held).sum()}"
            )
        return update, fit, int(drawn.keys[np.flatnonzero(~below)[0]])

    def _learn(
        self, lesson: Lesson, scaling: Scaling, rng: np.random.Generator
    ) -> tuple[Trial, list[Trial]]:
        activation = resolve(self.activation)
        assert isinstance(activation, Function)
        draw = Draw.of(self.width, lesson.inputs, rng)
        if self.weights == "sphere":
            draw = draw.on_sphere()
        shape = (self.width, lesson.update.t.shape[1])
        draw_readout: dict[str, Callable[[tuple[int, int]], Floats]] = {
            "gaussian": rng.standard_normal,
            "constant": np.ones,
            "rademacher": lambda size: rng.choice([-1.0, 1.0], size=size),
        }
        recipe = one_step.Recipe(
            draw,
            draw_readout[self.readout](shape) / np.sqrt(self.width),
            scaling,
            activation,
            float(self.clip),
            self.skip,
            self.bias == "data",
            self.residual,
            self.intercept,
        )
        trials = one_step.learn(lesson, recipe, self._step(len(lesson.update)), self._ridge)
        untrained = recipe.untrained(lesson)
        return one_step.shown(lesson, untrained, trials[0]), trials

    @property
    def eta_(self) -> float:
        """The step that was made."""
        check_is_fitted(self)
        return float(self.choice_["eta"])

    @property
    def alpha_(self) -> float:
        """The exponent that the step amounts to: log eta / log n over its n rows."""
        n = self.choice_["step_rows"]
        return math.log(self.eta_) / math.log(n) if self.eta_ > 0 and n > 1 else -math.inf


class OneStepRegressor(_OneStep, Regression):
    __doc__ = (
        "One gradient step on the first layer with a random readout, then ridge: regression."
        + ONE_STEP
    )


class OneStepClassifier(_OneStep, Classification):
    __doc__ = (
        "One gradient step on the first layer, then ridge on plus-minus-one labels: classes."
        + ONE_STEP
    )


class OneStepFeatures(_OneStep, Features):
    __doc__ = (
        "The features after one gradient step on the first layer, for any model on top." + ONE_STEP
    )


class _Alternating(_Common):
    """Rounds of first-layer updates with the trained readout."""

    _shares: ClassVar[dict[str, float]] = {
        "any": 0.4,
        "axis": 0.15,
        "pair": 0.15,
        "neighbours": 0.3,
    }
    _power, _steps = 0.75, 0

    def __init__(
        self,
        width: int = 1000,
        *,
        rounds: int = 32,
        ridge: float | str = "auto",
        clip: float = 4.0,
        hold_out: float = 0.2,
        sample_rows: int = 20_000,
        device: str = "cpu",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.rounds = rounds
        self.ridge = ridge
        self.clip = clip
        self.hold_out = hold_out
        self.sample_rows = sample_rows
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _check_number("rounds", self.rounds, 0, whole=True)

    def _learn(
        self, lesson: Lesson, scaling: Scaling, rng: np.random.Generator
    ) -> tuple[Trial, list[Trial]]:
        activation = resolve("relu:raw")
        assert isinstance(activation, Function)
        recipe = alternating.Recipe(
            self.width,
            scaling,
            activation,
            float(self.clip),
            self.rounds,
            self._steps if self.rounds else 0,
            self._shares,
            self._power,
            rng,
        )
        trials = alternating.learn(lesson, recipe, self._ridge)
        return trials[0], trials


class AlternatingRegressor(_Alternating, Regression):
    __doc__ = "Ridge, first-layer update with the trained readout, ridge: regression." + ALTERNATING


class AlternatingClassifier(_Alternating, Classification):
    __doc__ = "Ridge, first-layer update with the trained readout, ridge: classes." + ALTERNATING
    _shares: ClassVar[dict[str, float]] = {
        "any": 0.2,
        "axis": 0.15,
        "pair": 0.15,
        "neighbours": 0.25,
        "rows": 0.25,
    }
    _power, _steps = 0.5, 4


ESTIMATORS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        OneStepRegressor,
        OneStepClassifier,
        OneStepFeatures,
        AlternatingRegressor,
        AlternatingClassifier,
    )
}
