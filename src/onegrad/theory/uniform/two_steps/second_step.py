r"""The second step, on a batch of its own, seen from the direction of the first.

After the first step a neuron with readout g has the weight :math:`s_1 = \gamma_1c_1b_1g` along
:math:`v_1` and bulk weights of variance :math:`\rho_1^2`. Given :math:`\kappa = v_1\cdot x` its
slope and the residual of the second batch are

.. math::
    \sigma'(w\cdot x) &= D_0 + D_1z + \dots,\qquad D_0 = E\sigma'(s_1\kappa+\rho_1z),\quad
        D_1 = E[z\sigma'] \\
    m &= E[r_2\mid\kappa],\qquad Y_1 \text{ along the labels' directions off } v_1,\qquad
        -\bar B \text{ along the readout row},\qquad q = E[r_2^2\mid\kappa],

so that it moves, in the frame of the labels' directions, the readout row u and the rest of
:math:`v_1`, by

.. math:: \gamma_2g\big[E[D_0m\kappa]\,v_1 + \textstyle\sum_aE[D_0Y_{1a}]\,e_a
    - E[D_0\bar B](u - (u\cdot v_1)v_1)\big]

and along directions of noise, one for each node of :math:`\kappa`, by
:math:`\gamma_2g\sqrt{\phi_0p_kq_k}\,D_0(\kappa_k)`: the moves of neurons off the frame have the
covariance :math:`\phi_0E[r_2^2D_0(g)D_0(g')]`.

The moves :math:`\Omega(g)` of neurons in both steps lie in a space of a few dimensions. v is the
leading direction of :math:`\sqrt{w}\,\Omega` over the readouts: neurons have the weights :math:`s =
\Omega\cdot v` along it. What is left of :math:`\Omega` is a lean along other directions: the
labels' off v, and at most two more. Where it is strong, its leading direction v' is a second index,
and outputs are functions of :math:`(\kappa, \kappa') = (v\cdot x, v'\cdot x)`.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import Averages, gaussian_averages
from onegrad.functions.function import Function, MultiIndex
from onegrad.theory.uniform.laws.labels import (
    LabelCoefficients,
    labels_given_index,
    off_root,
    unit_linear,
)
from onegrad.theory.uniform.preparation import Prepared
from onegrad.theory.uniform.quadrature_nodes import bulk_variance, readout_law, sample_nodes
from onegrad.theory.uniform.rules import GradedRule

INDEX_NODES = 21  # of kappa, at least
SECOND_STEP_READOUTS = 21  # of a Gaussian readout
MAX_LEANS = 2  # directions beside v and the labels'
# mean square of a lean that is worth a direction, in units of 1/d, and of one that is worth an
# index, a plane of some 300 nodes; neither is tuned
MIN_LEAN, MIN_INDEX_LEAN = 0.02, 0.01
MAX_SQUARED_OVERLAP = 1 - 1e-12


@dataclass(frozen=True)
class SecondStep:
    """The second step, seen from v_1."""

    first: Prepared  # the problem with its first step only
    gamma: float  # second step of a neuron with unit readout
    index: Floats  # (K,) nodes of kappa
    norm: Floats  # (K,) and of the squared length
    p: Floats  # (K,)
    labels: LabelCoefficients  # of the second batch at the nodes
    mean: Floats  # (K,) E r_2
    row: Floats  # (K,) minus its coefficient on the readout row
    energy: Floats  # (K,) E r_2^2
    v1: Floats  # (t + 2,) in the frame (labels' directions, readout row, rest of v_1)
    basis: Floats  # (t, t + 2) the labels' directions off v_1, in the frame
    g: Floats  # nodes of the readout
    weight: Floats  # their probabilities

    @property
    def total_energy(self) -> float:
        """E r_2^2."""
        return float(self.p @ self.energy)

    def start(self, g: Floats) -> tuple[Floats, Floats]:
        """Return the weights along v_1 and the deviations of the bulk's after the first step."""
        problem, step = self.first.problem, self.first.step
        trace = self.first.covariance.trace
        kappa = bulk_variance(step, problem.phi_step, g, trace)
        return step.gamma * step.c1 * step.b * g, np.sqrt(kappa @ trace.weight)

    def slopes(self, s: Floats, rho: Floats) -> Averages:
        """Return D_0, D_1 and E sigma'^2 of neurons at the nodes, (U, K)."""
        problem = self.first.problem
        return gaussian_averages(
            slope_function(problem.sigma),
            s[:, None] * self.index,
            rho[:, None] * np.sqrt(self.norm),
            flattening=1 / (4 * problem.d),
        )

    def moves(self, g: Floats, D0: Floats, c1: Floats | float) -> Floats:
        """Return the moves of neurons in both steps, (U, t + 2 + K): frame, then noise.

        c1 : E sigma' of each neuron in the first step.
        """
        p, t, step = self.p, len(self.basis), self.first.step
        along = D0 @ (p * self.mean * self.index)
        off, row = D0 @ (p * self.labels.Y1).T, D0 @ (p * self.row)
        row_off = np.eye(t + 2)[t] - self.v1[t] * self.v1
        frame = np.outer(along, self.v1) + off @ self.basis - np.outer(row, row_off)
        noise = np.sqrt(self.first.problem.phi_step * p * self.energy) * D0
        second = self.gamma * g[:, None] * np.hstack([frame, noise])
        v1 = np.pad(self.v1, (0, len(p)))
        return second + np.outer(step.gamma * c1 * step.b * g, v1)


@lru_cache(maxsize=256)
def slope_function(sigma: Function) -> Function:
    """Return sigma' as a function."""
    polynomial = None
    if sigma.polynomial is not None:
        c = np.atleast_1d(np.polynomial.hermite_e.hermeder(sigma.polynomial) * sigma.scale)
        polynomial = tuple(float(x) for x in c)
    name, slope = f"slope of {sigma.name}", sigma.derivative
    return Function(name, slope, slope, sigma.kinks, polynomial=polynomial)


def second_step(first: Prepared, eta: float, constant: float) -> SecondStep:
    """Return the second step, of size eta, after a problem's first; see `output_constants`."""
    problem, step = first.problem, first.step
    rule = first.index_rule
    index, norm, p = sample_nodes(problem.d, rule, max(INDEX_NODES, rule.count(1.0)))
    overlaps = step.theta * unit_linear(first.labels)
    Y = labels_given_index(first.labels, overlaps, index, norm, p)
    t = len(overlaps)
    rest = np.sqrt(max(float(1 - overlaps @ overlaps - step.backward**2), 0.0))
    v1 = np.concatenate([overlaps, [-step.backward, rest]])
    basis = np.linalg.inv(off_root(overlaps)) @ (np.eye(t, t + 2) - np.outer(overlaps, v1))
    g, weight = readout_law(problem, GradedRule(((0.0, 1.0),)).nodes(SECOND_STEP_READOUTS))
    after = SecondStep(
        first=first,
        gamma=eta / np.sqrt(problem.N),
        index=index,
        norm=norm,
        p=p,
        labels=Y,
        mean=Y.Y0,
        row=np.zeros(len(p)),
        energy=Y.Y0**2 + (Y.Y1**2).sum(0) + Y.Y2,
        v1=v1,
        basis=basis,
        g=g,
        weight=weight,
    )
    return _less_output(after, constant) if problem.output_scale else after


def _less_output(after: SecondStep, constant: float) -> SecondStep:
    r"""Return the second step for residuals that are labels minus the network's output.

    .. math::
        \bar B &= E[g^2(1+2c_2\gamma_1g\bar\mu)B_1],\qquad
        F = \sqrt N E[gA_1] - \tfrac{c_1}{b_1}\kappa\bar B,\qquad m = Y_0 - F \\
        q &= m^2 + |Y_1|^2 + \bar B^2(1-c_1^2/b_1^2) - 2\bar BY_1\cdot(u\cdot e) + Y_2^2
            + E[g^2(E\sigma^2-A_1^2)] - \bar B^2

    F contains the output that all neurons share by its dependence on the length.
    """
    problem, step, trace = after.first.problem, after.first.step, after.first.covariance.trace
    scale, g, weight = problem.output_scale, after.g, after.weight
    s, rho = after.start(g)
    # before the step the weight along v_1 has the deviation 1/sqrt(d)
    signs = [
        gaussian_averages(
            problem.sigma,
            (s[:, None] + sign / np.sqrt(problem.d)) * after.index,
            rho[:, None] * np.sqrt(after.norm),
            flattening=1 / (4 * problem.d),
        )
        for sign in (1, -1)
    ]
    value, slope, square = (sum(pair) / 2 for pair in zip(*signs, strict=True))
    grown = 1 + 2 * step.c2 * step.gamma * g * (trace.weight @ trace.mu)
    row = scale * (weight * g**2 * grown / rho) @ slope
    F = scale * np.sqrt(problem.N) * ((weight * g) @ value) - step.backward * after.index * row
    constant = scale * constant if problem.readout != "constant" else 0.0  # else it is in F
    mean = after.labels.Y0 - F - constant
    spare = scale**2 * (weight * g**2) @ (square - value**2) - row**2
    Y1, sideways = after.labels.Y1, after.basis[:, len(after.basis)]
    energy = mean**2 + (Y1**2).sum(0) + after.labels.Y2 + np.maximum(spare, 0.0)
    energy += row**2 * (1 - step.backward**2) - 2 * row * (sideways @ Y1)
    return replace(after, mean=mean, row=row, energy=energy)


@dataclass(frozen=True)
class LearnedPlane:
    """The direction v, a second one where there is one, and those that neurons lean along.

    All are in the frame of `SecondStep.moves`, of T coordinates.
    """

    indices: Floats  # (i, T) v, and v' where it is an index
    directions: Floats  # (m, T) the labels' directions off the indices, then those of leans
    overlaps: Floats  # (i, t) of the indices with the labels' directions
    row: Floats  # (i + m,) of the readout row with the indices and the directions
    strength: float  # root mean square of a neuron's move along v
    total_strength: float  # the same for v and all directions


def learned_plane(after: SecondStep) -> LearnedPlane:
    """Return the directions that both steps learn."""
    g, weight, t = after.g, after.weight, len(after.basis)
    moves = after.moves(g, after.slopes(*after.start(g)).value, after.first.step.c1)
    v = _leading(moves, weight)[1][0]
    v = v if (weight * g) @ (moves @ v) >= 0 else -v
    overlaps = v[:t] * min(1.0, np.sqrt(MAX_SQUARED_OVERLAP / max(v[:t] @ v[:t], 1e-300)))
    e = np.linalg.inv(off_root(overlaps)) @ (np.eye(t, len(v)) - np.outer(overlaps, v))
    off_v = moves - np.outer(moves @ v, v)
    one = _plane(after, moves, v[None], overlaps[None], e, off_v)
    sizes, rights = _leading(off_v, weight)
    single = t == 1 and not isinstance(after.first.labels.teacher, MultiIndex)
    if not single or sizes[0] ** 2 < MIN_INDEX_LEAN:
        return one
    second = rights[0] - (rights[0] @ v) * v
    second /= np.linalg.norm(second)
    indices = np.array([v, second])
    e = np.eye(t, len(v)) - indices[:, :t].T @ indices
    e /= np.maximum(np.linalg.norm(e, axis=1)[:, None], 1e-9)
    off_both = off_v - np.outer(off_v @ second, second)
    plane = _plane(after, moves, indices, np.array([overlaps, second[:t]]), e, off_both)
    return replace(plane, total_strength=one.total_strength)


def _plane(
    after: SecondStep, moves: Floats, indices: Floats, overlaps: Floats, e: Floats, rest: Floats
) -> LearnedPlane:
    """Return the plane of these indices, with leans along e and the leading part of the rest."""
    for direction in e:
        rest = rest - np.outer(rest @ direction, direction)
    sizes, rights = _leading(rest, after.weight)
    strong = sizes[:MAX_LEANS] ** 2 > MIN_LEAN / after.first.problem.d
    directions = np.vstack([e, rights[:MAX_LEANS][strong]])
    row = np.vstack([indices, directions])[:, len(after.basis)]
    along_v = after.weight @ (moves @ indices[0]) ** 2
    total = along_v + after.weight @ ((moves @ directions.T) ** 2).sum(1)
    return LearnedPlane(
        indices, directions, overlaps, row, float(np.sqrt(along_v)), float(np.sqrt(total))
    )


def _leading(moves: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return singular values and right vectors of moves over readouts of these probabilities."""
    _, sizes, rights = np.linalg.svd(np.sqrt(weight)[:, None] * moves, full_matrices=False)
    return sizes, rights
