r"""One gradient step on the first layer with a random readout, as in the papers.

.. math:: W = W_0 + \eta\,G, \qquad
          G = \frac1n \sum_i \big[(A\,r_i)\odot\sigma'(W_0 z_i + b)\big] z_i^\top,
          \qquad A_{jk} \sim N(0, 1/N)

with the residual r = y, or y minus the initial output. The step is eta itself, c n^alpha, or chosen
on held-out rows among multiples of |W_0| / |G|.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
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
from onegrad.tables.fitting.settings import FitPlan, check_layer, check_parameter, number_or_none
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


@dataclass(eq=False, repr=False)
class OneStepParameters:
    """One gradient step with a random readout.

    Parameters
    ----------
    width : number of neurons N; scikit-learn's `hidden_layer_sizes`.
    eta : step size; "auto" chooses among multiples of ``|W_0| / |G|``; 0 gives random features.
    c, alpha : the step size as c n^alpha for n rows, instead of eta.
    ridge : the ridge penalty, scikit-learn's `alpha` of Ridge; "auto" chooses a power of ten times
        the mean variance of the features, as RidgeCV would.
    activation : a name, a formula such as "tanh(2*x)", or a pair (function, derivative).
    inputs : "standard" scales inputs and targets; "raw" uses them unchanged.
    bias : "data" places the kink of each neuron at a row; "none" uses no biases.
    weights, readout, residual : as in Problem.
    rows : whether ridge uses the "same" rows as the step, or "fresh" ones.
    step_share : with fresh rows, the fraction of rows used for the step.
    skip, intercept : whether the inputs are also features; whether to fit an unpenalised constant.
    clip : number of standard deviations at which the inputs of the neurons are clipped.
    """

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


def check(p: OneStepParameters) -> None:
    """Raise InvalidInput unless the parameters are allowed."""
    check_layer(p.width, p.clip, p.ridge)
    for name, choices in CHOICES.items():
        check_choice(name, getattr(p, name), choices)
    if p.eta != "auto":
        check_parameter("eta", p.eta, 0)
    if p.alpha is not None:
        check_parameter("alpha", p.alpha, -10, 10)
        check_parameter("c", p.c, 0)
        if p.eta != "auto":
            raise InvalidInput("eta", p.eta, '"auto" where alpha is given')
    if p.rows == "fresh":
        check_parameter("step_share", p.step_share, 0.01, 0.99)


def step_of(p: OneStepParameters, n: int) -> float | None:
    """Return eta for n rows; None where held-out rows choose it."""
    if p.alpha is None:
        return number_or_none(p.eta)
    return float(p.c * float(n) ** p.alpha)


def plan(p: OneStepParameters, _: int, __: int) -> FitPlan:
    """Return how a sample is used: for one step, or for several to choose from."""
    chooses_step = step_of(p, 2) is None
    return FitPlan(
        p.inputs,
        max_candidates=len(RELATIVE_STEPS) if chooses_step else 1,
        chooses=chooses_step or number_or_none(p.ridge) is None,
        step_share=p.step_share if p.rows == "fresh" else None,
        intercept=p.intercept,
    )


def part_learners(_: OneStepParameters, __: TrainingSet) -> None:
    """Return none: nothing is learned beside the network."""


def learn(training_set: TrainingSet, p: OneStepParameters, rng: np.random.Generator) -> Candidates:
    """Try each step: eta where it is given, else multiples of |W_0| / |G|."""
    # all random numbers are drawn first, so that candidates differ in what is learned alone
    N, d = p.width, training_set.inputs
    W, u = rng.standard_normal((N, d)), rng.random(N)
    if p.weights == "sphere":
        W = W * (np.sqrt(d) / np.linalg.norm(W, axis=1, keepdims=True))
    W /= np.sqrt(d)
    A = random_readout(p.readout, (N, training_set.targets.outputs), rng)
    activation = resolve_activation(p.activation)
    clip = float(p.clip)
    without_biases = Layer(training_set.scaling, W, np.zeros(N), activation, p.skip, clip)
    sampler = NeuronSampler.of(training_set.update, clip)
    kinks = sampler.z[sampler.draw_rows(u)]  # (N, d) points at which neurons switch

    def layer(W: Floats) -> Layer:
        if p.bias == "none":
            return replace(without_biases, W=W)
        return replace(without_biases, W=W, b=-(W * kinks).sum(1))  # b_i = -w_i . z_j(i)

    untrained = layer(W)
    G = step_gradient(training_set.update, untrained, A, p.residual, p.intercept)
    length = float(np.linalg.norm(G))
    unit = float(np.linalg.norm(W)) / length if length > 0 else 0.0
    step_rows = len(training_set.update)
    eta = step_of(p, step_rows)
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
            ridge=number_or_none(p.ridge),
            first_ridge=tried[-1].ridge if tried else FIRST_RIDGE,
            intercept=p.intercept,
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
