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
from onegrad.theory.uniform.covariance import SpectralMeasure, covariance
from onegrad.theory.uniform.nodes import NeuronNodes, neuron_nodes, sample_nodes
from onegrad.theory.uniform.step import Step, step


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
    teacher_profile: Floats  # (R', U, K): the same, seen from the teacher's direction off v
    varpi: Floats  # (R',)
    A: Floats  # (U, K)
    along_teacher: Floats  # (U, K): how neurons read the teacher's direction off v, given s and g
    readout_row: Floats  # (U, K): g B/sqrt(N), how neurons read W_0^T a
    in_plane: float  # square of the part of W_0^T a in the plane of v and the teacher
    Y0: Floats  # (K,)
    Y1: Floats
    Y2: Floats


def equations(
    problem: Problem,
    sizes: Sizes,
    largest_readout: float = np.inf,
    constant: float | None = None,
) -> Equations:
    """Discretise the theory for one problem.

    largest_readout : neurons beyond |g| have the bulk of one at it (a spectrum's edge would
        otherwise follow neurons that N draws do not contain).
    constant : of the initial output, `output_constants`; by default their mean.
    """
    if not problem.step:  # no direction is singled out: take that of the plainest step
        problem = problem.replace(readout="gaussian", residual="labels", n_step=problem.n)
    if constant is None:
        constant = float(np.mean(output_constants(problem)))
    a, d = step(problem, constant), problem.d
    moved = covariance(
        problem.sigma_star,
        a.residual_noise,
        problem.phi_step,
        problem.rows_of_step,
        squared=a.c2 == 0.0,
        output=a.backward * a.b,
        mean=a.residual_mean,
    ).shifted(a.shift)
    neurons = neuron_nodes(problem, a, moved.along, sizes.neuron)
    index, norm, p = sample_nodes(d, sizes.index)
    g = np.clip(neurons.g, -largest_readout, largest_readout)
    kappa, kappa_teacher = (
        bulk_variance(problem, a, neurons, g, nodes) for nodes in (moved.trace, moved.teacher)
    )
    omega = moved.trace.weight * (1 - 1 / d)
    rho = np.sqrt(kappa @ omega)[:, None]
    length, flattening = np.sqrt(norm), 1 / (4 * d)
    value, slope, square = gaussian_averages(
        problem.sigma, neurons.s[:, None] * index, rho * length, flattening
    )
    off = np.sqrt(1 - a.theta**2)
    Y0, Y1, label_square = gaussian_averages(
        problem.sigma_star, a.theta * index, off * length, flattening
    )
    B = slope / rho
    grown = 1 + neurons.own + 2 * a.c2 * a.gamma * g * (moved.trace.weight @ moved.trace.mu)
    row = (grown * neurons.g)[:, None] * B / np.sqrt(problem.N)
    C2 = np.maximum(square - value**2 - slope**2, 0.0)
    A = value - a.backward * index * row
    return Equations(
        step=a,
        bulk=len(omega),
        n=problem.n,
        d=d,
        N=problem.N,
        index=index,
        p=p,
        weight=neurons.weight,
        C2=C2,
        profile=np.concatenate([np.sqrt(kappa.T)[:, :, None] * B, np.sqrt(d) * A[None]]),
        omega=np.append(omega, 1 / d),
        teacher_profile=np.sqrt(kappa_teacher.T)[:, :, None] * B,
        varpi=moved.teacher.weight,
        A=A,
        along_teacher=a.sideways * row + neurons.lean[:, None] * B,
        readout_row=row,
        in_plane=a.backward**2 + a.sideways**2,
        Y0=Y0,
        Y1=Y1,
        Y2=np.maximum(label_square - Y0**2 - Y1**2, 0.0) + problem.noise**2,
    )


def bulk_variance(
    problem: Problem, a: Step, neurons: NeuronNodes, g: Floats, nodes: SpectralMeasure
) -> Floats:
    """kappa_r of every neuron, (U, R), at readouts g."""
    gamma_g = a.gamma * g[:, None]
    along = 1 + neurons.own[:, None] + 2 * a.c2 * gamma_g * nodes.mu
    return neurons.norm[:, None] * (along**2 + gamma_g**2 * a.nu * problem.phi_step * nodes.s)
