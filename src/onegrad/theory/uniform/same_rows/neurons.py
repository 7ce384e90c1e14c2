r"""Types of neurons: readout and length, with what the step does to a weight on its own rows.

Off v a neuron's weights keep the part P along :math:`\hat w_0` and gain a part Q across it,

.. math::
    P &= |w|(1 + \epsilon + \varepsilon E r), \qquad \varepsilon = 2c_2\gamma g \\
    P^2 + Q^2 &= |w|^2[(1+\epsilon)^2 + 2(1+\epsilon)\varepsilon E r
        + \varepsilon^2((E r)^2 + \varphi E r^2)] + \gamma^2g^2\nu\varphi E r^2,

since :math:`\mathrm{tr}M/d = E r` and :math:`\mathrm{tr}M^2/d = (E r)^2 + \varphi E r^2`.
"""

from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages
from onegrad.problem import Problem
from onegrad.theory.direction import is_of_one_size
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.quadrature_nodes import readout_law
from onegrad.theory.uniform.rules import (
    LARGE_DEVIATION,
    MAX_WIDTH,
    TWO_POINT_NODES,
    GradedRule,
    smooth_width,
)
from onegrad.theory.uniform.same_rows.training_rows import TrainingRows

READOUT_REACH = 5.5  # standard deviations of a normal readout
MIN_TYPE_WEIGHT = 3e-6  # of a type
WIDTH_OF_FIT = 0.25  # of that of the features: with it 14 readouts do what took 30


@dataclass(frozen=True)
class NeuronTypes:
    """Types of neurons, each array over types."""

    weight: Floats  # probability
    g: Floats  # readout
    size: Floats  # |w|, length of the initial weight
    gamma: Floats  # gamma g
    epsilon: Floats  # 2 c_2 gamma g
    c1: Floats  # E sigma'(|w| z)
    s: Floats  # weight along v, gamma g c_1 b
    own: Floats  # step along its own initial weight
    along: Floats  # P
    rho: Floats  # root of P^2 + Q^2
    length_deviation: float  # standard deviation of lengths that are not types of their own

    @property
    def across(self) -> Floats:
        """Part Q of a weight across the initial one."""
        return np.sqrt(np.maximum(self.rho**2 - self.along**2, 0.0))


def readout_rule(problem: Problem, step: StepNumbers, mean: float, square: float) -> GradedRule:
    """Return the rule for normal readouts, dense where features change with the readout.

    mean, square : E r and E r^2. The fit changes with the readout over a part of the width over
    which the features do.
    """
    phi = problem.phi_step
    large = LARGE_DEVIATION * step.gamma
    slope_energy = 4 * step.c2**2 + step.nu
    grown = (1 + 2 * step.c2 * large * mean) ** 2 + large**2 * phi * square * slope_energy
    steep = abs(large * step.c1 * step.b) / np.hypot(1.0, smooth_width(problem.sigma))
    own_part = step.gamma * phi * np.sqrt(square * slope_energy)
    rate = max(np.sqrt(max(grown - 1, 0.0)) / LARGE_DEVIATION, own_part)
    width = WIDTH_OF_FIT / max(float(steep), float(rate), 1 / MAX_WIDTH)
    return GradedRule(((0.0, width),), reach=READOUT_REACH)


def neuron_types(
    problem: Problem, step: StepNumbers, mean: float, square: float, readouts: int
) -> NeuronTypes:
    """Return the types of neurons, with so many nodes of a normal readout.

    mean, square : E r and E r^2.
    Readouts of one size have two lengths of Gaussian weights as types; with others lengths make no
    difference beyond their mean effect.
    """
    rule = readout_rule(problem, step, mean, square)
    normal, p = rule.nodes(readouts)
    large = p > MIN_TYPE_WEIGHT
    g, weight = readout_law(problem, (normal[large], p[large] / p[large].sum()))
    size, c1 = np.ones(len(g)), np.full(len(g), step.c1)
    deviation = 1 / np.sqrt(2 * problem.d) if problem.weights == "gaussian" else 0.0
    if deviation and is_of_one_size(problem):
        lengths = np.sqrt(1 + TWO_POINT_NODES * np.sqrt(2 / problem.d))
        slopes = gaussian_averages(problem.sigma, np.zeros(2), lengths).slope / lengths
        size, c1 = np.repeat(lengths, len(g)), np.repeat(slopes, len(g))
        g, weight, deviation = np.tile(g, 2), np.tile(weight, 2) / 2, 0.0
    gamma = step.gamma * g
    epsilon = 2 * step.c2 * gamma
    own = -gamma * (step.own_output + 6 * step.c3 * step.b * step.backward) * g
    own = own / np.sqrt(problem.N)
    noise = problem.phi_step * square
    rho2 = size**2 * (
        (1 + own) ** 2 + 2 * (1 + own) * epsilon * mean + epsilon**2 * (mean**2 + noise)
    )
    return NeuronTypes(
        weight=weight,
        g=g,
        size=size,
        gamma=gamma,
        epsilon=epsilon,
        c1=c1,
        s=gamma * c1 * step.b,
        own=own,
        along=size * (1 + own + epsilon * mean),
        rho=np.sqrt(rho2 + gamma**2 * step.nu * noise),
        length_deviation=float(deviation),
    )


def weights_in_the_plane(
    problem: Problem, step: StepNumbers, types: NeuronTypes, rows: TrainingRows
) -> Floats:
    r"""Return d times the covariance of weights along v and the teacher's directions, (U, a, b).

    .. math:: |w|^2[(1+\epsilon)^2 I + 2(1+\epsilon)\varepsilon M + \varepsilon^2(M^2 + \varphi S)]
        + \gamma^2g^2\nu\varphi S
    """
    phi, M = problem.phi_step, rows.M
    column = (slice(None), None, None)
    grown, epsilon = (1 + types.own)[column], types.epsilon[column]
    moved = grown**2 * np.eye(len(M)) + 2 * grown * epsilon * M
    moved = moved + epsilon**2 * (M @ M + phi * rows.S)
    noise = (types.gamma[column] ** 2) * step.nu * phi * rows.S
    return types.size[column] ** 2 * moved + noise
