r"""The equations of the uniform theory for one problem, discretised.

Given the index :math:`\kappa = v\cdot x` and the length of x, a neuron's output is Gaussian
equivalent: a mean A, a coefficient B on its bulk weights, and independent noise of variance
:math:`C^2`. Along the r-th direction of the bulk its weight has the variance

.. math:: \kappa_r = |w|^2[(1 + \epsilon + 2c_2\gamma g\mu_r)^2 + \gamma^2g^2\nu\phi_0 s_r]

times 1/d. Labels have coefficients :math:`Y_0, Y_1, Y_2` in the same way.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.function_space import FunctionSpace
from onegrad.theory.uniform.laws.labels import labels_given_index, unit_linear
from onegrad.theory.uniform.neuron_tilt import neuron_tilt
from onegrad.theory.uniform.preparation import NodeCounts, Prepared
from onegrad.theory.uniform.quadratic_part import QuadraticPart, orthonormal_span, quadratic_part
from onegrad.theory.uniform.quadrature_nodes import bulk_variance, neuron_nodes, sample_nodes

# True for the nodes among those of a grid of rules, whose last axis is that of the first index
NodeMask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Equations:
    """Coefficients of the fixed point for U neurons, K samples and R blocks of directions.

    A block is a set of input directions that act alike: omega is its share of all d directions and
    `profile` how strongly neurons read it: B times the block's strength. The bulk comes first; the
    last block, unless it is left out, is the learned direction, read as sqrt(d) A.
    """

    step: StepNumbers
    intercept: bool
    bulk: int  # blocks of the bulk
    n: int
    d: int
    N: int
    index: Floats  # (K,) v.x
    p: Floats  # (K,) probability of a sample
    weight: Floats  # (U,) probability of a neuron
    C2: Floats  # (U, K)
    B: Floats  # (U, K)
    strength: Floats  # (R - 1, U): sqrt(kappa_r)
    omega: Floats  # (R,)
    teacher_strength: Floats  # (R', U): the same, seen from the teacher's directions off v
    varpi: Floats  # (R', t): those blocks along the t directions
    basis: Floats  # (m, t): the m directions off v, the teacher's first, in terms of those t
    aside: Floats  # (t, U, K): how neurons read those directions beyond the bulk
    A: Floats  # (U, K)
    readout_row: Floats  # (U, K): g B/sqrt(N), how neurons read W_0^T a
    row_share: Floats  # (bulk,): squared parts of W_0^T a that are explicit, in the bulk's blocks
    squares: QuadraticPart
    Y0: Floats  # (K,)
    Y1: Floats  # (t, K)
    Y2: Floats  # (K,)
    replaced: float  # fraction of the labels that are replaced
    mean_error: float  # standard deviation of a mean that was taken off the labels
    # blocks after those read with B: their strengths, (r, U), and how they are read, (U, K)
    products: tuple[tuple[Floats, Floats], ...] = ()
    # (U,): the coefficients a_u, about; functions that they do not make visible are left out
    about_a: Floats | None = None
    # of samples and of neurons, where they are on grids of several rules
    masks: tuple[NodeMask, NodeMask] | None = None
    values: float = 0.0  # of the activation, whose averages the coefficients are

    @cached_property
    def space(self) -> FunctionSpace:
        """The space of functions of a sample that neurons read."""
        largest = self.strength[: self.bulk].max(0)[:, None] * self.B
        constant = [np.ones((1, len(self.p)))] if self.intercept else []
        if self.about_a is not None:
            root = np.sqrt(self.about_a)[:, None]
            read = math.sqrt(self.d) * root  # how strongly single functions are read
            bend = np.sqrt(self.squares.fluctuation[:, 0]) * self.squares.bend
            return FunctionSpace.fitted_by(
                [root * largest, read * self.A, read * bend, *constant], self.p
            )
        rows = [largest, self.A, self.squares.bend, *constant]
        return FunctionSpace.spanned_by(rows, self.p, visible=1 / self.N)

    @cached_property
    def coordinates(self) -> Floats:
        """Coordinates of the profiles in that space, (R, U, F)."""
        return self.profiles(self.space.coordinates)

    def profiles(self, form: Callable[[Floats], Floats]) -> Floats:
        """Return how strongly neurons read the blocks: functions of a sample, in some form."""
        readings = [(self.strength, self.B), *self.products]
        blocks = [strength[:, :, None] * form(function) for strength, function in readings]
        if sum(map(len, blocks)) < len(self.omega):
            blocks.append(math.sqrt(self.d) * form(self.A)[None])
        return np.concatenate(blocks)

    @cached_property
    def teacher_coordinates(self) -> Floats:
        """The same seen from the teacher's directions off v, (R', U, F)."""
        return self.teacher_strength[:, :, None] * self.space.coordinates(self.B)


def equations(prepared: Prepared, nodes: NodeCounts, largest_readout: float = np.inf) -> Equations:
    """Discretise the theory for one problem.

    largest_readout : neurons beyond |g| have the bulk of one at it (a spectrum's edge would
        otherwise follow neurons that N draws do not contain).
    """
    problem, step, covariance = prepared.problem, prepared.step, prepared.covariance
    d = problem.d
    neurons = neuron_nodes(
        problem,
        step,
        prepared.slopes,
        covariance.along,
        prepared.neuron_rule,
        nodes.neuron,
        prepared.across,
    )
    index, norm, p = sample_nodes(d, prepared.index_rule, nodes.index)
    g = np.clip(neurons.g, -largest_readout, largest_readout)
    kappa, kappa_teacher = (
        bulk_variance(step, problem.phi_step, g, measure, neurons.norm, neurons.own)
        for measure in (covariance.trace, covariance.teacher)
    )
    omega = covariance.trace.weight * (1 - 1 / d)
    rho = np.sqrt(kappa @ omega)[:, None]
    value, slope, square = gaussian_averages(
        problem.sigma, neurons.s[:, None] * index, rho * np.sqrt(norm), flattening=1 / (4 * d)
    )
    B = slope / rho
    mean_mu = covariance.trace.weight @ covariance.trace.mu
    grown = 1 + neurons.own + 2 * step.c2 * step.gamma * g * mean_mu
    row = (grown * neurons.g)[:, None] * B / np.sqrt(problem.N)
    A = value - step.backward * index * row
    overlaps = step.theta * unit_linear(prepared.labels)
    Y = labels_given_index(prepared.labels, overlaps, index, norm, p)
    squares = quadratic_part(
        Y.hessian, value, norm, kappa_teacher, covariance.teacher.vector, rho, d
    )
    equal_readouts = problem.readout == "constant"
    tilt = neuron_tilt(2 * step.c2 * step.gamma * g, covariance.along, neurons, equal_readouts)
    kappa_teacher, vector = tilt.left_to_bulk(
        kappa_teacher, covariance.teacher.vector, neurons.weight
    )
    Y1, sideways, basis = _directions(step, Y.Y1, unit_linear(prepared.labels), tilt.f)
    leaning = basis.T @ tilt.mean_weights(neurons)
    return Equations(
        step=step,
        intercept=problem.intercept,
        bulk=len(omega),
        n=problem.n,
        d=d,
        N=problem.N,
        index=index,
        p=p,
        weight=neurons.weight,
        C2=np.maximum(square - value**2 - slope**2, 0.0),
        B=B,
        strength=np.sqrt(kappa.T),
        omega=np.append(omega, 1 / d),
        teacher_strength=np.sqrt(kappa_teacher.T),
        varpi=vector @ basis,
        basis=basis,
        aside=np.multiply.outer(basis.T @ sideways, row) + leaning[:, :, None] * B,
        A=A,
        readout_row=row,
        row_share=(step.backward**2 + step.sideways**2) * omega / omega.sum(),
        squares=squares,
        Y0=Y.Y0,
        Y1=basis.T @ Y1,
        Y2=np.maximum(Y.Y2 - (squares.Y**2).sum(0), problem.noise**2),
        replaced=prepared.labels.replaced,
        mean_error=prepared.labels.fit.mean_error,
    )


def _directions(
    step: StepNumbers, Y1: Floats, linear: Floats, f: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return labels and step along the directions off v, and a basis of those that matter."""
    more = len(f) - len(Y1)  # no label lies along Kv
    Y1 = np.concatenate([Y1, np.zeros((more, Y1.shape[1]))])
    sideways = step.sideways * np.append(linear, np.zeros(more))
    return Y1, sideways, orthonormal_span(np.column_stack([Y1, step.c2 * f, sideways]))
