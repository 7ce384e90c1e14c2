r"""Products of inputs that neurons read: what of their output off the indices is not noise.

Beyond its linear part the output of a neuron is a sum over products of inputs. With orthonormal
Hermite functions :math:`h_\alpha` of degree k and the variance :math:`\kappa_c` of weights along
the direction c of the inputs,

.. math:: \sum_\alpha E\sigma^{(k)}\,\frac{w^\alpha}{\sqrt{\alpha!}}\,h_\alpha(x), \qquad
    \mathrm{Var}\,\frac{w^\alpha}{\sqrt{\alpha!}} = \prod_{c\in\alpha}\kappa_c .

Isotropic inputs have :math:`d^k/k!` products that are all weak: their sum is noise but for terms of
the order of :math:`n/d^k` and :math:`N/d^k`. Where a few directions carry a neuron's output some
are strong. Each is one more direction that ridge fits, with the reading
:math:`\ell^{k/2}E\sigma^{(k)}` in a row of squared length :math:`\ell d` (`pencil`). (The parts
with :math:`E w^\alpha \ne 0` act through the length of a row, which is a coordinate of it.)
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.features import Features
from onegrad.theory.uniform.laws.neurons import Types
from onegrad.theory.uniform.laws.rows import Population, StepMoments
from onegrad.theory.uniform.pencil import InputProducts
from onegrad.theory.uniform.step import Step

# of a product over noise, in all neurons together, by its degree: a weaker one is noise. Together
# weak ones are not: d^2/2 of a tenth each, taken for noise, made errors of labels without noise 8
# to 17 % too large at d of 45 to 90. Weak ones of degree three made erf on steep power laws worse
MIN_PRODUCT_STRENGTH = {2: 0.01, 3: 0.1}
# of rho^2, in the mean, that isotropic weights have of their start: where a step is most of them a
# few long neurons are most of a product, and errors after steps of n^1.5 were 45 % too low
MIN_INITIAL_SHARE = 0.5
BINS_PER_OCTAVE = 0.5  # products of a bin differ by less than a factor of four


def strong_products(
    step: Step, types: Types, moments: StepMoments, rows: Population, features: Features
) -> tuple[InputProducts, ...]:
    """Return the products of inputs that count, by their degree.

    Those in the plane of v and the labels' directions are variables of the fit (`fit`).

    features : of rows that the step has not seen.
    """
    inputs = step.inputs
    if step.laws.same_rows:
        return ()
    rho = types.rho if types.initial is None else types.initial.rho
    if inputs.isotropic and types.weight @ (types.size / rho) ** 2 < MIN_INITIAL_SHARE:
        return ()
    variance = _variances_off_the_plane(step, types, moments)
    counts = np.where(inputs.single, 1.0, inputs.d * inputs.omega)
    # given the lengths of rows and weights E prod_c x_c^2 is less, isotropic by 1 + k (k - 1)/d
    fluctuation = 4 * step.bulk_trace / inputs.d
    noise = max(float(np.tensordot(rows.mass, features.noise, axes=2) @ types.weight), 1e-300)
    products = []
    for degree, reading in _readings(features, rows).items():
        if inputs.isotropic and degree > 2:  # far more of them than rows
            continue
        strength = float(np.tensordot(rows.mass, reading**2, axes=2) @ types.weight)
        smallest = MIN_PRODUCT_STRENGTH[degree] * noise / max(step.laws.neurons.N * strength, 1e-9)
        squares, number = _binned(variance, counts, types.weight, degree, smallest)
        less = 1 + degree * (degree - 1) / 2 * fluctuation
        products.append(InputProducts(degree, number / inputs.d, inputs.d / less * squares))
    return tuple(products)


def with_products(
    features: Features, products: tuple[InputProducts, ...], rows: Population
) -> Features:
    """Return features of rows whose noise is without the products, which they read."""
    readings = tuple(_readings(features, rows)[x.degree] for x in products)
    noise = features.noise
    for product, reading in zip(products, readings, strict=True):
        noise = noise - (product.omega @ product.variance) * reading**2
    return replace(features, noise=np.maximum(noise, 0.0), products=readings)


def _readings(features: Features, rows: Population) -> dict[int, Floats]:
    r"""Return :math:`\ell^{k/2}E\sigma^{(k)}`, (G, K, U), by the degree k of products."""
    root = np.sqrt(rows.length)[:, None, None]
    return {2: root**2 * features.bend, 3: root**3 * features.third}


def _variances_off_the_plane(step: Step, types: Types, moments: StepMoments) -> Floats:
    r"""Return the variance of weights along an eigenvector of each group, (U, R).

    .. math:: \frac{s|w|_s^2(1 + \epsilon K + \varepsilon K\,Er)^2
        + \varphi_0K^2Er^2(\varepsilon^2|w|^2 + \gamma_g^2\nu)}{d}

    with the step's gain K, s for the gradient. Where it stands alone, without its part in the plane
    of v and the labels' directions.
    """
    inputs = step.inputs
    s, off = inputs.s, _off_the_plane(step)[:, None] / inputs.d
    grown = step.laws.update.rest + np.outer(step.gain, types.own + types.epsilon * moments.mean)
    slopes = types.epsilon**2 * types.size**2 + types.gamma**2 * step.activation.nu
    noise = step.noise_of_moves(moments.square * slopes) / (inputs.omega @ step.gain**2)
    noise = np.outer(step.gain**2, noise)
    return np.asarray(((s[:, None] * types.length * grown**2 + noise) * off).T)


def _off_the_plane(step: Step) -> Floats:
    """Return what the plane of v and the labels' directions leaves of single directions, (R,)."""
    inside = np.sum([step.overlap[i, i] for i in range(1 + step.indices)], axis=0)
    return np.where(step.inputs.single, np.clip(1 - inside, 0.0, 1.0), 1.0)


def _binned(
    variance: Floats, counts: Floats, weight: Floats, degree: int, smallest: float
) -> tuple[Floats, Floats]:
    """Return variances of products above the smallest in bins, (B, U), and their numbers, (B,).

    variance : of weights along directions of each kind, (U, R); counts : numbers of those, (R,).
    """
    factors = _multisets(len(counts), degree - 1)  # all but the last, which no kind follows
    table = variance.T[factors].prod(1)  # (P, U)
    means = (table * weight) @ variance  # (P, R)
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
def _multisets(kinds: int, degree: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return all sets of so many kinds, one per row and in order, in which kinds may repeat."""
    return np.array(list(itertools.combinations_with_replacement(range(kinds), degree)))


def _numbers(kinds: np.ndarray[Any, np.dtype[np.intp]], counts: Floats) -> Floats:
    """Return how many products of directions of these kinds there are, (P,).

    m directions of one kind have m (m + 1) ... (m + j - 1)/j! products of j factors.
    """
    number, before = np.ones(len(kinds)), np.zeros(len(kinds))
    for i, kind in enumerate(kinds.T):
        before = np.where(kind == kinds[:, i - 1], before + 1, 0) if i else before
        number *= (np.maximum(counts[kind], 0.0) + before) / (before + 1)
    return number
