r"""Distance of a prediction from the mean over many networks, from the terms that it neglects.

The theory drops terms that grow with known numbers :math:`f_j` of a problem. They are independent,
so that its relative error (95 %) is

.. math:: \text{accuracy}^2 = (\text{quadrature error})^2 + \sum_j (c_jf_j)^2,\qquad c_j \ge 0.

The coefficients are data, `accuracy.json`: those of every route of the theory (fresh rows, and each
of its extensions), and for each route those that differ. `python benchmarks/calibrate_accuracy.py`
fits a route to one half of simulated settings and prints how it fares on the other half.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.function import Function
from onegrad.functions.hermite import expect, gauss_hermite
from onegrad.problem import Problem
from onegrad.theory.prediction import TrainTest
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.preparation import Prepared
from onegrad.theory.uniform.quadrature_nodes import (
    bulk_variance,
    readout_law,
    weights_along_v,
)
from onegrad.theory.uniform.ridge_errors import RidgeErrors

READOUT_NODES = 9  # of normal readouts, for a mean over neurons
MAX_STEEPNESS = 20.0  # beyond it predictions were off by a factor of two and more
PLAIN_ROUTE = "fresh rows"  # the route of the theory without extensions
SHARED = "every route"  # the section of coefficients that routes have where theirs say nothing else
NeglectedSizes = dict[str, float]  # neglected terms in words, and the numbers that they grow with


def neglected_sizes(problem: Problem, step: StepNumbers, values: RidgeErrors) -> NeglectedSizes:
    """Return the numbers f_j that neglected terms grow with, each by what it is in words."""
    t, d, rows = abs(step.gamma * step.c1 * step.b), problem.d, problem.rows_of_step
    smallest = min(problem.n, d, problem.N, rows)
    energy = problem.sigma.second_moment
    tails = max(slope_kurtosis(problem.sigma) - 1, 0.0)
    strong = t * t / (1 + t * t)
    strong_even = strong * (float(np.sqrt(2 * step.c2**2 / energy)) if energy else 0.0)
    steepness = tails * strong / max(values.gap, 1e-9)
    growth = (2 * step.c2 * step.gamma * step.residual_mean) ** 2
    noise = (step.gamma * step.b) ** 2 * step.nu * (1 - step.theta**2)  # of bulk weights, about
    lengthened = noise / (1 + noise)
    labels = (problem.teacher_function.second_moment + problem.noise**2) / values.test
    return {
        "the error of the theory itself": 1e-3,
        "small sizes": max(labels, 1.0) / smallest,
        "very small sizes": (10 / smallest) ** 2,
        "an activation with steep tails at a small d": tails / d,
        # measured and not derived: errors of H3 after a strong step fall like the root of 1/d
        "neurons that the step lengthens, of an activation with steep tails": lengthened
        * float(np.sqrt(tails / d)),
        # rows whose features are many times larger than others decide the fit
        "steep tails of the features near interpolation": steepness
        / MAX_STEEPNESS
        * (steepness > MAX_STEEPNESS),
        "an activation with an even part and a strong step on few rows": strong_even
        * d
        / (d + rows),
        # all neurons are alike, and what the step does to each does not average out
        "equal readouts, an activation with an even part and a strong step": strong_even
        * labels
        * (problem.readout == "constant"),
        # and two kinds of neurons, each of which leans its own way
        "readouts of both signs, an activation with an even part and a strong step": strong_even
        * (problem.readout == "rademacher"),
        "a constant of the initial output that changes the length of neurons": growth
        / (1 + growth),
        "ridge near zero at the interpolation threshold": 1
        / (problem.n * max(values.gap, 1e-9) ** 2),
    }


def neglected_of_directions(prepared: Prepared) -> NeglectedSizes:
    """Return what is neglected where one direction has a large share of a neuron's variance."""
    problem, step, covariance = prepared.problem, prepared.step, prepared.covariance
    g, weight = readout_law(problem, gauss_hermite(READOUT_NODES))
    along_v = weights_along_v(step, problem.phi_step, g, covariance.along)
    bulk, seen = (
        bulk_variance(step, problem.phi_step, g, measure)
        for measure in (covariance.trace, covariance.teacher)
    )
    vector = covariance.teacher.vector
    off = np.einsum("ur,ri,rj->uij", seen, vector, vector)
    return neglected_of_shares(problem, weight, along_v, off, bulk @ covariance.trace.weight)


def neglected_of_shares(
    problem: Problem, weight: Floats, along_v: Floats, off: Floats, bulk: Floats
) -> NeglectedSizes:
    r"""Return what is neglected where one direction has a large share of a neuron's variance.

    .. math:: \Big\langle\frac{\lambda}{\lambda + \rho^2}\Big\rangle - \frac1{1 + d},

    :math:`\lambda` the variance of a neuron's random weight along v, or its largest one along a
    special direction off v. Features read the first by a rule, and the others to second order: it
    matters more the more of an output is quadratic.

    weight : (U,) of types of neurons.
    along_v : (U,) d times the variance of their random weights along v.
    off : (U, k, k) d times the covariance of their weights along special directions off v.
    bulk : (U,) d times the variance of a weight, rho^2.
    """
    d, energy = problem.d, problem.sigma.second_moment
    quadratic = 2 * problem.sigma.c[2] ** 2 / energy if energy else 0.0

    def share(variance: Floats) -> float:
        one = float(weight @ (variance / (variance + d * bulk))) - 1 / (1 + d)
        return max(one, 0.0)

    return {
        "random weights along the learned direction, which the step lengthens": share(along_v),
        # three times where all is quadratic: H2 and its teacher are up to 40 % off
        "a direction that the quadratic part of the labels singles out": (1 + 2 * quadratic)
        * share(np.linalg.eigvalsh(off)[:, -1].astype(float)),
    }


def stated_accuracy(sizes: NeglectedSizes, route: str = PLAIN_ROUTE) -> tuple[TrainTest, str]:
    """Return the relative error of train and test, 95 %, and its largest contribution in words.

    The error of quadrature is not part of it.

    sizes : the numbers f_j, by what they are in words.
    route : section of the coefficients; one that is not there has those of fresh rows, and a term
        without coefficients has one: its number is then the relative error itself.
    """
    coefficients = accuracy_coefficients()
    table = coefficients.get(route, coefficients[PLAIN_ROUTE])
    terms = {k: np.array(table.get(k, (1.0, 1.0))) * f for k, f in sizes.items()}
    train, test = np.sqrt(sum(term**2 for term in terms.values()))
    reason = max(terms, key=lambda k: float(terms[k].max()))
    return TrainTest(train=float(train), test=float(test)), reason


@lru_cache(maxsize=1)
def accuracy_coefficients() -> Mapping[str, Mapping[str, tuple[float, float]]]:
    """Return the coefficients c_j of (train, test), by route and term."""
    text = files("onegrad.theory.uniform").joinpath("accuracy.json").read_text("utf-8")
    sections = json.loads(text)
    shared = sections.pop(SHARED)
    return {route: shared | terms for route, terms in sections.items()}


@lru_cache(maxsize=256)
def slope_kurtosis(sigma: Function) -> float:
    r"""Return :math:`E\sigma'^4/(E\sigma'^2)^2`."""
    second = sigma.slope_second_moment
    fourth = expect(lambda z: sigma.derivative(z) ** 4, sigma.kinks)
    return fourth / second**2 if second else 1.0
