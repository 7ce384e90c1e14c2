r"""The eigenvalues of the inputs' covariance, in groups of directions that act alike.

The largest eigenvalues stand alone: a teacher drawn at random has a part along each that differs
from seed to seed. The others are many, and only integrals of smooth functions over them matter: a
few Gauss nodes of their measure replace them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.problem import Problem

SINGLE_DIRECTIONS = 8
NODES_OF_THE_REST = 5


@dataclass(frozen=True)
class InputSpectrum:
    r"""Eigenvalues :math:`s_r` of the covariance with multiplicities :math:`m_r`, (R,).

    teacher_cosine : cosine of the teacher's direction with the first; None where it is random.
    """

    values: Floats
    counts: Floats
    teacher_cosine: float | None = None

    @classmethod
    def of_law(cls, problem: Problem) -> InputSpectrum:
        """Return the spectrum of a problem's input law."""
        law, d = problem.input_law, problem.d
        if law.name == "spiked":
            assert law.parameter is not None
            values, counts = np.array([1 + law.parameter, 1.0]), np.array([1.0, d - 1.0])
            return cls(values, counts, problem.input_overlap or None)
        decay = law.parameter if law.name == "power-law" else 0.0
        assert decay is not None
        eigenvalues = np.arange(1, d + 1) ** -decay
        return cls.of_eigenvalues(eigenvalues / eigenvalues.mean())

    @classmethod
    def of_eigenvalues(cls, eigenvalues: Floats) -> InputSpectrum:
        """Return the groups of d eigenvalues, largest first."""
        top = 0 if np.ptp(eigenvalues) == 0 else min(SINGLE_DIRECTIONS, len(eigenvalues) - 1)
        rest = eigenvalues[top:]
        nodes, counts = gauss_rule(rest, np.ones(len(rest)), NODES_OF_THE_REST)
        return cls(
            np.concatenate([eigenvalues[:top], nodes[::-1]]),
            np.concatenate([np.ones(top), counts[::-1]]),
        )

    @property
    def single(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """True for groups of one direction, (R,)."""
        return np.asarray(self.counts < 1.5)

    def moment(self, k: int) -> float:
        r"""Return :math:`t_k = \mathrm{tr}\,\Sigma^k/d`."""
        return float(self.counts @ self.values**k / self.counts.sum())


def gauss_rule(x: Floats, weight: Floats, nodes: int) -> tuple[Floats, Floats]:
    """Return the Gauss rule of a discrete measure, by Lanczos iteration: nodes and weights."""
    if np.ptp(x) == 0:
        return x[:1], np.array([weight.sum()])
    if len(x) <= nodes:
        return x, weight
    basis = [np.sqrt(weight / weight.sum())]
    diagonal, beside = [], []
    for k in range(nodes):
        following = x * basis[-1]
        diagonal.append(basis[-1] @ following)
        for _ in range(2):  # twice is enough
            following = following - np.array(basis).T @ (np.array(basis) @ following)
        size = float(np.linalg.norm(following))
        if k == nodes - 1 or size < 1e-12 * np.abs(x).max():
            break
        beside.append(size)
        basis.append(following / size)
    J = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    values, vectors = np.linalg.eigh(J)
    return values, np.asarray(weight.sum() * vectors[0] ** 2)
