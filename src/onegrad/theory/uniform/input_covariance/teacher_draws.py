r"""Draws of a random teacher and of the step among the eigenvectors of the covariance.

Along a single eigenvector the teacher, the readout row and the noise of the step each have a part
that is one normal variable. They make :math:`q = \beta^\top\Sigma\beta`, the length of the learned
direction and its overlap differ between seeds by tens of percent; so does :math:`c = E[rz]`, an
average over :math:`n_0` rows. Errors are averaged over a Latin hypercube of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from onegrad.arrays import Floats
from onegrad.theory.uniform.input_covariance.spectrum import InputSpectrum

FEW_DRAWS, MANY_DRAWS = 8, 32
CANDIDATE_DESIGNS = 1000
MIN_SHARE_OF_THE_REST = 0.05  # of the teacher, in all directions that do not stand alone


@dataclass(frozen=True)
class TeacherDraw:
    """One draw of a teacher and of the step.

    shares : squared parts of the teacher in the groups of directions, (R,); they add up to one.
    row, noise : parts of the readout row and of the step's noise along single directions, signed
        relative to the teacher's and in units of their deviations, (R,).
    fluctuation : sign of the fluctuation of c.
    offset : the teacher's index at the mean of the inputs, in units of its deviation.
    """

    shares: Floats
    row: Floats
    noise: Floats
    fluctuation: float
    offset: float = 0.0


def teacher_draws(spectrum: InputSpectrum, count: int = FEW_DRAWS) -> tuple[TeacherDraw, ...]:
    """Return equally likely draws: so many, or two where no direction stands alone."""
    plain, none = spectrum.counts / spectrum.counts.sum(), np.zeros(len(spectrum.counts))
    single = np.flatnonzero(spectrum.single)
    if not len(single):
        return tuple(TeacherDraw(plain, none, none, sign) for sign in (1.0, -1.0))
    draws = []
    offsets = _normal_levels(count) * (spectrum.mean_square > 0)
    design = _design(len(single), count)
    for squares, *levels, fluctuation, offset in zip(*design, offsets, strict=True):
        shares, (row, noise) = plain.copy(), (none.copy() for _ in range(2))
        shares[single] = squares * plain[single]
        if spectrum.teacher_cosine is not None:
            shares[0] = spectrum.teacher_cosine**2
        rest = max(1 - shares[single].sum(), MIN_SHARE_OF_THE_REST)
        shares[~spectrum.single] *= rest / plain[~spectrum.single].sum()
        row[single], noise[single] = levels
        draws.append(TeacherDraw(shares, row, noise, float(fluctuation), float(offset)))
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
