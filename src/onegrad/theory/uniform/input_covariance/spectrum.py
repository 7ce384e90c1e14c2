r"""The eigenvalues of the inputs' covariance, in groups of directions that act alike.

The largest eigenvalues stand alone: a teacher drawn at random has a part along each that differs
from seed to seed. The others are many, and only integrals of smooth functions over them matter: a
few Gauss nodes of their measure replace them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.problem import Problem

SINGLE_DIRECTIONS = 8
NODES_OF_THE_REST = 5
MAX_LISTED, INTERVAL = 100_000, 2e-4  # eigenvalues of a power law; those beyond are in intervals
LENGTH_NODES = 3
MIN_MEAN = 1e-3  # squared length of a mean, relative to the variance of the inputs, that counts
MIN_TAIL = 1e-3  # variance of the scale of inputs below which they are as good as Gaussian


@dataclass(frozen=True)
class InputSpectrum:
    r"""Eigenvalues :math:`s_r` of the covariance with multiplicities :math:`m_r`, (R,).

    singles : how many of the groups, the first ones, are a single direction.
    teacher_cosine : cosine of the teacher's direction with the first; None where it is random.
    mean : squared parts of the inputs' mean in the groups, (R,).
    lengths : Gauss nodes and weights of the relative squared length of inputs off their mean; None
        where it is that of Gaussian ones.
    """

    values: Floats
    counts: Floats
    singles: int = 0
    teacher_cosine: float | None = None
    mean: Floats | None = None
    lengths: tuple[Floats, Floats] | None = None

    @classmethod
    def of_law(cls, problem: Problem) -> InputSpectrum:
        """Return the spectrum of a problem's input law."""
        law, d = problem.input_law, problem.d
        if law.name == "spiked":
            assert law.parameter is not None
            values, counts = np.array([1 + law.parameter, 1.0]), np.array([1.0, d - 1.0])
            return cls(values, counts, 1, problem.input_overlap or None)
        decay = law.parameter if law.name == "power-law" else 0.0
        assert decay is not None
        eigenvalues, counts = power_law(d, decay)
        return cls.of_eigenvalues(eigenvalues / np.average(eigenvalues, weights=counts), counts)

    @classmethod
    def of_eigenvalues(cls, eigenvalues: Floats, counts: Floats) -> InputSpectrum:
        """Return the groups of eigenvalues with these multiplicities, largest first."""
        top = 0 if np.ptp(eigenvalues) == 0 else min(SINGLE_DIRECTIONS, len(eigenvalues) - 1)
        nodes, counts = gauss_rule(eigenvalues[top:], counts[top:], NODES_OF_THE_REST)
        return cls(
            np.concatenate([eigenvalues[:top], nodes[::-1]]),
            np.concatenate([np.ones(top), counts[::-1]]),
            top,
        )

    @classmethod
    def of_rows(cls, X: Floats) -> InputSpectrum:
        """Return the spectrum of a user's inputs: covariance, mean and lengths of rows (m, d)."""
        mean = X.mean(0)
        centred = X - mean
        eigenvalues, vectors = np.linalg.eigh(centred.T @ centred / len(X))
        eigenvalues = np.maximum(eigenvalues[::-1], 0.0)
        spectrum = cls.of_eigenvalues(eigenvalues, np.ones(len(eigenvalues)))
        parts = (mean @ vectors)[::-1] ** 2
        lengths, smallest = (centred**2).sum(1), MIN_MEAN * eigenvalues.sum()
        return replace(
            spectrum,
            mean=spectrum.in_groups(eigenvalues, parts) if parts.sum() > smallest else None,
            lengths=gauss_rule(lengths / lengths.mean(), np.full(len(X), 1 / len(X)), LENGTH_NODES),
        )

    def in_groups(self, eigenvalues: Floats, parts: Floats) -> Floats:
        """Return numbers, one per eigenvalue, summed over the groups that are nearest."""
        top = self.singles
        nearest = np.abs(eigenvalues[top:, None] - self.values[top:]).argmin(1)
        rest = np.bincount(nearest, parts[top:], len(self.values) - top)
        return np.concatenate([parts[:top], rest])

    @property
    def single(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """True for groups of one direction, (R,)."""
        return np.arange(len(self.values)) < self.singles

    @property
    def gaussian_deviation(self) -> float:
        r"""Relative deviation of a Gaussian input's squared length, :math:`\sqrt{2t_2/d}/t_1`."""
        return float(np.sqrt(2 * self.moment(2) / self.counts.sum())) / self.moment(1)

    @property
    def length_deviation(self) -> float:
        """Relative deviation of the inputs' squared length."""
        if self.lengths is None:
            return self.gaussian_deviation
        nodes, weights = self.lengths
        return float(np.sqrt(weights @ (nodes - 1) ** 2))

    @property
    def scales(self) -> tuple[Floats, Floats]:
        r"""Nodes and weights of :math:`\zeta` in inputs :math:`\sqrt\zeta` times Gaussian ones.

        .. math:: \mathrm{Var}\,\zeta = (\delta^2 - \delta_G^2)/(1 + \delta_G^2)

        It is what lengths fluctuate more than Gaussian ones do; one where they do not.
        """
        gaussian, measured = self.gaussian_deviation**2, self.length_deviation**2
        variance = (measured - gaussian) / (1 + gaussian)
        if self.lengths is None or variance < MIN_TAIL:
            return np.ones(1), np.ones(1)
        nodes, weights = self.lengths
        return 1 + (nodes - 1) * np.sqrt(variance / measured), weights

    @property
    def mean_square(self) -> float:
        """Squared length of the inputs' mean."""
        return 0.0 if self.mean is None else float(self.mean.sum())

    def moment(self, k: int) -> float:
        r"""Return :math:`t_k = \mathrm{tr}\,\Sigma^k/d`."""
        return float(self.counts @ self.values**k / self.counts.sum())


def power_law(d: int, decay: float) -> tuple[Floats, Floats]:
    r"""Return the d eigenvalues :math:`j^{-p}`, and their multiplicities.

    Beyond the first `MAX_LISTED` the sum over j is the midpoint rule on intervals whose relative
    length is `INTERVAL`, which is as good as exact: any d takes milliseconds.
    """
    listed = min(d, MAX_LISTED)
    intervals = math.ceil(math.log(d / listed) / INTERVAL)
    ends = np.geomspace(listed + 0.5, d + 0.5, intervals + 1)
    j = np.concatenate([np.arange(1.0, listed + 1), (ends[1:] + ends[:-1]) / 2])
    return j**-decay, np.concatenate([np.ones(listed), np.diff(ends)])


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
    return values, weight.sum() * vectors[0] ** 2
