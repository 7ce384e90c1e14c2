r"""The eigenvalues of the inputs' covariance, in groups of directions that act alike.

The largest eigenvalues stand alone: a teacher drawn at random has a part along each that differs
from seed to seed. The others are many, and only integrals of smooth functions over them matter: a
few Gauss nodes of their measure replace them.

Along a single eigenvector the teacher, the readout row and the noise of the step each have a part
that is one normal variable. They make :math:`q = \beta^\top\Sigma\beta`, the length of the learned
direction and its overlap differ between seeds by tens of percent; so does :math:`c = E[rz]`, an
average over :math:`n_0` rows. Errors are averaged over a Latin hypercube of all of them.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri

from onegrad.arrays import Floats
from onegrad.functions.function import Function
from onegrad.functions.hermite import gauss_hermite
from onegrad.problem import Problem
from onegrad.theory.uniform.rules import gauss_rule

# chosen for power laws up to 1/j, not tuned
SINGLE_DIRECTIONS, NODES_OF_THE_REST = 8, 5
MAX_LISTED, INTERVAL = 100_000, 2e-4  # eigenvalues of a power law; those beyond are in intervals
LENGTH_NODES = 3
ONE_SCALE = np.ones(1), np.ones(1)  # of inputs whose lengths are Gaussian
BIAS_NODES = 2
NOISE_DIRECTIONS = 3  # of a second step's noise, that draws know
MIN_MEAN = 1e-3  # squared length of a mean, relative to the variance of the inputs, that counts
MIN_TAIL = 1e-3  # variance of the scale of inputs below which they are as good as Gaussian
FEW_DRAWS, MORE_DRAWS = 8, {True: 32, False: 16}  # more: of readouts of one size, and others
# SciPy's Latin hypercubes of small discrepancy (three seeds) made errors of reach_covariance worse,
# 0.36 to 0.41 % beyond two standard errors for 0.29 %: what counts is how draws along the first
# directions are correlated, and the products of their parts
CANDIDATE_DESIGNS = 1000
MIN_SHARE_OF_THE_REST = 0.05  # of the teacher, in all directions that do not stand alone


@dataclass(frozen=True)
class InputSpectrum:
    """Eigenvalues :math:`s_r` of the covariance with multiplicities :math:`m_r`, (R,)."""

    values: Floats
    counts: Floats
    singles: int = 0  # how many of the groups, the first ones, are a single direction
    teacher_cosine: float | None = None  # with the first direction; None where it is random
    mean: Floats | None = None  # (R,) squared parts of the inputs' mean in the groups
    # Gauss nodes and weights of the relative squared length of inputs off their mean; None where it
    # is that of Gaussian ones
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
            return ONE_SCALE
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


@dataclass(frozen=True)
class TeacherDraw:
    """One draw of a teacher and of the step."""

    # (R,) squared parts of the teacher in the groups of directions; they add up to one
    shares: Floats
    # (R,) parts of the readout row along single directions, signed relative to the teacher's and in
    # units of their deviations
    row: Floats
    noise: Floats  # (R,) the same of the step's noise
    later: Floats  # (k, R) the same of noise of a second step
    others: Floats  # (k, R) the same as `row` of further directions of the labels
    fluctuation: float  # sign of the fluctuation of c
    offset: float = 0.0  # the teacher's index at the mean of the inputs, in units of its deviation


def teacher_draws(
    spectrum: InputSpectrum, count: int = FEW_DRAWS, others: int = 0
) -> tuple[TeacherDraw, ...]:
    """Return equally likely draws: so many, or two where no direction stands alone.

    others : number of further directions of the labels.
    """
    plain, none = spectrum.counts / spectrum.counts.sum(), np.zeros(len(spectrum.counts))
    no_noise = np.zeros((NOISE_DIRECTIONS, len(none)))
    single = np.flatnonzero(spectrum.single)
    if not len(single):
        nothing = np.zeros((others, len(plain)))
        return tuple(TeacherDraw(plain, none, none, no_noise, nothing, s) for s in (1.0, -1.0))
    draws = []
    offsets = _normal_levels(count) * (spectrum.mean_square > 0)
    design = _design(len(single), count)
    later, more = (np.zeros((count, k, len(plain))) for k in (NOISE_DIRECTIONS, others))
    for number, (m, k) in enumerate(itertools.product(range(NOISE_DIRECTIONS), single)):
        later[:, m, k] = _normal_levels(count, seed=3 + number)
    for number, (m, k) in enumerate(itertools.product(range(others), single)):
        more[:, m, k] = _normal_levels(count, seed=103 + number)
    columns = zip(*design, offsets, later, more, strict=True)
    for squares, *levels, fluctuation, offset, after, further in columns:
        shares, (row, noise) = plain.copy(), (none.copy() for _ in range(2))
        shares[single] = squares * plain[single]
        if spectrum.teacher_cosine is not None:
            shares[0] = spectrum.teacher_cosine**2
        rest = max(1 - shares[single].sum(), MIN_SHARE_OF_THE_REST)
        shares[~spectrum.single] *= rest / plain[~spectrum.single].sum()
        row[single], noise[single] = levels
        draws.append(TeacherDraw(shares, row, noise, after, further, fluctuation, offset))
    return tuple(draws)


def _normal_levels(size: int, seed: int = 2) -> Floats:
    """Return means of a standard normal in equally likely bins, of unit variance, shuffled."""
    x = ndtri(np.linspace(0, 1, size + 1))
    levels = -size * np.diff(np.exp(-x * x / 2)) / np.sqrt(2 * np.pi)
    return np.random.default_rng(seed).permutation(levels / levels.std())


@lru_cache
def _design(k: int, size: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return chi^2_1 values and two sets of normal ones, (size, k) each, and signs, (size,).

    It is the Latin hypercube of smallest correlations, the first columns counting most, among many
    random ones.
    """
    x = ndtri(np.linspace(0.5, 1, size + 1))
    density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    moved = np.append(x[:-1] * density[:-1], 0.0)
    levels = 1 - 2 * size * np.diff(moved)  # mean of x^2 in equally likely bins
    generator = np.random.default_rng(1)
    normal, half = _normal_levels(size), np.resize([1.0, -1.0], size)
    importance = np.concatenate([np.tile(1 / np.arange(1, k + 1), 8), [1.0]])
    designs = []
    for _ in range(CANDIDATE_DESIGNS):
        squares, row, noise = (
            np.column_stack([generator.permutation(y) for _ in range(k)])
            for y in (levels, normal, normal)
        )
        signs, roots = generator.permutation(half), np.sqrt(squares)
        products = [roots * row, roots * noise, row * noise]
        columns = np.hstack([squares, row, noise, row**2, noise**2, *products, signs[:, None]])
        columns = (columns - columns.mean(0)) / np.maximum(columns.std(0), 1e-12)
        correlation = columns.T @ columns / size - np.eye(8 * k + 1)
        uneven = np.concatenate([y.mean(0) ** 2 for y in products]) @ np.tile(importance[:k], 3)
        cost = float(importance @ correlation**2 @ importance) + len(importance) * float(uneven)
        designs.append((cost, squares, row, noise, signs))
    _, squares, row, noise, signs = min(designs, key=lambda design: design[0])
    return squares, row, noise, signs


@lru_cache(maxsize=1024)
def stretched(f: Function, scale: float, shift: float = 0.0) -> Function:
    """Return z -> f(shift + scale z)."""
    if abs(scale - 1) < 1e-12 and not shift:
        return f
    polynomial = None
    if f.polynomial is not None:
        degrees = np.arange(len(f.polynomial))
        z, p = gauss_hermite(len(degrees) + 2)
        basis = np.polynomial.hermite_e.hermevander(z, len(degrees) - 1)
        factorials = np.array([math.factorial(k) for k in degrees], dtype=float)
        polynomial = tuple((p * f(shift + scale * z)) @ basis / factorials)
    return Function(
        f"{f.name} at {shift:.12g} + {scale:.12g} z",
        lambda x: f(shift + scale * x),
        lambda x: scale * f.derivative(shift + scale * x),
        kinks=tuple((kink - shift) / scale for kink in f.kinks),
        polynomial=polynomial,
    )


@dataclass(frozen=True)
class Inputs:
    r"""Groups of eigenvalues of the inputs' covariance, at one draw of the teacher.

    .. math:: s_r = \lambda_r/t_1,\qquad \sum_r\omega_rs_r = 1,\qquad
        t_1 = \mathrm{tr}\,\Sigma/d

    A neuron's input has the deviation :math:`\sqrt{t_1}`, by which the activation is stretched.
    Isotropic inputs are one group.
    """

    d: int
    s: Floats  # (R,) eigenvalues over their mean
    omega: Floats  # (R,) shares of the directions
    draw: TeacherDraw
    single: np.ndarray[Any, np.dtype[np.bool_]]  # (R,) groups of one direction
    isotropic: bool = False  # whether all directions are alike
    mean: Floats | None = None  # (R,) squared parts of the inputs' mean over t_1
    scales: tuple[Floats, Floats] = ONE_SCALE  # nodes and weights of zeta
    evenness: float = 1.0  # deviation of lengths over that of Gaussian ones, where it is smaller

    @classmethod
    def of_draw(cls, spectrum: InputSpectrum, draw: TeacherDraw, d: int) -> Inputs:
        """Return the groups of a spectrum at a draw."""
        size = spectrum.moment(1)
        return cls(
            d,
            spectrum.values / size,
            spectrum.counts / d,
            draw,
            spectrum.single,
            False,
            None if spectrum.mean is None else spectrum.mean / size,
            spectrum.scales,
            min(spectrum.length_deviation / spectrum.gaussian_deviation, 1.0),
        )

    @property
    def label_strength(self) -> float:
        r"""Return :math:`\beta^\top\Sigma\beta` over t_1 of a teacher."""
        return float(self.draw.shares @ self.s)

    @property
    def mean_square(self) -> float:
        """Squared length of the mean, over t_1."""
        return 0.0 if self.mean is None else float(self.mean.sum())

    @property
    def biases(self) -> tuple[Floats, Floats]:
        r"""Nodes and probabilities of :math:`w_0\cdot m/\sqrt{t_1}`."""
        if self.mean is None:
            return np.zeros(1), np.ones(1)
        nodes, weights = gauss_hermite(BIAS_NODES)
        return np.sqrt(self.mean_square / self.d) * nodes, weights

    def trace(self, k: int) -> float:
        r"""Return :math:`\sum_r\omega_rs_r^k`."""
        return float(self.omega @ self.s**k)


def isotropic_inputs(d: int, others: int = 0) -> Inputs:
    """Return the law of isotropic inputs; `others` as in `teacher_draws`."""
    one, none = np.ones(1), np.zeros(1)
    no_noise = np.zeros((NOISE_DIRECTIONS, 1))
    draw = TeacherDraw(one, none, none, no_noise, np.zeros((others, 1)), 0.0)
    return Inputs(d, one, one, draw, np.zeros(1, bool), isotropic=True)
