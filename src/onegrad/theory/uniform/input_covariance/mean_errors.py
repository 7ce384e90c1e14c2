"""Errors for inputs with a covariance: means over the draws of the teacher."""

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from onegrad.exceptions import NotConverged, OutOfScope
from onegrad.functions.function import MultiIndex
from onegrad.problem import Problem
from onegrad.theory.prediction import Errors, TrainTest
from onegrad.theory.uniform import accuracy
from onegrad.theory.uniform.concerns import concerns
from onegrad.theory.uniform.input_covariance.bulk import concentration
from onegrad.theory.uniform.input_covariance.discretisation import (
    draw_equations,
    number_of_nodes,
    step_numbers,
)
from onegrad.theory.uniform.input_covariance.preparation import (
    PreparedDraw,
    prepare_draws,
    with_fewer_nodes,
)
from onegrad.theory.uniform.laws.inputs import MANY_DRAWS, InputSpectrum
from onegrad.theory.uniform.preparation import NodeCounts, node_counts, with_a_direction
from onegrad.theory.uniform.refinement import (
    COARSER,
    MAX_OPERATIONS,
    SPACINGS,
    Refinement,
    errors_of_refinement,
    evaluate_at_nodes,
    operations_within,
    refine,
)
from onegrad.theory.uniform.ridge_errors import RidgeErrors
from onegrad.theory.uniform.rules import TWO_POINT_NODES
from onegrad.theory.uniform.spread import spread

COVARIANCE_LAWS = ("power-law", "spiked")
MEAN_TOLERANCE = 1e-5  # Newton step that is small enough for a mean over draws
# factors of the numbers of nodes across the weight along v and of M's noise, for all draws
FEWER_NODES = ((0.5, 0.5), (0.5, 1.0), (1.0, 1.0))
# by fewer nodes, in units of the tolerance: 0.2 %. All nodes for all draws instead move the points
# of reach_covariance by 0.007 % in the median, 0.34 % at most
MAX_CHANGE = 2.0
# of samples and neurons: with more, a point takes more than a second or so for each draw
MANY_NODES_OF_A_DRAW, MAX_NODES_OF_A_DRAW = 700, 2500
LOOSER_TOLERANCE = 5.0  # of quadrature there, in units of the tolerance that is asked for
MAX_MULTIPLIED_WEIGHT = 200.0  # by M's noise along the strongest direction: its order, not tuned
MAX_ERROR_OF_MEAN = 0.015  # over draws; above it more are taken: their bar alone would be 3 %
# of a point on which more draws are taken: with more they take seconds
MAX_NEURON_NODES, MAX_QUICK_OPERATIONS = 24, 8e8
MAX_CONCENTRATION = 0.5  # beyond it predictions were off by tens of percent


def covariance_errors(
    problems: Sequence[Problem],
    rtol: float,
    nodes: NodeCounts | None,
    spectrum: InputSpectrum | None = None,  # of the inputs; by default those of the problems' laws
) -> list[Errors]:
    """Return the errors of inputs with a covariance, one value per problem.

    Each problem starts from the solution of the one before it.

    Holds for one step on Gaussian inputs with a covariance, then ridge on fresh rows.
    See docs/input_covariance.md;
    tests/theory/uniform/test_inputs_with_a_covariance_have_limits.py.
    """
    for problem in problems:
        _require_covered_here(problem, spectrum)
    points: list[Errors] = []
    before: Refinement | None = None
    for problem in problems:
        inputs = spectrum or InputSpectrum.of_law(problem)
        draws = prepare_draws(with_a_direction(problem), inputs)
        carried = float(np.mean([concentration(draw) for draw in draws]))
        if carried > MAX_CONCENTRATION:
            covered = "steps after which at most two directions beside the learned one count"
            raise OutOfScope("uniform", "eta", problem.step, covered)
        normal, across = problem.readout == "gaussian", len(draws[0].across[0])
        if normal and len(draws[0].indices) > 1 and across > len(TWO_POINT_NODES):
            # half a minute to several, and gigabytes; the prediction was 12 % off
            covered = "constant and rademacher where a second direction is learned"
            raise OutOfScope("uniform", "readout", problem.readout, covered)
        if _multiplied_weight(draws) > MAX_MULTIPLIED_WEIGHT:
            covered = "steps that multiply no weight by more than some hundreds"
            raise OutOfScope("uniform", "eta", problem.step, covered)
        before, rule = _mean_over_draws(draws, rtol, nodes, before)
        quick = _are_quick(draws, before.finest.nodes, rule)
        # errors may differ so much between draws that few of them have no mean
        if _error_of_mean(before) > MAX_ERROR_OF_MEAN and quick and inputs.singles:
            more = prepare_draws(with_a_direction(problem), inputs, MANY_DRAWS)
            if _are_quick(more, before.finest.nodes, rule):
                draws, before = more, _at_coarser_nodes(more, before, rule)
        points.append(_with_bars(problem, draws, before, carried))
    return points


def _require_covered_here(problem: Problem, spectrum: InputSpectrum | None) -> None:
    """Raise OutOfScope for what is covered for isotropic inputs only."""
    if isinstance(problem.teacher_function, MultiIndex):
        name = problem.teacher_function.name
        raise OutOfScope("uniform", "teacher", name, "teachers of one index on such inputs")
    if problem.labels not in ("plain", "centred"):
        raise OutOfScope("uniform", "labels", problem.labels, "plain and centred on such inputs")
    if spectrum is None and problem.input_law.name not in COVARIANCE_LAWS:
        covered = f"gaussian, {', '.join(COVARIANCE_LAWS)}"
        raise OutOfScope("uniform", "inputs", problem.inputs, covered)


def _multiplied_weight(draws: tuple[PreparedDraw, ...]) -> float:
    r"""Return how many times the step multiplies weights along the strongest direction, by noise.

    .. math:: \epsilon_2\,s_{\max}\sqrt{\phi_0Er^2}

    Far above one, neurons are functions of more directions than two.
    """
    steps = [draw.step for draw in draws]
    largest = float(steps[0].spectrum.values.max())
    multiplied = [abs(step.gamma * step.activation.d2) * math.sqrt(step.energy) for step in steps]
    return largest * math.sqrt(steps[0].problem.phi_step) * float(np.mean(multiplied))


@dataclass(frozen=True)
class CoarserRule:
    """Fewer nodes, for all draws of the teacher, and what they change in the hardest of them."""

    nodes: NodeCounts
    operations: float  # that a solution of the hardest draw takes with fewer nodes
    across: float = 1.0  # factor of the number of nodes across the weight along v
    noise: float = 1.0  # and of M's noise
    train: float = 1.0  # error of the hardest draw with all nodes over that with fewer
    test: float = 1.0  # likewise

    def applied(self, values: RidgeErrors) -> RidgeErrors:
        """Return errors with fewer nodes, corrected."""
        return replace(
            values,
            train=self.train * values.train,
            penalty=self.train * values.penalty,
            test=self.test * values.test,
        )


def _mean_over_draws(
    draws: tuple[PreparedDraw, ...],
    rtol: float,
    nodes: NodeCounts | None,
    before: Refinement | None,
) -> tuple[Refinement, CoarserRule]:
    """Return means over the draws; the one that asks for most nodes decides for all."""
    start, spacings = (before.finest.last, before.spacings) if before else (None, SPACINGS)
    hardest = max(draws, key=lambda draw: sum(astuple(node_counts(draw))))
    if nodes is not None:
        means = evaluate_at_nodes(draws, nodes, start, draw_equations)
        rule = CoarserRule(nodes, means.operations)
        return Refinement(means, float("nan"), True, spacings), rule
    counts = node_counts(hardest, *spacings)
    largest = max(number_of_nodes(draw, counts) for draw in draws)
    if largest > MAX_NODES_OF_A_DRAW:
        raise NotConverged(f"uniform theory: {largest} nodes are more than {MAX_NODES_OF_A_DRAW}")
    if number_of_nodes(hardest, counts) > MANY_NODES_OF_A_DRAW:
        rtol, spacings = LOOSER_TOLERANCE * rtol, (COARSER * spacings[0], COARSER * spacings[1])
    refined = refine(hardest, [hardest], rtol, start, spacings, draw_equations)
    rule = _coarser_rule(hardest, refined, rtol)
    return _at_coarser_nodes(draws, refined, rule), rule


def _coarser_rule(hardest: PreparedDraw, refined: Refinement, rtol: float) -> CoarserRule:
    """Return the coarsest rule that changes errors so little that one draw says by how much."""
    finest, fine = refined.finest, refined.finest.values[0]
    index, neuron = (
        math.ceil((count - 1) / _coarsening(change / rtol)) + 1
        for count, change in zip(astuple(finest.nodes), refined.changes, strict=True)
    )
    nodes = NodeCounts(index, neuron)
    for across, noise in FEWER_NODES:
        try:
            thinned = evaluate_at_nodes(
                [with_fewer_nodes(hardest, across, noise)], nodes, finest.last, draw_equations
            )
        except NotConverged:
            continue
        coarse = thinned.values[0]
        train, test = fine.train / coarse.train, fine.test / coarse.test
        if max(abs(train - 1), abs(test - 1)) < MAX_CHANGE * rtol:
            return CoarserRule(nodes, thinned.operations, across, noise, train, test)
    return CoarserRule(finest.nodes, finest.operations)


def _coarsening(change: float) -> float:
    """Return how much farther nodes may be apart than in the finest rule.

    change : by a rule that is coarser by a factor of `COARSER`, in units of the tolerance.
    """
    return COARSER**2 if change < MAX_CHANGE / 20 else COARSER if change < MAX_CHANGE else 1.0


def _at_coarser_nodes(
    draws: tuple[PreparedDraw, ...], refined: Refinement, rule: CoarserRule
) -> Refinement:
    """Return means over draws with fewer nodes than those of a refinement."""
    thinned = [with_fewer_nodes(draw, rule.across, rule.noise) for draw in draws]
    start = refined.finest.last
    if len(draws[0].indices) > 1:  # the largest draw is refused before others are solved
        largest = max(thinned, key=lambda draw: number_of_nodes(draw, rule.nodes))
        if number_of_nodes(largest, rule.nodes) > MANY_NODES_OF_A_DRAW:
            operations_within(draw_equations(largest, rule.nodes))
    means = evaluate_at_nodes(
        thinned, rule.nodes, start, draw_equations, MEAN_TOLERANCE, MAX_OPERATIONS
    )
    values = tuple(rule.applied(v) for v in means.values)
    finest = replace(
        refined.finest,
        values=values,
        train=float(np.mean([v.train for v in values])),
        test=float(np.mean([v.test for v in values])),
        squared_loss=float(np.mean([v.train - v.penalty for v in values])),
    )
    return replace(refined, finest=finest)


def _are_quick(draws: tuple[PreparedDraw, ...], nodes: NodeCounts, rule: CoarserRule) -> bool:
    """Return whether no draw has a second index, many nodes or averages of many values.

    These make draws so slow that the bar of a few has to do.
    """
    few = nodes.neuron <= MAX_NEURON_NODES and rule.operations <= MAX_QUICK_OPERATIONS
    return few and all(len(draw.indices) == 1 for draw in draws)


def _error_of_mean(refinement: Refinement) -> float:
    """Return the relative standard error of the test error's mean over draws."""
    tests = np.array([v.test for v in refinement.finest.values])
    return float(tests.std() / tests.mean()) / math.sqrt(len(tests))


def _with_bars(
    problem: Problem, draws: tuple[PreparedDraw, ...], refinement: Refinement, carried: float
) -> Errors:
    """Return the errors with their accuracy, spread and warnings, over all draws.

    carried : the mean `concentration` of the draws.
    """
    values = refinement.finest.values
    sizes = _neglected_sizes(problem, draws, refinement, carried)
    relative, reason = accuracy.stated_accuracy(sizes, "input covariance")
    within = [
        spread(problem, v, draw.step.labels.teacher) for draw, v in zip(draws, values, strict=True)
    ]

    def scatter(kind: str) -> float:
        """Return the deviation of a network: within a draw, and between draws."""
        squares = [getattr(s, kind) ** 2 for s in within]
        return float(np.sqrt(np.mean(squares) + np.var([getattr(v, kind) for v in values])))

    spreads = TrainTest(train=scatter("train"), test=scatter("test"))
    warnings = concerns(problem, relative, reason, spreads.test / refinement.finest.test)
    energies = [d.step.label_energy + problem.noise**2 for d in draws]
    errors = errors_of_refinement(refinement, relative, spreads, warnings)
    return replace(errors, label_energy=float(np.mean(energies)))


def _neglected_sizes(
    problem: Problem, draws: tuple[PreparedDraw, ...], refinement: Refinement, carried: float
) -> accuracy.NeglectedSizes:
    """Return the numbers that neglected terms grow with: those of isotropic inputs, and more."""
    values, spectrum = refinement.finest.values, draws[0].step.spectrum
    of_draws = [
        accuracy.neglected_sizes(problem, step_numbers(draw.step), v)
        for draw, v in zip(draws, values, strict=True)
    ]
    sizes = {name: float(np.mean([s[name] for s in of_draws])) for name in of_draws[0]}
    few_directions = "few directions that carry most of a neuron's output beside the learned one"
    sizes[few_directions] = carried / (1 + carried)
    spreads = np.array([_spread_of_second_moment(draw) for draw in draws])
    different_steps = "second moments of the step that differ from network to network"
    sizes[different_steps] = float(np.mean(spreads / (1 + spreads)))
    sizes["errors that differ from teacher to teacher"] = _error_of_mean(refinement)
    if spectrum.lengths is not None:
        nodes, weights = spectrum.scales
        uneven = "rows of few directions or uneven lengths, which are not as good as Gaussian"
        sizes[uneven] = float(
            2 * spectrum.moment(2) / (spectrum.moment(1) ** 2 * problem.d)
            + 0.5 * np.sqrt(weights @ (nodes - 1) ** 2)
        )
    return sizes


def _spread_of_second_moment(draw: PreparedDraw) -> float:
    r"""Return the variance between networks of a weight's growth along v.

    .. math:: \epsilon_2^2\,\mathrm{Var}(v^\top\Sigma Mv) \approx
        3\,\gamma^2d_2^2\,v^\top\Sigma\bar S\Sigma v/n_0
    """
    step = draw.step
    along = float(step.v @ step.kernels[-1] @ step.v)
    return 3 * (step.gamma * step.activation.d2) ** 2 * along / draw.problem.rows_of_step
