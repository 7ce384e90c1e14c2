"""A problem as laws: the only place where the engine reads its fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from onegrad.exceptions import OutOfScope
from onegrad.problem import Problem
from onegrad.theory.scope import only_simulated
from onegrad.theory.uniform.laws.directions import labels_on
from onegrad.theory.uniform.laws.inputs import (
    FEW_DRAWS,
    Inputs,
    InputSpectrum,
    isotropic_inputs,
    stretched,
    teacher_draws,
)
from onegrad.theory.uniform.laws.labels import LabelLaw
from onegrad.theory.uniform.laws.neurons import NeuronLaw
from onegrad.theory.uniform.laws.rows import Rows, populations
from onegrad.theory.uniform.laws.updates import GradientStep, update_cases


@dataclass(frozen=True)
class Laws:
    """Everything that the engine knows of a problem, at one draw and one initial constant."""

    inputs: Inputs
    rows: tuple[Rows, ...]
    neurons: NeuronLaw
    labels: LabelLaw
    update: GradientStep
    ridge: float
    intercept: bool

    @property
    def ridge_count(self) -> int:
        """Number n of rows of ridge."""
        return sum(rows.count for rows in self.rows if rows.ridge)

    @property
    def step_count(self) -> int:
        """Number n_0 of rows of the step."""
        return sum(rows.count for rows in self.rows if rows.step)

    @property
    def same_rows(self) -> bool:
        """True if some row is in the step and in ridge."""
        return any(rows.step and rows.ridge for rows in self.rows)


def laws_of(
    problem: Problem, spectrum: InputSpectrum | None = None, draws: int = FEW_DRAWS
) -> tuple[Laws, ...]:
    """Return the laws of a problem, for each of its equally likely cases.

    Cases are draws of the teacher, where inputs have a covariance, and constants of the initial
    output.

    spectrum : of a user's inputs, in place of the problem's own.
    """
    if not problem.step and problem.steps == 2 and problem.labels == "plain":
        later = problem.later_sizes[0]
        problem = problem.replace(steps=1, later_alpha="", eta=later)  # the first moves nothing
    if not problem.step and problem.steps == 1:
        problem = _without_a_step(problem)
    if problem.paired:
        raise OutOfScope("uniform", "paired", True, "paired=False")
    _require_derived_steps(problem)
    if spectrum is None and problem.input_law.name != "gaussian":
        spectrum = InputSpectrum.of_law(problem)
    return tuple(
        Laws(
            inputs=inputs,
            rows=populations(problem),
            neurons=neurons,
            labels=labels,
            update=update,
            ridge=problem.ridge,
            intercept=problem.intercept,
        )
        for number, (inputs, labels, neurons) in enumerate(_draws(problem, spectrum, draws))
        for update in _updates(problem, neurons, None if inputs.isotropic else number)
    )


def _updates(problem: Problem, neurons: NeuronLaw, draw: int | None) -> tuple[GradientStep, ...]:
    """Return the steps at all constants of the initial output, or at one of them for each draw."""
    updates = update_cases(problem, neurons.mean_output)
    return updates if draw is None else (updates[draw % len(updates)],)


def _require_derived_steps(problem: Problem) -> None:
    """Raise OutOfScope for steps that have not been derived."""
    if problem.steps > 2:
        raise OutOfScope("uniform", "steps", problem.steps, "one step or two")
    if problem.update == "spectral":
        raise only_simulated("update", problem, "gradient and preconditioned steps")
    if problem.update == "preconditioned" and problem.steps == 2:
        raise only_simulated("steps", problem, "one preconditioned step, or two of the gradient")
    if problem.update == "preconditioned" and problem.labels != "plain":
        raise only_simulated("labels", problem, "preconditioned steps with labels='plain'")


def _without_a_step(problem: Problem) -> Problem:
    """Return a problem with the same errors of which the step has nothing to say.

    Its rows stay where a fit to their labels is taken off.
    """
    rows = {} if problem.labels != "plain" else {"n_step": problem.n, "ridge_rows": "fresh"}
    return problem.replace(readout="constant", residual="labels", update="gradient", **rows)


def _draws(
    problem: Problem, spectrum: InputSpectrum | None, draws: int
) -> Iterator[tuple[Inputs, LabelLaw, NeuronLaw]]:
    """Yield inputs, and labels and neurons as functions of standard normal indices."""
    labels, neurons = LabelLaw.of(problem), NeuronLaw.of(problem)
    if spectrum is None:
        yield isotropic_inputs(problem.d, labels.indices - 1), labels, neurons
        return
    scale = float(np.sqrt(spectrum.moment(1)))
    activation = stretched(problem.sigma, scale)
    length = float(np.sqrt(spectrum.mean_square / problem.d))
    for draw in teacher_draws(spectrum, draws, labels.indices - 1):
        inputs = Inputs.of_draw(spectrum, draw, problem.d)
        scales = tuple(zip(*inputs.scales, strict=True))
        yield (
            inputs,
            labels_on(inputs, replace(labels, scales=scales), scale, draw.offset * length),
            replace(neurons, activation=activation, biases=inputs.biases),
        )
