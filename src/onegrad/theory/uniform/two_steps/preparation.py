"""Everything that two steps need of a problem before a number of nodes is chosen."""

from dataclasses import dataclass, replace

import numpy as np

from onegrad.arrays import Floats
from onegrad.problem import Problem
from onegrad.theory.direction import output_constants
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.gauss_nodes import SpectralMeasure
from onegrad.theory.uniform.laws.labels import LabelLaw, along_linear
from onegrad.theory.uniform.preparation import prepare_problem
from onegrad.theory.uniform.quadrature_nodes import conditional_readouts, large_readout
from onegrad.theory.uniform.rules import LARGE_DEVIATION, GradedRule, index_rule, neuron_rule
from onegrad.theory.uniform.two_steps.both_batches import (
    BothBatches,
    BulkMove,
    both_batches,
    bulk_move,
)
from onegrad.theory.uniform.two_steps.second_step import (
    LearnedPlane,
    SecondStep,
    learned_plane,
    second_step,
)

MIN_STEP = 1e-9  # of a first step that is none: the fit to its labels and its batch remain


@dataclass(frozen=True)
class PreparedTwoSteps:
    """A problem of two steps at one constant of its initial output, before nodes are chosen."""

    problem: Problem
    step: StepNumbers  # both steps as one of the same strength, for the statements of accuracy
    labels: LabelLaw
    after: SecondStep
    plane: LearnedPlane
    batches: BothBatches
    growth: float  # mean square of the second residual over that of the first
    index_rule: GradedRule
    neuron_rule: GradedRule
    second_rule: GradedRule | None  # for the second index; None where there is one index
    # nodes and probabilities of a neuron's readout given its weight along v
    across: tuple[Floats, Floats]


def prepare_two_steps(problem: Problem, constant: float | None = None) -> PreparedTwoSteps:
    """Prepare a problem of two steps; the arguments of `prepare_problem`."""
    if constant is None:
        constant = float(np.mean(output_constants(problem)))
    first = problem.replace(steps=1, later_alpha="", eta=max(problem.step, MIN_STEP))
    after = second_step(prepare_problem(first, constant), problem.later_steps[0], constant)
    plane = learned_plane(after)
    batches = both_batches(after, plane.indices[0])
    rules = _rules_of_two_steps(problem, after, plane, batches)
    return PreparedTwoSteps(
        problem=problem,
        step=_as_one_step(after, plane),
        labels=after.first.labels,
        after=after,
        plane=plane,
        batches=batches,
        growth=after.total_energy / max(float(batches.energies[0]), 1e-300),
        index_rule=rules[0],
        neuron_rule=rules[1],
        second_rule=rules[2],
        across=rules[3],
    )


def variance_of_two_steps(
    move: BulkMove, measure: SpectralMeasure, norm: Floats, own: Floats
) -> Floats:
    r"""Return d times the variance of bulk weights, (U, R).

    .. math:: \kappa_r = |w_0|^2[(1+\varsigma+\epsilon+\varepsilon\mu_r)^2 + \text{noise}\cdot s_r]

    norm, own : squared lengths of the initial weights, and steps epsilon along them.
    """
    along = (1 + move.shift + own)[:, None] + move.epsilon[:, None] * measure.mu
    return norm[:, None] * (along**2 + move.noise[:, None] * measure.s)


def _as_one_step(after: SecondStep, plane: LearnedPlane) -> StepNumbers:
    """Return a step of the same strength along v as both together."""
    step = after.first.step
    gamma = step.gamma + after.gamma
    b = plane.strength / (gamma * abs(step.c1)) if gamma * step.c1 else step.b
    return replace(step, gamma=gamma, b=b, theta=float(np.linalg.norm(plane.overlaps[0])))


def _rules_of_two_steps(
    problem: Problem, after: SecondStep, plane: LearnedPlane, batches: BothBatches
) -> tuple[GradedRule, GradedRule, GradedRule | None, tuple[Floats, Floats]]:
    """Return rules for the index, a neuron's weight along v, a second index and the readout."""
    labels, gaussian = after.first.labels, problem.readout == "gaussian"
    own = 1 / np.sqrt(problem.d)
    g = np.array([1.0, -1.0]) * large_readout(problem)
    (moves, rho2), trace = _moves_and_variance(after, batches, g), along_linear(labels)
    growth = max(float(rho2.max()) - 1, 0.0)
    strength = np.abs(moves @ plane.indices[0]) + LARGE_DEVIATION * own
    strength = float((strength / np.sqrt(np.maximum(rho2, 1e-12))).max())
    first = plane.overlaps[0]
    theta = float(first[0] if labels.fit.has_direction else np.linalg.norm(first))
    index = index_rule(problem.sigma, strength, trace, theta)
    second = None
    if len(plane.indices) > 1:
        moves, rho2 = _moves_and_variance(after, batches, after.g)
        lean = np.abs(moves @ plane.indices[1]) / np.sqrt(rho2)
        size = float(np.sqrt(after.weight @ lean**2))
        if gaussian:
            size = min(LARGE_DEVIATION * size, float(lean.max()))
        overlap = float(np.linalg.norm(plane.overlaps[1]))
        second = index_rule(problem.sigma, size, trace, overlap)
    rms = neuron_strength(after, plane)
    across = conditional_readouts(problem, rms, growth)
    if not gaussian:
        return index, neuron_rule(problem.sigma, own, 0.0), second, across
    deviation = float(np.hypot(rms, own))
    rate = float(np.sqrt(growth)) / LARGE_DEVIATION * rms / deviation
    return index, neuron_rule(problem.sigma, deviation, rate), second, across


def neuron_strength(after: SecondStep, plane: LearnedPlane) -> float:
    """Return the root mean square of a neuron's move, not below that of its first step."""
    step = after.first.step
    return max(plane.total_strength, abs(step.gamma * step.c1 * step.b))


def _moves_and_variance(
    after: SecondStep, batches: BothBatches, g: Floats
) -> tuple[Floats, Floats]:
    """Return the moves of neurons of readouts g, and the variances of their bulk weights."""
    s, rho = after.start(g)
    slopes = after.slopes(s, rho)
    move = bulk_move(after, batches, g, slopes, rho)
    trace = batches.covariance.trace
    kappa = variance_of_two_steps(move, trace, np.ones(len(g)), np.zeros(len(g)))
    return after.moves(g, slopes.value, after.first.step.c1), kappa @ trace.weight
