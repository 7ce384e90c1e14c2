r"""The directions that two steps learn.

The moves :math:`\Omega(g)` of neurons lie in a space of a few dimensions. v is the leading
direction of :math:`\sqrt{w}\,\Omega` over the readouts: neurons have the weights :math:`s =
\Omega\cdot v` along it. What is left of :math:`\Omega` is a lean along other directions: the
labels' off v, and at most two more. Where it is strong, its leading direction v' is a second index,
and outputs are functions of :math:`(\kappa, \kappa') = (v\cdot x, v'\cdot x)`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.function import MultiIndex
from onegrad.theory.uniform.label_law import off_root
from onegrad.theory.uniform.two_steps.second_step import SecondStep

MAX_LEANS = 2  # directions beside v and the labels'
MIN_LEAN = 0.02  # mean square of a lean that is worth a direction, in units of 1/d
MIN_INDEX_LEAN = 0.01  # mean square of a lean that is worth an index
MAX_SQUARED_OVERLAP = 1 - 1e-12


@dataclass(frozen=True)
class LearnedPlane:
    """The direction v, a second one where there is one, and those that neurons lean along.

    All are in the frame of `SecondStep.moves`, of T coordinates.

    indices : v, and v' where it is an index, (i, T).
    directions : the labels' directions off the indices, then those of leans, (m, T).
    overlaps : of the indices with the labels' directions, (i, t).
    row : of the readout row with the indices and the directions, (i + m,).
    strength : root mean square of a neuron's move along v.
    total_strength : the same for v and all directions.
    """

    indices: Floats
    directions: Floats
    overlaps: Floats
    row: Floats
    strength: float
    total_strength: float


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
