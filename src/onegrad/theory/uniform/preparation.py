"""Everything the uniform theory needs of a problem before a number of nodes is chosen.

A prediction is computed with several numbers of nodes; what does not depend on them is prepared
once: the step, the law of the labels, the spectral measures of the step, and the two rules that
place nodes where functions are steep.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from onegrad.arrays import Floats
from onegrad.problem import Problem
from onegrad.theory.direction import output_constants
from onegrad.theory.uniform.covariance import StepCovariance, step_covariance
from onegrad.theory.uniform.first_step import StepNumbers, take_step
from onegrad.theory.uniform.laws.labels import LabelLaw, along_linear, unit_linear
from onegrad.theory.uniform.quadrature_nodes import (
    bulk_variance,
    conditional_readouts,
    large_readout,
    slopes_by_length,
)
from onegrad.theory.uniform.rules import LARGE_DEVIATION, GradedRule, index_rule, neuron_rule


@dataclass(frozen=True)
class NodeCounts:
    """Numbers of nodes of the index, and of a neuron's weight along the learned direction."""

    index: int
    neuron: int


@dataclass(frozen=True)
class Prepared:
    """A problem at one constant of its initial output, before nodes are chosen."""

    problem: Problem  # one without a step has the plainest step's direction
    step: StepNumbers
    labels: LabelLaw
    covariance: StepCovariance
    slopes: Floats  # c_1 of neurons of two lengths
    index_rule: GradedRule
    neuron_rule: GradedRule  # for a neuron's weight along v
    across: tuple[Floats, Floats]  # nodes and probabilities of a neuron's readout given that weight


def prepare_problem(problem: Problem, constant: float | None = None) -> Prepared:
    """Prepare a problem for any number of nodes.

    constant : constant of the initial output, see `output_constants`; by default their mean.
    """
    problem = with_a_direction(problem)
    if constant is None:
        constant = float(np.mean(output_constants(problem)))
    labels = LabelLaw.of(problem)
    step = take_step(problem, constant, labels)
    covariance = _as_neurons_lean(problem, step, _covariance(problem, step, labels))
    slopes = slopes_by_length(problem)
    rules = _rules(problem, step, labels, covariance, slopes)
    return Prepared(problem, step, labels, covariance, slopes, *rules)


def prepare_constants(
    problem: Problem, prepare: Callable[..., Any] = prepare_problem
) -> tuple[Any, tuple[Any, ...]]:
    """Prepare a problem at the mean constant of its initial output and at each possible one.

    The first decides how many nodes are needed. Predictions are means over the others, which
    differ from it only with the full residual of an activation that is not centred.

    prepare : `prepare_problem`, or the preparation of another route with the same arguments.
    """
    mean = prepare(problem)
    constants = output_constants(problem)
    moves = problem.step or problem.steps > 1
    if len(constants) == 1 or not problem.output_scale or not moves:
        return mean, (mean,)
    return mean, tuple(prepare(problem, constant) for constant in constants)


class HasRules(Protocol):
    """Something prepared, with rules for the index and for a neuron's weight along v."""

    @property
    def index_rule(self) -> GradedRule: ...
    @property
    def neuron_rule(self) -> GradedRule: ...


def node_counts(
    prepared: HasRules, index_spacing: float = 1.0, neuron_spacing: float = 1.0
) -> NodeCounts:
    """Return the numbers of nodes that resolve a problem; smaller spacings make finer rules."""
    return NodeCounts(
        prepared.index_rule.count(index_spacing), prepared.neuron_rule.count(neuron_spacing)
    )


def with_a_direction(problem: Problem) -> Problem:
    """Return the problem; without a step no direction is singled out: take the plainest one's."""
    if problem.step:
        return problem
    rows = problem.n if problem.labels == "plain" else problem.n_step  # a fit to them stays
    plainest = {"readout": "gaussian", "residual": "labels", "update": "gradient"}
    return problem.replace(n_step=rows, **plainest)


def _covariance(problem: Problem, step: StepNumbers, labels: LabelLaw) -> StepCovariance:
    """Return the spectral measures of the matrices by which the step moves the bulk."""
    return step_covariance(
        labels,
        step.residual_noise,
        problem.phi_step,
        problem.rows_of_step,
        squared=step.c2 == 0.0,
        output=step.backward * step.b,
        constant=step.residual_mean,
    )


def _as_neurons_lean(
    problem: Problem, step: StepNumbers, covariance: StepCovariance
) -> StepCovariance:
    """Return the measures of M with its shift, seen from all directions that neurons lean along."""
    if step.c2 and problem.readout == "constant":
        # as one along Kv, K = (1 + epsilon (M + shift))^2
        epsilon = 2 * step.c2 * step.gamma
        covariance = covariance.with_drift(1 + epsilon * step.shift, epsilon / 2)
    return covariance.shifted(step.shift)


def _rules(
    problem: Problem,
    step: StepNumbers,
    labels: LabelLaw,
    covariance: StepCovariance,
    slopes: Floats,
) -> tuple[GradedRule, GradedRule, tuple[Floats, Floats]]:
    """Return rules for the index, for a neuron's weight along v, and for its readout given that."""
    gaussian = problem.readout == "gaussian"
    spike, own = abs(step.gamma * step.c1 * step.b), 1 / np.sqrt(problem.d)
    g = np.array([1.0, -1.0]) * large_readout(problem)
    rho2 = bulk_variance(step, problem.phi_step, g, covariance.trace) @ covariance.trace.weight
    strength = (np.abs(spike * g) + LARGE_DEVIATION * own) / np.sqrt(np.maximum(rho2, 1e-12))
    fitted = labels.fit.has_direction
    theta = step.theta * (float(unit_linear(labels)[0]) if fitted else 1.0)
    index = index_rule(problem.sigma, float(strength.max()), along_linear(labels), theta)
    growth = max(float(rho2.max()) - 1, 0.0)
    across = conditional_readouts(
        problem, step.gamma * step.b * float(np.abs(slopes).min()), growth
    )
    if not gaussian:
        return index, neuron_rule(problem.sigma, own, 0.0), across
    deviation = float(np.hypot(spike, own))
    rate = float(np.sqrt(growth)) / LARGE_DEVIATION * spike / deviation
    return index, neuron_rule(problem.sigma, deviation, rate), across
