r"""Calculus of functions of several indices: sums of :math:`C\prod_i He_{k_i}(u_i)`.

For an index :math:`\kappa` whose overlaps with the orthonormal indices are :math:`\vartheta_i`,

.. math:: E\Big[\prod_i He_{k_i}(u_i)\,\Big|\,\kappa\Big]
    = \prod_i\vartheta_i^{k_i}\;He_{k_1+k_2+\dots}(\kappa).
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import OutOfScope
from onegrad.functions.formula import Monomial
from onegrad.functions.function import Function, MultiIndex

Terms = tuple[tuple[Monomial, float], ...]
MOST_TERMS = 20_000  # of a product


def linear_part(f: Function | MultiIndex) -> Floats:
    """E[u_i f] for each index."""
    if isinstance(f, Function):
        return f.c[1:2]
    found = np.zeros(f.indices)
    for monomial, c in f.terms:
        if len(monomial) == 1 and monomial[0][1] == 1:
            found[monomial[0][0] - 1] = c
    return found


def mean_of(f: Function | MultiIndex) -> float:
    """E f."""
    return float(f.c[0]) if isinstance(f, Function) else dict(f.terms).get((), 0.0)


def derivative(terms: Terms, index: int) -> Terms:
    """By the index: He_k' = k He_{k-1}."""
    found = []
    for monomial, c in terms:
        degrees = dict(monomial)
        k = degrees.pop(index, 0)
        if k:
            lower = degrees | ({index: k - 1} if k > 1 else {})
            found.append((tuple(sorted(lower.items())), k * c))
    return tuple(found)


def laplacian(terms: Terms) -> Terms:
    """The sum of the second derivatives by every index."""
    found = []
    for monomial, c in terms:
        for index, k in monomial:
            if k > 1:
                lower = dict(monomial) | {index: k - 2}
                left = tuple((i, j) for i, j in lower.items() if j)
                found.append((left, k * (k - 1) * c))
    return tuple(found)


@lru_cache(maxsize=64)
def square(terms: Terms) -> Terms:
    r"""By :math:`He_aHe_b = \sum_j j!\binom aj\binom bj He_{a+b-2j}` in every index."""
    total: dict[Monomial, float] = {}
    for (m1, c1), (m2, c2) in itertools.product(terms, repeat=2):
        one, two = dict(m1), dict(m2)
        indices = sorted(one | two)
        ways = [range(min(one.get(i, 0), two.get(i, 0)) + 1) for i in indices]
        if math.prod(map(len, ways)) > MOST_TERMS or len(total) > MOST_TERMS:
            covered = f"teachers whose square has at most {MOST_TERMS} terms; use lower degrees"
            raise OutOfScope("multi-index", "teacher", covered=covered)
        for chosen in itertools.product(*ways):
            c, monomial = c1 * c2, []
            for i, j in zip(indices, chosen, strict=True):
                a, b = one.get(i, 0), two.get(i, 0)
                c *= math.factorial(j) * math.comb(a, j) * math.comb(b, j)
                if a + b > 2 * j:
                    monomial.append((i, a + b - 2 * j))
            total[tuple(monomial)] = total.get(tuple(monomial), 0.0) + c
    return tuple(total.items())


def coefficients(terms: Terms, overlaps: Floats) -> tuple[float, ...]:
    """c_k of E[f | kappa] = sum_k c_k He_k(kappa)."""
    found = [0.0]
    for monomial, c in terms:
        degree = sum(k for _, k in monomial)
        found += [0.0] * (degree + 1 - len(found))
        found[degree] += c * math.prod(float(overlaps[i - 1]) ** k for i, k in monomial)
    return tuple(found)


def bent_off_index(terms: Terms, overlaps: Floats, kappa: Floats) -> Floats:
    """E of the trace of second derivatives orthogonal to kappa, given kappa."""
    along = np.polynomial.hermite_e.hermeder(coefficients(terms, overlaps), 2)
    bent = given_index(laplacian(terms), overlaps, kappa)
    return np.asarray(bent - np.polynomial.hermite_e.hermeval(kappa, along))


def given_index(terms: Terms, overlaps: Floats, kappa: Floats) -> Floats:
    """E[f | kappa] at every kappa."""
    return np.asarray(np.polynomial.hermite_e.hermeval(kappa, coefficients(terms, overlaps)))
