r"""The theory's equations for one problem, discretised.

Given the index :math:`\kappa = v\cdot x` and the length of x, a neuron's output is Gaussian
equivalent: a mean A, a coefficient B on its bulk weights, and independent noise of variance
:math:`C^2`. Along the r-th direction of the bulk its weight has the variance

.. math:: \kappa_r = |w|^2[(1 + \epsilon + 2c_2\gamma g\mu_r)^2 + \gamma^2g^2\nu\phi_0 s_r]

times 1/d. Labels have coefficients :math:`Y_0, Y_1, Y_2` in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages
from onegrad.problem import Problem
from onegrad.theory.direction import output_constants
from onegrad.theory.uniform.covariance import Covariance, covariance
from onegrad.theory.uniform.gauss import SpectralMeasure
from onegrad.theory.uniform.grading import LARGE, Grading, index_grading, neuron_grading
from onegrad.theory.uniform.labels import along_linear, conditional, labels_of, unit_linear
from onegrad.theory.uniform.nodes import NeuronNodes, neuron_nodes, sample_nodes
from onegrad.theory.uniform.quadratic import Quadratic, quadratic, spanned
from onegrad.theory.uniform.step import Step, step
from onegrad.theory.uniform.tilt import tilt


@dataclass(frozen=True)
class Sizes:
    """Nodes of the index, and of a neuron's weight along the learned direction."""

    index: int
    neuron: int


@dataclass(frozen=True)
class Equations:
    """Everything the fixed point needs. Shapes: U neurons, K samples, R blocks of directions.

    A block is a set of input directions that act alike: omega is its share of all d directions and
    `profile` how strongly neurons read it. The bulk comes first; then, unless it is left out, a
    block of the learned direction, read as A.
    """

    step: Step
    intercept: bool
    bulk: int  # blocks of the bulk
    n: int
    d: int
    N: int
    index: Floats  # (K,) v.x
    p: Floats  # (K,) probability of a sample
    weight: Floats  # (U,) probability of a neuron
    C2: Floats  # (U, K)
    profile: Floats  # (R, U, K): sqrt(kappa_r) B; the last one is sqrt(d) A
    omega: Floats  # (R,)
    teacher_profile: Floats  # (R', U, K): the same, seen from the teacher's directions off v
    varpi: Floats  # (R', t): those blocks along the t directions
    aside: Floats  # (t, U, K): how neurons read those directions beyond the bulk
    A: Floats  # (U, K)
    readout_row: Floats  # (U, K): g B/sqrt(N), how neurons read W_0^T a
    in_plane: float  # square of the part of W_0^T a in the plane of v and the teacher
    squares: Quadratic
    Y0: Floats  # (K,)
    Y1: Floats  # (t, K)
    Y2: Floats  # (K,)
    replaced: float  # fraction of the labels


def equations(
    problem: Problem, sizes: Sizes, largest_readout: float = np.inf, constant: float | None = None
) -> Equations:
    """Discretise the theory for one problem.

    largest_readout : neurons beyond |g| have the bulk of one at it (a spectrum's edge would
        otherwise follow neurons that N draws do not contain).
    constant : of the initial output, `output_constants`; by default their mean.
    """
    problem = _with_a_direction(problem)
    a, d = step(problem, _constant(problem) if constant is None else constant), problem.d
    labels, moved = labels_of(problem), bulk_covariance(problem, a)
    of_index, of_neuron = gradings(problem, a, moved)
    neurons = neuron_nodes(problem, a, moved.along, of_neuron, sizes.neuron)
    index, norm, p = sample_nodes(d, of_index, sizes.index)
    g = np.clip(neurons.g, -largest_readout, largest_readout)
    kappa, kappa_teacher = (
        bulk_variance(problem, a, neurons, g, nodes) for nodes in (moved.trace, moved.teacher)
    )
    omega = moved.trace.weight * (1 - 1 / d)
    rho = np.sqrt(kappa @ omega)[:, None]
    value, slope, square = gaussian_averages(
        problem.sigma, neurons.s[:, None] * index, rho * np.sqrt(norm), flattening=1 / (4 * d)
    )
    B = slope / rho
    grown = 1 + neurons.own + 2 * a.c2 * a.gamma * g * (moved.trace.weight @ moved.trace.mu)
    row = (grown * neurons.g)[:, None] * B / np.sqrt(problem.N)
    A = value - a.backward * index * row
    Y = conditional(labels, a.theta, index, norm, p)
    squares = quadratic(Y.bent, value, norm, kappa_teacher, moved.teacher, rho, d)
    tilted = tilt(2 * a.c2 * a.gamma * g, moved.along, neurons, problem.readout == "constant")
    kappa_teacher, vector = tilted.left_to_bulk(kappa_teacher, moved.teacher.vector, neurons.weight)
    Y1, sideways, read = _directions(a, Y.Y1, unit_linear(labels), tilted.f)
    leaning = read.T @ tilted.lean(neurons)
    return Equations(
        step=a,
        intercept=problem.intercept,
        bulk=len(omega),
        n=problem.n,
        d=d,
        N=problem.N,
        index=index,
        p=p,
        weight=neurons.weight,
        C2=np.maximum(square - value**2 - slope**2, 0.0),
        profile=np.concatenate([np.sqrt(kappa.T)[:, :, None] * B, np.sqrt(d) * A[None]]),
        omega=np.append(omega, 1 / d),
        teacher_profile=np.sqrt(kappa_teacher.T)[:, :, None] * B,
        varpi=vector @ read,
        aside=np.multiply.outer(read.T @ sideways, row) + leaning[:, :, None] * B,
        A=A,
        readout_row=row,
        in_plane=a.backward**2 + a.sideways**2,
        squares=squares,
        Y0=Y.Y0,
        Y1=read.T @ Y1,
        Y2=np.maximum(Y.Y2 - (squares.Y**2).sum(0), problem.noise**2),
        replaced=labels.replaced,
    )


def _directions(a: Step, Y1: Floats, linear: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
    """Labels and step along the directions off v, and a basis of those that matter."""
    more = (0, len(f) - len(Y1))  # no label lies along Kv
    Y1, sideways = np.pad(Y1, (more, (0, 0))), a.sideways * np.pad(linear, more)
    return Y1, sideways, spanned(np.column_stack([Y1, a.c2 * f, sideways]))


def _with_a_direction(problem: Problem) -> Problem:
    """Without a step no direction is singled out: take that of the plainest step."""
    if problem.step:
        return problem
    return problem.replace(readout="gaussian", residual="labels", n_step=problem.n)


def _constant(problem: Problem) -> float:
    """Mean of the constant of the initial output."""
    return float(np.mean(output_constants(problem)))


def bulk_covariance(problem: Problem, a: Step) -> Covariance:
    """The spectral measures of the matrices by which the step moves the bulk."""
    found = covariance(
        labels_of(problem),
        a.residual_noise,
        problem.phi_step,
        problem.rows_of_step,
        squared=a.c2 == 0.0,
        output=a.backward * a.b,
        constant=a.residual_mean,
    )
    if a.c2 and problem.readout == "constant":
        # neurons lean as one along Kv, K = (1 + epsilon (M + shift))^2
        epsilon = 2 * a.c2 * a.gamma
        found = found.towards(1 + epsilon * a.shift, epsilon / 2)
    return found.shifted(a.shift)


def gradings(problem: Problem, a: Step, moved: Covariance) -> tuple[Grading, Grading]:
    """Where functions of the index and of a neuron's weight along v are steep."""
    gaussian = problem.readout == "gaussian"
    spike, own = abs(a.gamma * a.c1 * a.b), 1 / np.sqrt(problem.d)
    g = np.array([1.0, -1.0]) * (LARGE if gaussian else 1.0)
    still, ones = np.zeros(2), np.ones(2)
    nodes = NeuronNodes(still, g, ones, still, weight=ones / 2, start=still, along=ones)
    rho2 = bulk_variance(problem, a, nodes, g, moved.trace) @ moved.trace.weight
    strength = (np.abs(spike * g) + LARGE * own) / np.sqrt(np.maximum(rho2, 1e-12))
    teacher = along_linear(labels_of(problem))
    index = index_grading(problem.sigma, float(strength.max()), teacher, a.theta)
    if not gaussian:
        return index, neuron_grading(problem.sigma, own, 0.0)
    deviation = float(np.hypot(spike, own))
    rate = np.sqrt(np.maximum(rho2 - 1, 0.0)).max() / LARGE * spike / deviation
    return index, neuron_grading(problem.sigma, deviation, float(rate))


def resolving(problem: Problem, index: float = 1.0, neuron: float = 1.0) -> Sizes:
    """The nodes that resolve a problem; smaller numbers than one make finer rules."""
    problem = _with_a_direction(problem)
    a = step(problem, _constant(problem))
    of_index, of_neuron = gradings(problem, a, bulk_covariance(problem, a))
    return Sizes(of_index.count(index), of_neuron.count(neuron))


def bulk_variance(
    problem: Problem, a: Step, neurons: NeuronNodes, g: Floats, nodes: SpectralMeasure
) -> Floats:
    """kappa_r of every neuron, (U, R), at readouts g."""
    gamma_g = a.gamma * g[:, None]
    along = 1 + neurons.own[:, None] + 2 * a.c2 * gamma_g * nodes.mu
    return neurons.norm[:, None] * (along**2 + gamma_g**2 * a.nu * problem.phi_step * nodes.s)
