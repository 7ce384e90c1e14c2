r"""Products of inputs that neurons read: what of their output off the indices is not noise.

Beyond its linear part the output of a neuron is a sum over products of inputs. With orthonormal
Hermite functions :math:`h_\alpha` of degree k and the k-th derivative of the activation,

.. math:: \sum_\alpha E\sigma^{(k)}\,\frac{w^\alpha}{\sqrt{\alpha!}}\,h_\alpha(x), \qquad
    \mathrm{Var}\,\frac{w^\alpha}{\sqrt{\alpha!}} = \prod_{a\in\alpha}\frac{\kappa_a}d .

Isotropic inputs have :math:`d^k/k!` products that are all weak, and their sum is noise. Where a few
directions carry a neuron's output some products are strong: each is then one more direction that
ridge fits, a block with the profile :math:`\sqrt{d\prod_a\kappa_a/d}\;E\sigma^{(k)}`. (The parts
with :math:`E w^\alpha \ne 0` act through the length of a sample, which is a coordinate of it.)
"""

import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from onegrad.arrays import Floats

PRODUCT_DEGREES = (2, 3)
# of a product over noise, in all neurons together: a weaker one is noise. A tenth of it changes
# errors by less than 0.5 %; without products a test error of 1.146 was predicted as 1.233
MIN_PRODUCT_STRENGTH = 0.1
BINS_PER_OCTAVE = 0.5  # products of a bin differ by less than a factor of four


@dataclass(frozen=True)
class ProductBlocks:
    """Blocks of products of inputs."""

    # how strongly neurons read them: of each degree the strengths of its blocks, (r, U), and the
    # function of a sample that all are read with, (U, K)
    readings: tuple[tuple[Floats, Floats], ...]
    omega: Floats  # (R,) numbers of products over d
    energy: Floats  # (U, K) their part of a neuron's variance


def product_blocks(
    value: Floats,  # E sigma, (U, K)
    slope: Floats,  # E[z sigma], (U, K)
    noise: Floats,  # variance of the rest, (U, K)
    norm: Floats,  # squared lengths of the samples; the longer half first, at the same indices
    p: Floats,  # (K,) probabilities of samples
    variance: Floats,  # of weights over that of a neuron's input, (U, T)
    counts: Floats,  # numbers of directions, (T,)
    weight: Floats,  # (U,) probabilities of neurons
    # sum of the relative variances of the squared lengths of weights and samples. Given the lengths
    # E prod_a x_a^2 is less, by 1 + k (k - 1)/d for isotropic ones
    fluctuation: float,
    N: int,
    d: int,
) -> ProductBlocks:
    """Return the blocks of products that count."""
    readings: list[tuple[Floats, Floats]] = []
    numbers: list[Floats] = [np.zeros(0)]
    energy = np.zeros(value.shape)
    for degree, moment in zip(
        PRODUCT_DEGREES, _hermite_moments(value, slope, noise, norm), strict=True
    ):
        scale = N * float(weight @ moment**2 @ p) / max(float(weight @ noise @ p), 1e-300)
        squares, number = _binned(
            variance, counts, weight, degree, MIN_PRODUCT_STRENGTH / max(scale, 1e-9)
        )
        if len(number):
            less = 1 + degree * (degree - 1) / 2 * fluctuation
            readings.append((np.sqrt(d / less * squares), moment))
            numbers.append(number / d)
            energy += (number / less @ squares)[:, None] * moment**2
    return ProductBlocks(tuple(readings), np.concatenate(numbers), energy)


def _hermite_moments(
    value: Floats, slope: Floats, noise: Floats, norm: Floats
) -> tuple[Floats, Floats]:
    r"""Return :math:`E[He_k(z)\sigma(m + sz)] = s^kE\sigma^{(k)}` for k = 2 and 3.

    They are :math:`s\,\partial_sE\sigma` and :math:`s^2\partial_s(E[z\sigma]/s)`, by the difference
    of samples of two lengths, whose shares of it are those of their noise.
    """
    halves = np.sqrt(noise).reshape(len(noise), 2, -1)
    total = halves.sum(1, keepdims=True)
    shares = np.divide(2 * halves, total, out=np.ones_like(halves), where=total > 0)
    length = np.sqrt(norm).reshape(2, -1)

    def by_length(x: Floats) -> Floats:
        """Return the derivative by the logarithm of s."""
        change = np.subtract(*x.reshape(len(x), 2, -1).swapaxes(0, 1))
        return change[:, None] / np.log(length[0] / length[1]) * shares

    second, third = by_length(value), by_length(slope / length.ravel()) * length.mean(0)
    return second.reshape(value.shape), third.reshape(value.shape)


def _binned(
    variance: Floats, counts: Floats, weight: Floats, degree: int, smallest: float
) -> tuple[Floats, Floats]:
    """Return variances of products above the smallest in bins, (B, U), and their numbers, (B,).

    variance : of weights along directions of each type, (U, T); counts : numbers of those, (T,).
    """
    factors = _multisets(len(counts), degree - 1)  # all but the last, which no type follows
    table = variance.T[factors].prod(1)  # (P, U)
    means = (table * weight) @ variance  # (P, T)
    shorter, last = np.nonzero((means > smallest) & (np.arange(len(counts)) >= factors[:, -1:]))
    if not len(last):
        return np.zeros((0, len(weight))), np.zeros(0)
    table, means = table[shorter] * variance.T[last], means[shorter, last]
    number = _numbers(np.column_stack([factors[shorter], last]), counts)
    place = np.floor(BINS_PER_OCTAVE * np.log2(means / smallest)).astype(int)
    bins = (place == np.unique(place)[:, None]) * number  # (B, products)
    total = bins.sum(1)
    return bins @ table / np.maximum(total, 1e-300)[:, None], total


@lru_cache
def _multisets(types: int, degree: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return all sets of so many types, one per row and in order, in which types may repeat."""
    return np.array(list(itertools.combinations_with_replacement(range(types), degree)))


def _numbers(types: np.ndarray[Any, np.dtype[np.intp]], counts: Floats) -> Floats:
    """Return how many products of directions of these types there are, (P,).

    m directions of one type have m (m + 1) ... (m + j - 1)/j! products of j factors.
    """
    number, before = np.ones(len(types)), np.zeros(len(types))
    for i, kind in enumerate(types.T):
        before = np.where(kind == types[:, i - 1], before + 1, 0) if i else before
        number *= (np.maximum(counts[kind], 0.0) + before) / (before + 1)
    return number
