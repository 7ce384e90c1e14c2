r"""Information and generative exponents: how hard a teacher is to learn.

With normalised Hermite polynomials :math:`h_k` and z ~ N(0, 1), labels :math:`y = \sigma_\star(z)`,

.. math::
    \text{information} = \min\{k \ge 1 : E[y\,h_k(z)] \ne 0\},\qquad
    \text{generative} = \min\{k \ge 1 : E[h_k(z)\mid y] \not\equiv 0\}.

One pass of gradient descent on the labels needs of order :math:`d^{k-1}` rows for the first
(:math:`k > 2`; d for 1, d log d for 2), and a method that may use any function of a label, as
reused batches do, as many for the second. With several indices the polynomials are products of
total degree k.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import OutOfScope
from onegrad.functions.function import Function, MultiIndex, hermite_text, mean_square
from onegrad.functions.hermite import hermite_coefficients, normalised_hermite
from onegrad.functions.registry import FunctionSpec, resolve, resolve_activation

MAX_EXPONENT = 20
_MIN_ENERGY_SHARE = 1e-9  # a smaller share of the energy counts as zero; not tuned
_MIN_CLASS_ENERGY = 1e-5  # the same for E[h_k | y], where the error of the grid is about 1e-7
# lengths at which an activation is expanded: H4(rz) has a part H2 unless r = 1
_WEIGHT_LENGTHS = (1.0, 0.7, 1.5)
_GRID_POINTS = {1: 200_001, 2: 601, 3: 81}  # grid points per index, by the number of indices
_LABEL_CLASSES = 50  # equally likely


@dataclass(frozen=True)
class Exponents:
    """Exponents of a teacher; None where no degree up to 20 qualifies.

    Parameters
    ----------
    information : first degree of the labels.
    generative : first degree that some function of a label has.
    one_step : first degree that labels and activation have in common, which one gradient step sees.
        With n of order d only degree 1 is seen, and degree 2 through the outliers of sum y x x^T.
    out_of_reach : degrees of the labels that no network of this activation without biases has, of
        any width, however it is trained.
    hermite : the teacher as a sum of Hermite polynomials, its first terms.
    """

    information: int | None
    generative: int | None
    one_step: int | None
    out_of_reach: tuple[int, ...] = ()
    hermite: str = ""


def exponents(teacher: FunctionSpec, activation: FunctionSpec | None = None) -> Exponents:
    """Return how hard a teacher is to learn: the first degrees of its labels.

    Parameters
    ----------
    teacher : a name or a formula, as in `Problem`.
    activation : the network's activation; without one, it is assumed to have all degrees.

    Examples
    --------
    >>> import onegrad as og
    >>> og.exponents("x^3 - 3*x")
    Exponents(information=3, generative=1, one_step=3, out_of_reach=(), hermite='H3')
    >>> found = og.exponents("H3 + 0.1*H2", activation="tanh")  # tanh is odd: it has no degree 2
    >>> found.information, found.one_step, found.out_of_reach
    (2, 3, (2,))
    """
    f = resolve(teacher, "teacher")
    share = energy_by_degree(f)
    degrees = [k for k in range(1, MAX_EXPONENT + 1) if share[k] > _MIN_ENERGY_SHARE]
    common, out_of_reach = degrees, {}
    if activation is not None:
        sigma = resolve_activation(activation)
        share = energy_by_degree(sigma)
        common = [k for k in degrees if share[k] > _MIN_ENERGY_SHARE]
        out_of_reach = unreachable_degrees(f, sigma)
    energies = enumerate(class_energies(f), start=1)
    # a degree of the labels is one of E[h_k | y], even where the error of the grid hides it
    generative = (k for k, e in energies if k in degrees or e > _MIN_CLASS_ENERGY)
    return Exponents(
        information=min(degrees, default=None),
        generative=next(generative, None),
        one_step=min(common, default=None),
        out_of_reach=tuple(out_of_reach),
        hermite=hermite_text(f),
    )


def unreachable_degrees(teacher: Function | MultiIndex, activation: Function) -> dict[int, float]:
    r"""Return the degrees of a teacher that no network without biases has, with their energy.

    A sum of :math:`\sigma(w\cdot x)` over weights of every length r has a part of degree k exactly
    if :math:`E[\sigma(rz)He_k(z)] \ne 0` for some r. The energy is a share of the labels' variance.

    See tests/functions/test_exponents_are_those_of_the_literature.py.
    """
    reachable = np.zeros(MAX_EXPONENT + 1, dtype=bool)
    for length in _WEIGHT_LENGTHS:
        kinks = tuple(kink / length for kink in activation.kinks)
        c = hermite_coefficients(lambda z: activation(length * z), MAX_EXPONENT, kinks)  # noqa: B023
        energy = np.array([math.factorial(k) * c[k] ** 2 for k in range(MAX_EXPONENT + 1)])
        reachable |= energy > _MIN_ENERGY_SHARE * energy.sum()
    share = energy_by_degree(teacher)[1:] * teacher.second_moment / teacher.variance
    return {
        k: float(share[k - 1])
        for k in range(1, MAX_EXPONENT + 1)
        if share[k - 1] > _MIN_ENERGY_SHARE and not reachable[k]
    }


def energy_by_degree(f: Function | MultiIndex) -> Floats:
    """Return the share of E f^2 at each degree from 0 to 20."""
    share = np.zeros(MAX_EXPONENT + 1)
    if isinstance(f, MultiIndex):
        for monomial, c in f.terms:
            degree = sum(k for _, k in monomial)
            if degree <= MAX_EXPONENT:
                share[degree] += c * c * mean_square(monomial)
    else:
        share += [math.factorial(k) * f.c[k] ** 2 for k in range(MAX_EXPONENT + 1)]
    if not f.second_moment > 0:
        raise OutOfScope("exponent", "teacher", f.name, "labels that are not all zero")
    return share / f.second_moment


def class_energies(f: Function | MultiIndex) -> Iterator[float]:
    r"""Yield the energy of :math:`E[h_k(z)\mid y]` over classes of labels, for k = 1, 2, ..."""
    indices = f.indices
    if indices not in _GRID_POINTS:
        raise OutOfScope("exponent", "teacher", f.name, f"up to {max(_GRID_POINTS)} indices")
    x = np.linspace(-8.0, 8.0, _GRID_POINTS[indices])
    positions = np.indices((len(x),) * indices).reshape(indices, -1)
    p = np.exp(-(x[positions] ** 2).sum(0) / 2)
    p /= p.sum()
    y = np.asarray(f.labels(x[positions].T)) / np.sqrt(f.second_moment)
    y = np.round(y, 9)  # f(z) = f(-z) up to rounding
    _, rank = np.unique(y, return_inverse=True)
    # the mean given a label is approximated by that given its class
    quantile = np.cumsum(np.bincount(rank, p))
    label_class = np.minimum((quantile * _LABEL_CLASSES).astype(int), _LABEL_CLASSES - 1)[rank]
    weight = np.bincount(label_class, p, _LABEL_CLASSES)
    nonempty = weight > 0
    h = normalised_hermite(x, MAX_EXPONENT)
    for k in range(1, MAX_EXPONENT + 1):
        total = 0.0
        for degrees in itertools.product(range(k + 1), repeat=indices):
            if sum(degrees) == k:
                product = np.prod([h[j][positions[i]] for i, j in enumerate(degrees)], axis=0)
                sums = np.bincount(label_class, p * product, _LABEL_CLASSES)
                total += float((sums[nonempty] ** 2 / weight[nonempty]).sum())
        yield total
