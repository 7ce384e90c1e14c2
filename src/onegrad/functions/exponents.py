r"""How hard a teacher is: its information and generative exponents.

With normalised Hermite polynomials :math:`h_k` and z ~ N(0, 1), labels :math:`y = \sigma_\star(z)`,

.. math::
    \text{information} = \min\{k \ge 1 : E[y\,h_k(z)] \ne 0\},\qquad
    \text{generative} = \min\{k \ge 1 : E[h_k(z)\mid y] \not\equiv 0\}.

One pass of gradient descent on the labels needs of order :math:`d^{k-1}` rows for the first
(:math:`k > 2`; d for 1, d log d for 2), and a method that may use any function of a label, as
reused batches do, as many for the second. With several indices the polynomials are products of
total degree k.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput, OutOfScope
from onegrad.functions.function import Function, MultiIndex
from onegrad.functions.hermite import normalised_hermite
from onegrad.functions.registry import Spec, resolve

DEGREE = 20  # exponents are looked for up to it
ZERO = 1e-9  # a share of the energy below this is none
CLASSES_ZERO = 1e-5  # the same for E[h_k | y], where the error of the grid is about 1e-7
POINTS = {1: 200_001, 2: 601, 3: 81}  # values of an index, by the number of indices
LEVELS = 50  # equally likely classes of labels


@dataclass(frozen=True)
class Exponents:
    """Exponents of a teacher; None where no degree up to 20 qualifies.

    Parameters
    ----------
    information : first degree of the labels.
    generative : first degree that some function of a label has.
    one_step : first degree that one gradient step sees: of the labels and of the activation. Only
        degree 1 is seen from n of order d, degree 2 through the outliers of sum y x x^T.
    """

    information: int | None
    generative: int | None
    one_step: int | None


def exponents(teacher: Spec, activation: Spec | None = None) -> Exponents:
    """The exponents of a teacher without label noise.

    Parameters
    ----------
    teacher : as in Problem.
    activation : whose degrees the step can use; without one, all.

    Examples
    --------
    >>> import onegrad as og
    >>> og.exponents("H3 + 0.1*H2")
    Exponents(information=2, generative=1, one_step=2)
    >>> og.exponents("H3 + 0.1*H2", activation="tanh").one_step  # tanh has no degree 2
    3

    See tests/functions/test_exponents_are_those_of_the_literature.py.
    """
    f = resolve(teacher, "teacher")
    share = label_energy(f)
    degrees = [k for k in range(1, DEGREE + 1) if share[k] > ZERO]
    sees = set(degrees)
    if activation is not None:
        sigma = resolve(activation, "activation")
        if not isinstance(sigma, Function):
            raise InvalidInput("activation", sigma.name, "a function of one number")
        own = label_energy(sigma)
        sees = {k for k in degrees if own[k] > ZERO}
    seen = (k for k, e in enumerate(label_classes(f), 1) if k in degrees or e > CLASSES_ZERO)
    return Exponents(
        information=min(degrees, default=None),
        generative=next(seen, None),
        one_step=min(sees, default=None),
    )


def label_energy(f: Function | MultiIndex) -> Floats:
    """The share of E f^2 at every degree, 0 to 20."""
    share = np.zeros(DEGREE + 1)
    if isinstance(f, MultiIndex):
        for monomial, c in f.terms:
            degrees = [k for _, k in monomial]
            if sum(degrees) <= DEGREE:
                share[sum(degrees)] += c * c * math.prod(math.factorial(k) for k in degrees)
    else:
        share += [math.factorial(k) * f.c[k] ** 2 for k in range(DEGREE + 1)]
    if not f.second_moment > 0:
        raise OutOfScope("exponent", "teacher", f.name, "labels that are not all zero")
    return share / f.second_moment


def label_classes(f: Function | MultiIndex) -> Iterator[float]:
    r"""The energy of :math:`E[h_k(z)\mid y]`, k = 1, 2, ..., averaged over classes of labels."""
    indices = f.indices if isinstance(f, MultiIndex) else 1
    if indices not in POINTS:
        raise OutOfScope("exponent", "teacher", f.name, f"up to {max(POINTS)} indices")
    x = np.linspace(-8.0, 8.0, POINTS[indices])
    places = np.indices((len(x),) * indices).reshape(indices, -1)
    p = np.exp(-(x[places] ** 2).sum(0) / 2)
    p /= p.sum()
    y = f(x[places].T) if isinstance(f, MultiIndex) else f(x)
    y = np.round(np.asarray(y) / np.sqrt(f.second_moment), 9)  # f(z) = f(-z) up to rounding
    _, place = np.unique(y, return_inverse=True)
    upto = np.cumsum(np.bincount(place, p))
    label = np.minimum((upto * LEVELS).astype(int), LEVELS - 1)[place]
    weight = np.bincount(label, p, LEVELS)
    some = weight > 0
    h = normalised_hermite(x, DEGREE)
    for k in range(1, DEGREE + 1):
        total = 0.0
        for degrees in itertools.product(range(k + 1), repeat=indices):
            if sum(degrees) == k:
                product = np.prod([h[j][places[i]] for i, j in enumerate(degrees)], axis=0)
                sums = np.bincount(label, p * product, LEVELS)
                total += float((sums[some] ** 2 / weight[some]).sum())
        yield total
