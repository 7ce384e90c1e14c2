r"""One gradient step on the first layer with a random readout, as in the papers.

.. math:: W = W_0 + \eta\,G, \qquad
          G = \frac1n \sum_i \big[(A\,r_i)\odot\sigma'(W_0 z_i + b)\big] z_i^\top,
          \qquad A_{jk} \sim N(0, 1/N)

with the residual r = y, or y minus the initial output. The step is eta itself, c n^alpha, or chosen
on held-out rows among multiples of |W_0| / |G|.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput, check_choice
from onegrad.functions import resolve_activation
from onegrad.tables.first_layer.layer import Layer
from onegrad.tables.first_layer.neurons import NeuronSampler
from onegrad.tables.first_layer.scaling import ScaledRows, clip
from onegrad.tables.fitting.candidates import (
    FIRST_RIDGE,
    Candidate,
    Candidates,
    choose,
    evaluate_layer,
)
from onegrad.tables.fitting.settings import (
    FitPlan,
    Settings,
    check_layer,
    check_parameter,
    number_or_none,
)
from onegrad.tables.fitting.training_set import TrainingSet

RELATIVE_STEPS = (0.0, 0.1, 0.3, 1.0, 3.0)  # multiples of |W_0| / |G| that are tried

CHOICES = {
    "inputs": ("standard", "raw"),
    "bias": ("data", "none"),
    "residual": ("labels", "full"),
    "rows": ("same", "fresh"),
    "readout": ("gaussian", "constant", "rademacher"),
    "weights": ("gaussian", "sphere"),
}


@dataclass(frozen=True)
class OneStepSettings(Settings):
    """The parameters of the one-step estimators that say how the step is made."""

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

    def __post_init__(self) -> None:
        check_layer(self.width, self.clip, self.ridge)
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        if self.eta != "auto":
            check_parameter("eta", self.eta, 0)
        if self.alpha is not None:
            check_parameter("alpha", self.alpha, -10, 10)
            check_parameter("c", self.c, 0)
            if self.eta != "auto":
                raise InvalidInput("eta", self.eta, '"auto" where alpha is given')
        if self.rows == "fresh":
            check_parameter("step_share", self.step_share, 0.01, 0.99)

    def step(self, n: int) -> float | None:
        """Return eta for n rows; None where held-out rows choose it."""
        if self.alpha is None:
            return number_or_none(self.eta)
        return float(self.c * float(n) ** self.alpha)

    def plan(self, _: int, __: int, /) -> FitPlan:
        chooses_step = self.step(2) is None
        return FitPlan(
            self.inputs,
            max_candidates=len(RELATIVE_STEPS) if chooses_step else 1,
            chooses=chooses_step or number_or_none(self.ridge) is None,
            step_share=self.step_share if self.rows == "fresh" else None,
        )


def learn(
    training_set: TrainingSet, settings: OneStepSettings, rng: np.random.Generator
) -> Candidates:
    """Try each step: eta where it is given, else multiples of |W_0| / |G|."""
    # all random numbers are drawn first, so that candidates differ in what is learned alone
    N, d = settings.width, training_set.inputs
    W, u = rng.standard_normal((N, d)), rng.random(N)
    if settings.weights == "sphere":
        W = W * (np.sqrt(d) / np.linalg.norm(W, axis=1, keepdims=True))
    W /= np.sqrt(d)
    A = random_readout(settings.readout, (N, training_set.targets.outputs), rng)
    activation = resolve_activation(settings.activation)
    clip = float(settings.clip)
    without_biases = Layer(training_set.scaling, W, np.zeros(N), activation, settings.skip, clip)
    sampler = NeuronSampler.of(training_set.update, clip)
    kinks = sampler.z[sampler.draw_rows(u)]  # (N, d) points at which neurons switch

    def layer(W: Floats) -> Layer:
        if settings.bias == "none":
            return replace(without_biases, W=W)
        return replace(without_biases, W=W, b=-(W * kinks).sum(1))  # b_i = -w_i . z_j(i)

    untrained = layer(W)
    G = step_gradient(training_set.update, untrained, A, settings.residual, settings.intercept)
    length = float(np.linalg.norm(G))
    unit = float(np.linalg.norm(W)) / length if length > 0 else 0.0
    step_rows = len(training_set.update)
    eta = settings.step(step_rows)
    if eta is not None:
        etas = [eta]
    elif len(training_set.held_out) and unit > 0:
        etas = [multiple * unit for multiple in RELATIVE_STEPS]
    else:
        etas = [unit]
    tried: list[Candidate] = []
    for eta in etas:
        if tried and training_set.progress.stopped:
            break
        candidate = evaluate_layer(
            training_set,
            untrained if eta == 0 else layer(W + eta * G),
            {"eta": eta, "relative_step": eta / unit if unit > 0 else 0.0, "step_rows": step_rows},
            ridge=number_or_none(settings.ridge),
            first_ridge=tried[-1].ridge if tried else FIRST_RIDGE,
            intercept=settings.intercept,
        )
        tried.append(candidate)
    return Candidates(untrained, tried, choose(tried, training_set.held_out.w))


def random_readout(law: str, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """Draw the (N, K) readout of the step, with entries of size 1/sqrt(N)."""
    draw: dict[str, Callable[[tuple[int, int]], Floats]] = {
        "gaussian": rng.standard_normal,
        "constant": np.ones,
        "rademacher": lambda shape: rng.choice([-1.0, 1.0], size=shape),
    }
    return draw[law](shape) / np.sqrt(shape[0])


def step_gradient(
    rows: ScaledRows, layer: Layer, A: Floats, residual: str, intercept: bool
) -> Floats:
    """Return minus the (N, d) gradient of half the mean squared loss; A (N, K) is the readout.

    The clip of the inputs counts as the identity: a clipped input still says where f grows.
    """
    offset = (rows.w @ rows.t) / rows.w.sum() if intercept else 0.0
    G = np.zeros_like(layer.W)
    for block in rows.blocks():
        h = layer.preactivations(block.z)
        r = block.t - offset
        if residual == "full":
            r = r - layer.activation(h) @ A
        slopes = layer.activation.derivative(h)
        G += ((r * block.w[:, None]) @ A.T * slopes).T @ clip(block.z, layer.bound)
    return G / rows.w.sum()


def implied_alpha(choice: Mapping[str, Any]) -> float:
    """Return the exponent of the step eta = n^alpha that was chosen for n rows; -inf for none."""
    eta, n = float(choice["eta"]), choice["step_rows"]
    return math.log(eta) / math.log(n) if eta > 0 and n > 1 else -math.inf


def describe(choice: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the lines of a report, by name, on the step that was chosen."""
    alpha = implied_alpha(choice)
    exponent = f"{alpha:.3g}" if alpha > -math.inf else "none: no step"
    return [
        ("step", f"eta = {choice['eta']:.4g} = {choice['relative_step']:.3g} x |W0|/|G|"),
        ("implied alpha", f"{exponent} (eta = n^alpha, n = {choice['step_rows']:,})"),
    ]
