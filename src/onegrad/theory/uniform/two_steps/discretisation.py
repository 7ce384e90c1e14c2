r"""The equations of the uniform theory after two steps, discretised.

As after one step, with :math:`A = E\sigma(s\kappa + s'\kappa' + \rho z)` where there is a second
index, :math:`\rho^2 = \sum_r\omega_r\kappa_r + \sum_a\ell_a^2` with the leans :math:`\ell_a` of a
neuron, which it reads with the profile :math:`\ell_aB`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import OutOfScope
from onegrad.functions.averages import gaussian_averages
from onegrad.problem import Problem
from onegrad.theory.prediction import Errors
from onegrad.theory.uniform import quadrature_nodes, rules
from onegrad.theory.uniform.accuracy import NeglectedSizes
from onegrad.theory.uniform.concerns import MAX_MEAN_SQUARE
from onegrad.theory.uniform.discretisation import Equations
from onegrad.theory.uniform.laws.labels import LabelCoefficients, labels_given_index
from onegrad.theory.uniform.neuron_tilt import Tilt, neuron_tilt
from onegrad.theory.uniform.preparation import NodeCounts
from onegrad.theory.uniform.quadratic_part import orthonormal_span, quadratic_part
from onegrad.theory.uniform.refinement import fresh_row_errors
from onegrad.theory.uniform.two_steps.both_batches import BulkMove, bulk_move
from onegrad.theory.uniform.two_steps.preparation import (
    PreparedTwoSteps,
    neuron_strength,
    prepare_two_steps,
    variance_of_two_steps,
)

LARGE_GROWTH = 100.0  # of the mean square of residuals by the first step


@dataclass(frozen=True)
class MovedNeurons:
    """Nodes of the law of a neuron after two steps."""

    nodes: quadrature_nodes.NeuronNodes  # as after one step
    moves: Floats  # (U, T) in the frame of `SecondStep.moves`
    bulk: BulkMove


@dataclass(frozen=True)
class SampleNodes:
    """Nodes of a sample: its indices, (i, K), squared length off them and probability."""

    indices: Floats
    norm: Floats
    p: Floats


def equations_of_two_steps(prepared: PreparedTwoSteps, nodes: NodeCounts) -> Equations:
    """Discretise the theory of two steps for one problem."""
    problem, after, plane = prepared.problem, prepared.after, prepared.plane
    step, labels, d = after.first.step, prepared.labels, problem.d
    neurons = moved_neurons(prepared, nodes.neuron)
    g, weight, bulk = neurons.nodes.g, neurons.nodes.weight, neurons.bulk
    samples = _sample_nodes(prepared, nodes.index)
    equal = bool(step.c2) and problem.readout == "constant"
    covariance = prepared.batches.covariance
    if equal:  # neurons lean as one along Kv
        covariance = covariance.with_drift(
            1 + float(weight @ bulk.shift), float(weight @ bulk.epsilon) / 2
        )
    trace, teacher = covariance.trace, covariance.teacher
    kappa, kappa_teacher = (
        variance_of_two_steps(bulk, measure, neurons.nodes.norm, neurons.nodes.own)
        for measure in (trace, teacher)
    )
    omega = trace.weight * (1 - 1 / d)
    leans = neurons.moves @ plane.directions.T  # (U, m)
    rho = np.sqrt(kappa @ omega + (leans**2).sum(1))[:, None]
    s = np.column_stack([neurons.nodes.s, neurons.moves @ plane.indices[1:].T])
    value, slope, square = gaussian_averages(
        problem.sigma, s @ samples.indices, rho * np.sqrt(samples.norm), flattening=1 / (4 * d)
    )
    B = slope / rho
    i, scale = len(plane.indices), problem.output_scale
    grown = 1 + neurons.nodes.own + bulk.shift + bulk.epsilon * (trace.weight @ trace.mu)
    row = (grown * g)[:, None] * B / np.sqrt(problem.N) * bool(scale)
    Y = _labels_given_indices(prepared, samples)
    squares = quadratic_part(Y.hessian, value, samples.norm, kappa_teacher, teacher.vector, rho, d)
    tilt = neuron_tilt(bulk.epsilon, covariance.along, neurons.nodes, equal)
    kappa_teacher, vector = tilt.left_to_bulk(kappa_teacher, teacher.vector, weight)
    sides = _directions_of_two_steps(prepared, tilt, neurons, Y, leans, vector)
    in_plane = bool(scale) * float(plane.row[:i] @ plane.row[:i]) + float(sides.row @ sides.row)
    A = value + (plane.row[:i] @ samples.indices) * row
    return Equations(
        step=prepared.step,
        intercept=problem.intercept,
        bulk=len(omega),
        n=problem.n,
        d=d,
        N=problem.N,
        index=samples.indices[0],
        p=samples.p,
        weight=weight,
        C2=np.maximum(square - value**2 - slope**2, 0.0),
        B=B,
        strength=np.sqrt(kappa.T),
        omega=np.append(omega, 1 / d),
        teacher_strength=np.sqrt(np.hstack([kappa_teacher, *[kappa] * sides.more]).T),
        varpi=sides.vector @ sides.basis,
        basis=sides.basis,
        aside=np.multiply.outer(sides.basis.T @ sides.row, row)
        + (sides.basis.T @ sides.lean)[:, :, None] * B,
        A=A,
        readout_row=row,
        row_share=in_plane * omega / omega.sum(),
        squares=squares,
        Y0=Y.Y0,
        Y1=sides.basis.T @ sides.Y1,
        Y2=np.maximum(Y.Y2 - (squares.Y**2).sum(0), problem.noise**2),
        replaced=labels.replaced,
        mean_error=labels.fit.mean_error,
    )


def moved_neurons(prepared: PreparedTwoSteps, count: int) -> MovedNeurons:
    """Return nodes of a neuron after two steps: `count` in its weight along v."""
    problem, after, plane = prepared.problem, prepared.after, prepared.plane
    step, R1, R2 = after.first.step, *prepared.batches.energies
    x, p = prepared.neuron_rule.nodes(count)
    strength = neuron_strength(after, plane)
    parts = [
        quadrature_nodes.neurons_of_one_length(problem, strength, x, p, prepared.across)
        for _ in rules.TWO_POINT_NODES
    ]
    g, _, omega, sign, weight = (np.concatenate(q) for q in zip(*parts, strict=True))
    half = len(g) // 2
    xi, c1 = np.repeat(rules.TWO_POINT_NODES, half), np.repeat(after.first.slopes, half)
    norm = 1 + quadrature_nodes.length_fluctuation(problem) * xi
    rho1 = after.start(g)[1] * np.sqrt(norm)
    slopes = after.slopes(step.gamma * c1 * step.b * g, rho1)
    moves = after.moves(g, slopes.value, c1)
    bulk = bulk_move(after, prepared.batches, g, slopes, rho1)
    # steps along a neuron's own weight
    along_row = g / np.sqrt(problem.N)
    start = omega - step.backward * along_row
    towards = float(after.p @ (after.mean * after.index))
    shared = float(plane.indices[0][: len(after.v1)] @ after.v1)
    own = 6 * step.c3 * g * (step.gamma * step.b + after.gamma * towards * shared) * start
    noise = (step.gamma**2 * R1 + after.gamma**2 * R2) * step.own_noise / max(R1, 1e-300)
    own += g * np.sqrt(noise) * xi * sign
    own -= (step.gamma + after.gamma) * g * step.own_output * along_row
    v, moved = prepared.batches.covariance.along, 1 + bulk.shift
    kappa_v = (
        moved**2
        + 2 * moved * bulk.epsilon * v.M_vv
        + bulk.epsilon**2 * v.Mv_squared
        + bulk.noise * v.S_vv
    )
    kappa_v = np.maximum(kappa_v, 0.0)
    s = moves @ plane.indices[0] + omega * (np.sqrt(kappa_v) + own + bulk.extra)
    nodes = quadrature_nodes.NeuronNodes(
        s, g, norm, own, weight=weight / 2, start=omega, along=kappa_v
    )
    return MovedNeurons(nodes, moves, bulk)


def _sample_nodes(prepared: PreparedTwoSteps, count: int) -> SampleNodes:
    """Return nodes of a sample with `count` values of the first index."""
    rule, second, d = prepared.index_rule, prepared.second_rule, prepared.problem.d
    if second is None:
        index, norm, p = quadrature_nodes.sample_nodes(d, rule, count)
        return SampleNodes(index[None], norm, p)
    unit = max(rule.count(0.1) - 1, 1) * 0.1 / max(count - 1, 1)  # of the first rule
    return SampleNodes(*quadrature_nodes.plane_nodes(d, rule, count, second, second.count(unit)))


def _labels_given_indices(prepared: PreparedTwoSteps, samples: SampleNodes) -> LabelCoefficients:
    """Return labels given the indices; two of them are one for a single-index teacher."""
    overlaps = prepared.plane.overlaps
    if len(overlaps) == 1:
        return labels_given_index(
            prepared.labels, overlaps[0], samples.indices[0], samples.norm, samples.p
        )
    theta = float(np.linalg.norm(overlaps[:, 0]))
    index = overlaps[:, 0] @ samples.indices / max(theta, 1e-12)
    overlap = np.array([min(theta, np.sqrt(1 - 1e-12))])
    return labels_given_index(prepared.labels, overlap, index, samples.norm, samples.p)


@dataclass(frozen=True)
class _Sides:
    """Directions off the indices: the labels', that of Kv for equal readouts, those of leans."""

    vector: Floats  # (R', m) blocks of the bulk along the directions
    lean: Floats  # (m, U) part of neurons in them
    row: Floats  # (m,) of the readout row
    Y1: Floats  # (m, K) of labels
    basis: Floats  # (m, r) the directions that matter
    more: int  # number of those of leans


def _directions_of_two_steps(
    prepared: PreparedTwoSteps,
    tilt: Tilt,
    neurons: MovedNeurons,
    Y: LabelCoefficients,
    leans: Floats,
    vector: Floats,
) -> _Sides:
    """Return the directions off the indices and who has part in them."""
    plane, t, tilted = prepared.plane, len(Y.Y1), vector.shape[1]
    more, trace = len(plane.directions) - t, prepared.batches.covariance.trace
    # the bulk seen from a direction of a lean is that of the trace
    blocks = np.zeros((len(vector) + more * len(trace.mu), tilted + more))
    blocks[: len(vector), :tilted] = vector
    for j in range(more):
        first = len(vector) + j * len(trace.mu)
        blocks[first : first + len(trace.mu), tilted + j] = trace.vector[:, 0]

    def with_drift(x: Floats) -> Floats:
        """Return x with a zero where Kv, of which leans and labels know nothing, has its place."""
        return np.insert(x, t, np.zeros((tilted - t, *x.shape[1:])), axis=0) if tilted > t else x

    lean = with_drift(leans.T)
    lean[:tilted] += tilt.mean_weights(neurons.nodes)
    row = plane.row[len(plane.indices) :] * bool(prepared.problem.output_scale)
    row = with_drift(row)
    Y1 = np.zeros((tilted + more, Y.Y1.shape[1]))
    Y1[:t] = Y.Y1
    c2, f = prepared.after.first.step.c2, np.pad(tilt.f, (0, more))
    spread = lean * np.sqrt(neurons.nodes.weight)
    basis = orthonormal_span(np.column_stack([Y1, c2 * f, row, spread]))
    return _Sides(blocks, lean, row, Y1, basis, more)


def two_step_errors(
    problems: Sequence[Problem], rtol: float, nodes: NodeCounts | None = None
) -> list[Errors]:
    """Return training and test errors of problems with two steps, each from the one before."""
    for problem in problems:
        _require_two_fresh_steps(problem)
    two = [p for p in problems if p.step or p.labels != "plain"]
    prepare, discretise = prepare_two_steps, equations_of_two_steps
    errors = iter(
        fresh_row_errors(two, rtol, nodes, "two steps", _growth_sizes, prepare, discretise)
    )
    points = []
    for problem in problems:
        if problem.step or problem.labels != "plain":
            points.append(next(errors))
        else:  # a batch that moves nothing
            one = problem.replace(steps=1, later_alpha="", eta=problem.later_steps[0])
            points += fresh_row_errors([one], rtol, nodes)
    return points


def _growth_sizes(prepared: PreparedTwoSteps) -> NeglectedSizes:
    r"""Return what two steps neglect where the second sees larger residuals than the first.

    With :math:`R = Er_2^2/Er_1^2` above a hundred the first step has blown the output up, and
    fluctuations of the output that the theory takes for means decide the second.
    """
    share = prepared.growth / (prepared.growth + LARGE_GROWTH)
    return {
        "a first step that blows the residuals of the second up": share,
        "equal readouts after a step that blows residuals up": share
        * (prepared.problem.readout == "constant"),
    }


def _require_two_fresh_steps(problem: Problem) -> None:
    """Raise OutOfScope for more than two steps, and for two on one batch."""
    if problem.steps > 2:
        raise OutOfScope("uniform", "steps", problem.steps, "one or two steps")
    if problem.batches != "fresh":
        raise OutOfScope("uniform", "batches", problem.batches, "fresh batches with two steps")
    if problem.later_steps[0] > MAX_MEAN_SQUARE:
        covered = f"steps up to {MAX_MEAN_SQUARE:g}"
        raise OutOfScope("uniform", "later_alpha", problem.later_alpha, covered)
