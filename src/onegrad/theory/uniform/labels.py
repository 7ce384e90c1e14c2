r"""The law of the labels, as the step and the ridge fit see it.

A label is :math:`\sigma_\star(u) + \varepsilon` with orthonormal indices :math:`u = B^\top x`; a
fraction q of them has :math:`\sigma_\star` of independent indices instead. Only the linear part
:math:`c = (1-q)E[u\,\sigma_\star]` leads the step: v has the overlaps :math:`\vartheta = c/b` with
the indices. Given :math:`\kappa = v\cdot x` a label is

.. math::
    Y_0 + Y_1\cdot z + \text{rest}, \qquad
    Y_0 = E[y\mid\kappa],\quad Y_1 = (I - \vartheta\vartheta^\top)^{1/2}E[\nabla y\mid\kappa],
    \quad Y_2^2 = E[y^2\mid\kappa] - Y_0^2 - |Y_1|^2

with z the coordinates of x along the indices' directions off v, made orthonormal. The rest of the
label is as good as noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions import several
from onegrad.functions.averages import gaussian_averages
from onegrad.functions.function import Function, MultiIndex
from onegrad.problem import Problem
from onegrad.problem.laws import Law

GAUSSIAN = Law("gaussian")


@dataclass(frozen=True)
class Labels:
    """Teacher, deviation and law of the noise, and the fraction of labels that are replaced."""

    teacher: Function | MultiIndex
    noise: float = 0.0
    law: Law = GAUSSIAN
    replaced: float = 0.0

    @property
    def indices(self) -> int:
        return self.teacher.indices if isinstance(self.teacher, MultiIndex) else 1

    @property
    def linear(self) -> Floats:
        """E[u y]."""
        return (1 - self.replaced) * several.linear_part(self.teacher)


class Conditional(NamedTuple):
    """Coefficients of a label given the index, on K samples: (K,), (indices, K), (K,)."""

    Y0: Floats
    Y1: Floats
    Y2: Floats


def labels_of(problem: Problem) -> Labels:
    """The law of a problem's labels."""
    return Labels(
        problem.teacher_function, problem.noise, problem.noise_distribution, problem.corrupted
    )


def unit_linear(labels: Labels) -> Floats:
    """The direction of the linear part among the indices; for one index it is that index."""
    c = several.linear_part(labels.teacher)
    size = float(np.linalg.norm(c))
    if labels.indices == 1:
        return np.ones(1)
    return np.asarray(c / size if size else c)


def conditional(
    labels: Labels, theta: float, index: Floats, length: Floats, flattening: float
) -> Conditional:
    """Labels given the index and the length of x off it.

    flattening : of one coordinate of x given its length, as for `gaussian_averages`.
    """
    f, q = labels.teacher, labels.replaced
    if isinstance(f, MultiIndex):
        Y0, Y1, square = _of_several(f, theta * unit_linear(labels), index, length)
    else:
        off = np.sqrt(1 - theta**2)
        Y0, slope, square = gaussian_averages(f, theta * index, off * length, flattening)
        Y1 = slope[None]
    if q:
        Y0, Y1 = (1 - q) * Y0 + q * several.mean_of(f), (1 - q) * Y1
        square = (1 - q) * square + q * f.second_moment
    Y2 = np.maximum(square - Y0**2 - (Y1**2).sum(0), 0.0) + labels.noise**2
    return Conditional(Y0, Y1, Y2)


def _of_several(
    f: MultiIndex, overlaps: Floats, index: Floats, length: Floats
) -> tuple[Floats, Floats, Floats]:
    r"""E[f], its linear coefficients off v, and E[f^2], given index and length.

    A length :math:`\ell` gives the coordinates off v the covariance
    :math:`\ell^2(I - \vartheta\vartheta^\top)`: to first order in :math:`\ell^2 - 1`

    .. math:: E_\ell[f] = E[f] + \tfrac12(\ell^2-1)\,\big(E[\Delta f\mid\kappa]
        - \partial_\kappa^2E[f\mid\kappa]\big).
    """
    theta = float(np.linalg.norm(overlaps))
    unit = overlaps / theta if theta else overlaps

    def mean(terms: several.Terms) -> Floats:
        bent = several.given_index(several.laplacian(terms, f.indices), overlaps, index)
        second = sum(
            overlaps[i - 1]
            * overlaps[j - 1]
            * several.given_index(
                several.derivative(several.derivative(terms, i), j), overlaps, index
            )
            for i in range(1, f.indices + 1)
            for j in range(1, f.indices + 1)
            if overlaps[i - 1] and overlaps[j - 1]
        )
        plain = several.given_index(terms, overlaps, index)
        return np.asarray(plain + (length**2 - 1) / 2 * (bent - second))

    gradient = length * np.array(
        [mean(several.derivative(f.terms, i)) for i in range(1, f.indices + 1)]
    )
    # (I - theta theta^T)^(1/2)
    Y1 = gradient - (1 - np.sqrt(1 - theta**2)) * np.outer(unit, unit @ gradient)
    return mean(f.terms), Y1, mean(several.square(f.terms))
