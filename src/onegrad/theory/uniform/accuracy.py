r"""Distance of a prediction from the mean over many networks, from the terms that it neglects.

The theory drops terms that grow with known numbers of a problem. Its relative error (95 %) is

.. math:: \text{accuracy} = \text{quadrature error} + \sum_j c_j f_j,\qquad c_j \ge 0,

with t the strength of the spike per unit readout, K the kurtosis of :math:`\sigma'`, and
:math:`e_2 = 2c_2^2/E\sigma^2` the activation's energy at degree two. The coefficients are quantile
regressions on half of the simulated settings, checked on the other half:
`python benchmarks/calibrate_accuracy.py FILE...` prints both.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from onegrad.functions.function import Function
from onegrad.functions.hermite import expect
from onegrad.problem import Problem
from onegrad.theory.prediction import TrainTest
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.ridge_errors import RidgeErrors


class NeglectedTerm(NamedTuple):
    """Coefficients c_j of a neglected term in the train and the test error, and it in words."""

    train: float
    test: float
    reason: str


NEGLECTED_TERMS = {
    "any": NeglectedTerm(2.6, 3.2, "the error of the theory itself"),
    "small": NeglectedTerm(1.0, 1.0, "small sizes"),
    "tails": NeglectedTerm(2.8, 1.7, "an activation with steep tails at a small d"),
    "strong tails": NeglectedTerm(0.0, 0.021, "an activation with steep tails and a strong step"),
    "even": NeglectedTerm(0.3, 0.0, "an activation with an even part at a small d"),
    "strong": NeglectedTerm(0.0, 0.0, "a strong step at a small d"),
    "strong even": NeglectedTerm(0.021, 0.0, "an activation with an even part and a strong step"),
    "equal": NeglectedTerm(
        0.023, 0.06, "equal readouts, an activation with an even part and a strong step"
    ),
    "signs": NeglectedTerm(
        0.097, 0.15, "readouts of both signs, an activation with an even part and a strong step"
    ),
    "constant": NeglectedTerm(
        0.3, 0.3, "a constant of the initial output that changes the length of neurons"
    ),
    "threshold": NeglectedTerm(0.1, 0.1, "ridge near zero at the interpolation threshold"),
}


def neglected_sizes(problem: Problem, step: StepNumbers, values: RidgeErrors) -> dict[str, float]:
    """Return the numbers f_j that neglected terms grow with."""
    t, d = abs(step.gamma * step.c1 * step.b), problem.d
    tails = max(slope_kurtosis(problem.sigma) - 1, 0.0)
    energy = problem.sigma.second_moment
    even = float(np.sqrt(2 * step.c2**2 / energy)) if energy else 0.0
    strong = t * t / (1 + t * t)
    growth = (2 * step.c2 * step.gamma * step.residual_mean) ** 2
    labels = problem.teacher_function.second_moment + problem.noise**2
    return {
        "any": 1e-3,
        "small": 1 / min(problem.n, d, problem.N, problem.rows_of_step),
        "tails": tails / d,
        "strong tails": tails * t / (1 + t) / np.sqrt(d),
        "even": even / np.sqrt(d),
        "strong": t / np.sqrt(d),
        "strong even": even * strong,
        # all neurons are alike, and what the step does to each does not average out
        "equal": even * strong * labels / values.test * (problem.readout == "constant"),
        # and two kinds of neurons, each of which leans its own way
        "signs": even * strong * (problem.readout == "rademacher"),
        "constant": growth / (1 + growth),
        "threshold": 1 / (problem.n * max(values.gap, 1e-9) ** 2),
    }


def accuracy(problem: Problem, step: StepNumbers, values: RidgeErrors) -> tuple[TrainTest, str]:
    """Return the relative error of train and test, 95 %, and its largest contribution in words.

    The error of quadrature is not part of it.
    """
    sizes = neglected_sizes(problem, step, values)
    train = sum(NEGLECTED_TERMS[k].train * f for k, f in sizes.items())
    test = sum(NEGLECTED_TERMS[k].test * f for k, f in sizes.items())

    def contribution(k: str) -> float:
        return max(NEGLECTED_TERMS[k].train, NEGLECTED_TERMS[k].test) * sizes[k]

    reason = NEGLECTED_TERMS[max(sizes, key=contribution)].reason
    return TrainTest(train=float(train), test=float(test)), reason


@lru_cache(maxsize=256)
def slope_kurtosis(sigma: Function) -> float:
    r"""Return :math:`E\sigma'^4/(E\sigma'^2)^2`."""
    second = sigma.slope_second_moment
    fourth = expect(lambda z: sigma.derivative(z) ** 4, sigma.kinks)
    return fourth / second**2 if second else 1.0
