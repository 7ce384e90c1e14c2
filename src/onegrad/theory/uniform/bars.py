r"""Bars of a prediction: the numbers that neglected terms grow with, and what these are worth.

The theory drops terms that grow with known numbers :math:`f_j` of a problem. They are independent,
so that its relative error (95 %) is

.. math:: \text{accuracy}^2 = (\text{quadrature error})^2 + \sum_j(c_jf_j)^2,\qquad c_j \ge 0.

The terms are the table `Neglected`, their coefficients data, `bars.json`: one set for the engine,
of (train, test). `python benchmarks/calibrate_bars.py` fits them to one half of all simulated
settings and prints how they fare on the other half. Nothing in bars.json is set elsewhere.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

import numpy as np

from onegrad.functions.function import Function
from onegrad.functions.hermite import expect
from onegrad.problem import Problem
from onegrad.theory.prediction import TrainTest
from onegrad.theory.uniform.evaluation import Evaluation
from onegrad.theory.uniform.step import energy_of_long_rows

# of the mean square of residuals from step to step; below it predictions are .03 % off in the mean
LARGE_GROWTH = 100.0
# beyond it predictions for activations of steep tails were off by a factor of two and more
MAX_STEEPNESS, MIN_TAILS = 10.0, 5.0
# as much as a share that types do not know: a few neurons near the kink of what a spike makes of
# all were 5 to 10 % of an error at a share of .95
KNOWN_SHARE = 0.07


class Neglected(enum.Enum):
    """A term that the theory neglects, in words."""

    THEORY = "the error of the theory itself"
    SMALL_SIZES = "small sizes"
    VERY_SMALL_SIZES = "very small sizes"
    STEEP_TAILS = "an activation with steep tails at a small d"
    STEEP_LENGTHENED = "neurons that the step lengthens, of an activation with steep tails"
    STEEP_FEATURES = "steep tails of the features near interpolation"
    EVEN_FEW_ROWS = "an activation with an even part and a strong step on few rows"
    EVEN_EQUAL = "equal readouts, an activation with an even part and a strong step"
    EVEN_SIGNS = "readouts of both signs, an activation with an even part and a strong step"
    MOSTLY_QUADRATIC = "an activation that is mostly quadratic, and a step that lengthens neurons"
    QUADRATIC_SAME = "an activation that is mostly quadratic, on the rows of the step"
    CONSTANT = "a constant of the initial output that changes the length of neurons"
    THRESHOLD = "ridge near zero at the interpolation threshold"
    STEEP_THRESHOLD = "steep tails, at a small d near the interpolation threshold"
    HEAVY_TAILS = "labels with heavy tails at a small d"
    ALONG_V = "random weights along the learned direction, which the step lengthens"
    OFF_V = "a direction that the quadratic part of the labels singles out"
    STARTS = (
        "neurons that start along a direction that the quadratic part of the labels singles out"
    )
    STRONG_DIRECTION = "a direction of the inputs that has much of a neuron's variance"
    BLOWN_UP = "a first step that blows the residuals of the second up"
    BLOWN_UP_EQUAL = "equal readouts after a step that blows residuals up"
    UNDONE = "a second step that undoes the first, of readouts of several sizes"
    SECOND_MOMENTS = "second moments of the step that differ from network to network"
    TEACHERS = "errors that differ from teacher to teacher"
    PRODUCTS = "a preconditioned step that lengthens neurons"
    UNEVEN = "rows of uneven lengths, which are not as good as Gaussian ones"


TermSizes = dict[Neglected, float]


def neglected_sizes(problem: Problem, evaluations: Sequence[Evaluation]) -> TermSizes:
    """Return the numbers f_j that neglected terms grow with, means over the cases."""
    of_cases = [_sizes_of_case(problem, evaluation) for evaluation in evaluations]
    sizes = {term: float(np.mean([s[term] for s in of_cases])) for term in of_cases[0]}
    if not evaluations[0].steps.step.inputs.isotropic:
        tests = np.array([evaluation.test for evaluation in evaluations])
        sizes[Neglected.TEACHERS] = float(tests.std() / tests.mean()) / np.sqrt(len(tests))
    return sizes


def _sizes_of_case(problem: Problem, evaluation: Evaluation) -> TermSizes:
    steps, readout, d = evaluation.steps, problem.readout, problem.d
    step, numbers, gap = steps.step, steps.step.activation, max(evaluation.gap, 1e-9)
    rows = step.laws.step_count
    later = (step.laws.update.second or 0.0) / float(np.sqrt(problem.N))
    t = abs((step.gamma + later) * numbers.c1 * step.b)
    smallest = min(problem.n, d, problem.N, rows)
    energy = problem.sigma.second_moment
    tails = max(slope_kurtosis(problem.sigma) - 1, 0.0)
    strong = t * t / (1 + t * t)
    quadratic = 2 * numbers.c2**2 / energy if energy else 0.0
    even = strong * float(np.sqrt(quadratic))
    steepness = tails * strong / gap
    growth = (2 * numbers.c2 * step.gamma * step.scale * step.laws.update.constant) ** 2
    amplified = (tails / (d * gap**2)) ** 1.5
    theta2 = float(step.overlaps @ step.overlaps)
    noise = (step.gamma * step.b) ** 2 * numbers.nu * max(1 - theta2, 0.0)  # of weights, about
    lengthened = noise / (1 + noise)
    teacher, isotropic = step.labels.teacher, step.inputs.isotropic
    label_energy = step.labels.energy
    labels = label_energy / evaluation.test
    along, off = (max(share - 1 / (1 + d), 0.0) for share in (steps.along_v, steps.off_v))
    # more where the quadratic part of the labels alone moves weights: 31 % too low at a share of
    # .08, 52 % at .18 (least squares taken off, H1/4 + H2, power laws of .7 and .86)
    only_quadratic = step.b == 0.0 and numbers.c2 != 0.0
    dominant = max(along, off) * (1 + 3 * only_quadratic) * (not isotropic)
    initial = steps.types.initial
    starts = 0.0 if initial is None or initial.second is None else initial.explained**0.5 / gap
    if initial is not None and initial.second is None and not isotropic:
        dominant += KNOWN_SHARE * initial.explained
    blown_up = max(steps.growth - 1, 0.0) / (steps.growth + LARGE_GROWTH)
    squares, p = step.laws.neurons.squared_readouts
    undone = step.full * (float(p @ squares**2) - 1) / problem.N * steps.undone
    # share of the step in the variance of weights
    moved = np.maximum(1 - (steps.types.size / steps.types.rho) ** 2, 0.0) * (numbers.c2 != 0.0)
    scales, shares = step.inputs.scales
    products = float(steps.types.weight @ moved**2) * (problem.update == "preconditioned")
    # features that are nearly products of two inputs know the step's rows beyond their linear part;
    # the power is that of H1 + H2/2 and relu, which need nothing
    product_like = quadratic**4 * float(np.sqrt(steps.types.weight @ moved)) / gap
    different = 3 * (step.gamma * numbers.c2) ** 2 * float(steps.moments.S[0, 0]) / rows
    return {
        Neglected.THEORY: 1e-3,
        Neglected.SMALL_SIZES: max(labels, 1.0) / smallest,
        Neglected.VERY_SMALL_SIZES: (10 / smallest) ** 2,
        Neglected.STEEP_TAILS: tails / d,
        # measured and not derived: errors of H3 after a strong step fall like the root of 1/d
        Neglected.STEEP_LENGTHENED: lengthened * float(np.sqrt(tails / d)),
        # rows whose features are many times larger than others decide the fit
        Neglected.STEEP_FEATURES: steepness
        / MAX_STEEPNESS
        * (steepness > MAX_STEEPNESS and tails > MIN_TAILS),
        Neglected.EVEN_FEW_ROWS: even * d / (d + rows),
        # all neurons are alike, and what the step does to each does not average out
        Neglected.EVEN_EQUAL: even * labels * (readout == "constant"),
        # and two kinds of neurons, each of which leans its own way
        Neglected.EVEN_SIGNS: even * (readout == "rademacher"),
        Neglected.MOSTLY_QUADRATIC: product_like * problem.N / problem.n,
        Neglected.QUADRATIC_SAME: product_like * step.laws.same_rows,
        Neglected.CONSTANT: growth / (1 + growth),
        Neglected.THRESHOLD: 1 / (problem.n * gap**2),
        # errors of order 1/d, as large as the response to the penalty makes them; the power is that
        # of settings with an eighth to a half, where others have a hundredth and need nothing
        Neglected.STEEP_THRESHOLD: amplified / (1 + amplified),
        # the sums of r x are fixed along v and the labels' directions too, where long rows count
        Neglected.HEAVY_TAILS: step.laws.same_rows
        * energy_of_long_rows(teacher)
        / (label_energy * d),
        Neglected.ALONG_V: along * isotropic,
        # three times where all of an output is quadratic: H2 and its teacher are up to 40 % off
        Neglected.OFF_V: (1 + 2 * quadratic) * off * isotropic,
        # types know them, but not what M does to them off the plane: on the rows of the step 5 to
        # 15 % at a gap of .6, 15 to 30 % near interpolation, at shares from .03 to .3 alike
        Neglected.STARTS: starts,
        Neglected.STRONG_DIRECTION: dominant,
        # fluctuations of the output that the theory takes for means decide the second step
        Neglected.BLOWN_UP: blown_up,
        Neglected.BLOWN_UP_EQUAL: blown_up * (readout == "constant"),
        # sums of g^2 differ from network to network, and what both steps leave differs the more
        Neglected.UNDONE: undone / (1 + undone),
        Neglected.SECOND_MOMENTS: different / (1 + different) * (not isotropic),
        Neglected.PRODUCTS: products,
        Neglected.UNEVEN: float(np.sqrt(shares @ (scales - 1) ** 2)),
    }


def stated_accuracy(sizes: Mapping[Neglected, float]) -> tuple[TrainTest, Neglected]:
    """Return the relative error of train and test, 95 %, and its largest contribution.

    The error of quadrature is not part of it.
    """
    table = coefficients()
    terms = {term: np.array(table[term]) * f for term, f in sizes.items()}
    train, test = np.sqrt(sum(term**2 for term in terms.values()))
    largest = max(terms, key=lambda term: float(terms[term].max()))
    return TrainTest(train=float(train), test=float(test)), largest


@lru_cache(maxsize=1)
def coefficients() -> Mapping[Neglected, tuple[float, float]]:
    """Return the coefficients c_j of (train, test)."""
    text = files("onegrad.theory.uniform").joinpath("bars.json").read_text("utf-8")
    return {Neglected[name.upper()]: tuple(pair) for name, pair in json.loads(text).items()}


@lru_cache(maxsize=256)
def slope_kurtosis(sigma: Function) -> float:
    r"""Return :math:`E\sigma'^4/(E\sigma'^2)^2`."""
    second = sigma.slope_second_moment
    fourth = expect(lambda z: sigma.derivative(z) ** 4, sigma.kinks)
    return fourth / second**2 if second else 1.0
