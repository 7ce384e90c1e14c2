r"""Draws of a random teacher among the eigenvectors of the covariance, equally likely.

Its part :math:`\beta_r^2` along a single eigenvector is :math:`\chi^2_1/d`, which makes
:math:`q = \beta^\top\Sigma\beta`, the length of the learned direction and its overlap differ
between seeds by tens of percent; so do the sign of the step's noise along that eigenvector and
:math:`c = E[rz]`, an average over :math:`n_0` rows. Errors are averaged over a Latin hypercube of
all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from onegrad.arrays import Floats
from onegrad.theory.uniform.input_covariance.spectrum import InputSpectrum

RANDOM_DRAWS = 8
CANDIDATE_DESIGNS = 400
MIN_SHARE_OF_THE_REST = 0.05  # of the teacher, in all directions that do not stand alone


@dataclass(frozen=True)
class TeacherDraw:
    """One draw of a teacher and of the step's noise.

    shares : squared parts of the teacher in the groups of directions, (R,); they add up to one.
    noise_signs : sign of the step's noise along the teacher's part in single directions, (R,).
    fluctuation : sign of the fluctuation of c.
    offset : the teacher's index at the mean of the inputs, in units of its deviation.
    """

    shares: Floats
    noise_signs: Floats
    fluctuation: float
    offset: float = 0.0


def teacher_draws(spectrum: InputSpectrum) -> tuple[TeacherDraw, ...]:
    """Return equally likely draws."""
    plain = spectrum.counts / spectrum.counts.sum()
    single = np.flatnonzero(spectrum.single)
    if spectrum.teacher_cosine is not None:
        plain = np.array([spectrum.teacher_cosine**2, 1 - spectrum.teacher_cosine**2])
        signs = [(a, b) for a in (1.0, -1.0) for b in (1.0, -1.0)]
        return tuple(TeacherDraw(plain, np.array([a, 0.0]), b) for a, b in signs)
    if not len(single):
        return tuple(TeacherDraw(plain, np.zeros(len(plain)), sign) for sign in (1.0, -1.0))
    draws = []
    offsets = _normal_levels(RANDOM_DRAWS) * (spectrum.mean_square > 0)
    design = _design(len(single), RANDOM_DRAWS)
    for squares, signs, fluctuation, offset in zip(*design, offsets, strict=True):
        shares, noise_signs = plain.copy(), np.zeros(len(plain))
        shares[single] = squares * plain[single]
        rest = max(1 - shares[single].sum(), MIN_SHARE_OF_THE_REST)
        shares[~spectrum.single] *= rest / plain[~spectrum.single].sum()
        noise_signs[single] = signs
        draws.append(TeacherDraw(shares, noise_signs, float(fluctuation), float(offset)))
    return tuple(draws)


def _normal_levels(size: int) -> Floats:
    """Return means of a standard normal in equally likely bins, of unit variance, shuffled."""
    x = ndtri(np.linspace(0, 1, size + 1))
    levels = -size * np.diff(np.exp(-x * x / 2)) / np.sqrt(2 * np.pi)
    return np.random.default_rng(2).permutation(levels / levels.std())


@lru_cache
def _design(k: int, size: int) -> tuple[Floats, Floats, Floats]:
    """Return chi^2_1 values and signs, (size, k) each, and more signs, (size,).

    It is the Latin hypercube of smallest correlations, the first columns counting most, among many
    random ones.
    """
    x = ndtri(np.linspace(0.5, 1, size + 1))
    density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    moved = np.append(x[:-1] * density[:-1], 0.0)
    levels = 1 - 2 * size * np.diff(moved)  # mean of x^2 in equally likely bins
    generator = np.random.default_rng(1)
    half = np.resize([1.0, -1.0], size)
    rank = 1 / np.arange(1, k + 2)
    importance = np.concatenate([rank[:k], rank, rank])
    designs = []
    for _ in range(CANDIDATE_DESIGNS):
        squares = np.column_stack([generator.permutation(levels) for _ in range(k)])
        signs = np.column_stack([generator.permutation(half) for _ in range(k + 1)])
        signed = signs * np.column_stack([np.sqrt(squares), np.ones(size)])
        columns = np.hstack([squares / squares.std(0), signed, signs])
        correlation = np.corrcoef(columns.T) - np.eye(3 * k + 2)
        designs.append((float(importance @ correlation**2 @ importance), squares, signs))
    _, squares, signs = min(designs, key=lambda design: design[0])
    return squares, signs[:, :k], signs[:, k]
