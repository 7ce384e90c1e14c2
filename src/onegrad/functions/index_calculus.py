r"""Calculus of functions of several indices, sums of :math:`C\prod_i He_{k_i}(u_i)`.

For an index :math:`\kappa` whose overlaps with the orthonormal indices are :math:`\vartheta_i`,

.. math:: E\Big[\prod_i He_{k_i}(u_i)\,\Big|\,\kappa\Big]
    = \prod_i\vartheta_i^{k_i}\;He_{k_1+k_2+\dots}(\kappa).
"""

import itertools
import math
from functools import lru_cache

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import OutOfScope
from onegrad.functions.function import Function, Monomial, MultiIndex
from onegrad.functions.hermite import gauss_hermite

Terms = tuple[tuple[Monomial, float], ...]
_MAX_PRODUCT_TERMS = 20_000  # not tuned: eight factors H5 would make 6^8 terms


def linear_part(f: Function | MultiIndex) -> Floats:
    """Return E[u_i f] for each index."""
    if isinstance(f, Function):
        return f.c[1:2]
    linear = np.zeros(f.indices)
    for monomial, c in f.terms:
        if len(monomial) == 1 and monomial[0][1] == 1:
            linear[monomial[0][0] - 1] = c
    return linear


def mean_of(f: Function | MultiIndex) -> float:
    """Return E f."""
    return float(f.c[0]) if isinstance(f, Function) else dict(f.terms).get((), 0.0)


def derivative(terms: Terms, index: int) -> Terms:
    """Return the derivative by one index, by He_k' = k He_{k-1}."""
    result = []
    for monomial, c in terms:
        degrees = dict(monomial)
        k = degrees.pop(index, 0)
        if k:
            lower = degrees | ({index: k - 1} if k > 1 else {})
            result.append((tuple(sorted(lower.items())), k * c))
    return tuple(result)


def monomial_product(m1: Monomial, m2: Monomial) -> Terms:
    r"""Return a product of two monomials.

    It is :math:`He_aHe_b = \sum_j j!\binom aj\binom bj He_{a+b-2j}` for each index.
    """
    degrees1, degrees2 = dict(m1), dict(m2)
    indices = sorted(degrees1 | degrees2)
    pairs = [(degrees1.get(i, 0), degrees2.get(i, 0)) for i in indices]
    ranges = [range(min(pair) + 1) for pair in pairs]
    _check_term_count(math.prod(map(len, ranges)))
    terms = []
    for js in itertools.product(*ranges):
        c, monomial = 1.0, []
        for i, j, (a, b) in zip(indices, js, pairs, strict=True):
            c *= math.factorial(j) * math.comb(a, j) * math.comb(b, j)
            if a + b > 2 * j:
                monomial.append((i, a + b - 2 * j))
        terms.append((tuple(monomial), c))
    return tuple(terms)


def of_other_indices(f: MultiIndex, root: Floats) -> MultiIndex:
    """Return z -> f(root z), by Gauss-Hermite rules that are exact for its degree."""
    degree = max(sum(k for _, k in monomial) for monomial, _ in f.terms)
    z, p = gauss_hermite(degree + 1)
    grid = np.stack(np.meshgrid(*[z] * f.indices, indexing="ij"), -1)
    values = f(grid @ root.T)
    basis = np.polynomial.hermite_e.hermevander(z, degree) * p[:, None]
    basis /= [math.factorial(k) for k in range(degree + 1)]
    for _ in range(f.indices):  # each turns the first axis into degrees, and goes to the end
        values = np.tensordot(values, basis, axes=(0, 0))
    return MultiIndex(
        f.name,
        tuple(
            (tuple((i, k) for i, k in enumerate(degrees, 1) if k), float(c))
            for degrees, c in np.ndenumerate(values)
            if sum(degrees) <= degree
        ),
    )


def _check_term_count(count: int) -> None:
    if count > _MAX_PRODUCT_TERMS:
        covered = f"teachers whose square has at most {_MAX_PRODUCT_TERMS} terms"
        raise OutOfScope("multi-index", "teacher", covered=covered)


@lru_cache(maxsize=64)
def square(terms: Terms) -> Terms:
    """Return the square, by `monomial_product`."""
    total: dict[Monomial, float] = {}
    for (m1, c1), (m2, c2) in itertools.product(terms, repeat=2):
        _check_term_count(len(total))
        for monomial, c in monomial_product(m1, m2):
            total[monomial] = total.get(monomial, 0.0) + c1 * c2 * c
    return tuple(total.items())


def conditional_coefficients(terms: Terms, overlaps: Floats) -> tuple[float, ...]:
    """Return the coefficients c_k of E[f | kappa] = sum_k c_k He_k(kappa)."""
    result = [0.0]
    for monomial, c in terms:
        degree = sum(k for _, k in monomial)
        result += [0.0] * (degree + 1 - len(result))
        result[degree] += c * math.prod(float(overlaps[i - 1]) ** k for i, k in monomial)
    return tuple(result)


def conditional_mean(terms: Terms, overlaps: Floats, kappa: Floats) -> Floats:
    """Return E[f | kappa] at every kappa."""
    c = conditional_coefficients(terms, overlaps)
    return np.asarray(np.polynomial.hermite_e.hermeval(kappa, c))


def conditional_hessian(terms: Terms, overlaps: Floats, kappa: Floats) -> Floats:
    """Return the means, given kappa, of the second derivatives by each pair of indices."""
    t = len(overlaps)
    hessian = np.zeros((t, t, *np.shape(kappa)))
    for i, j in itertools.combinations_with_replacement(range(t), 2):
        twice = derivative(derivative(terms, i + 1), j + 1)
        hessian[i, j] = hessian[j, i] = conditional_mean(twice, overlaps, kappa)
    return hessian
