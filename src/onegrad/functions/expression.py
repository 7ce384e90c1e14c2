r"""Expressions in x: polynomials in the Hermite basis, and functions made of named ones.

A polynomial of any number of indices is kept exactly, as :math:`\sum_m C_m\prod_i He_{k_i}(u_i)`.
Any other expression is a function of one number: its value, its slope by the rules of calculus,
and the points at which it is not smooth.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy

from onegrad.arrays import Array
from onegrad.functions.function import ArrayFunction, Function, HermiteSum, Monomial, index_count
from onegrad.functions.index_calculus import monomial_product

Combination = dict[Monomial, float]

# What a formula may be is limited so that a hostile one ends at once; the limits were not tuned.
MAX_TERMS, MAX_DEGREE = 64, 40
_MAX_PAIRS = 4 * MAX_TERMS  # of terms that one product multiplies out, before equal ones are added
_CANCELLATION = 1e-15  # a sum this small beside its terms is zero: x^2 - 1 - H2 has no term left
_GRID = np.linspace(-14.0, 14.0, 28_001)  # N(0, 1) has no mass beyond it
_MIN_DIVISOR = 1e-3  # of the typical size of a divisor: below it a zero may lie between two points


class ExpressionError(ValueError):
    """The problem with an expression, as a phrase."""


@dataclass(frozen=True)
class Polynomial:
    """A polynomial as pairs of a monomial and its coefficient; equal to a number if constant."""

    terms: tuple[tuple[Monomial, float], ...]
    kinks: ClassVar[tuple[float, ...]] = ()
    continuous: ClassVar[bool] = True

    @classmethod
    def of(cls, combination: Combination) -> Polynomial:
        """Return the polynomial of a combination, checked."""
        nonzero = {m: c for m, c in combination.items() if c != 0.0}
        if len(nonzero) > MAX_TERMS:
            raise ExpressionError(f"more than {MAX_TERMS} terms")
        if any(k > MAX_DEGREE for monomial in nonzero for _, k in monomial):
            raise ExpressionError(f"a degree above {MAX_DEGREE}")
        if not all(math.isfinite(c) for c in nonzero.values()):
            raise ExpressionError("a coefficient overflows")
        return cls(tuple(nonzero.items()))

    @property
    def number(self) -> float | None:
        """Value of a constant; None otherwise."""
        if any(monomial for monomial, _ in self.terms):
            return None
        return dict(self.terms).get((), 0.0)

    @cached_property
    def coefficients(self) -> tuple[float, ...]:
        """Hermite coefficients c_0, c_1, ... of a polynomial of the first index."""
        if index_count(monomial for monomial, _ in self.terms) > 1:
            raise ExpressionError("a function of several indices must be a polynomial")
        degrees = {m[0][1] if m else 0: c for m, c in self.terms}
        return tuple(degrees.get(k, 0.0) for k in range(max(degrees, default=0) + 1))

    def value(self, x: Array) -> Array:
        return HermiteSum(self.coefficients)(x)

    def slope(self, x: Array) -> Array:
        return HermiteSum(self.coefficients).derivative(x)


Expression = Polynomial | Function  # a Function is of one number, and not yet named


def constant(value: float) -> Polynomial:
    """Return a number as an expression."""
    return Polynomial.of({(): value})


def hermite_polynomial(degree: int, index: int = 1) -> Polynomial:
    """Return He_degree of one index."""
    return Polynomial.of({(((index, degree),) if degree else ()): 1.0})


def add(left: Expression, right: Expression, sign: float = 1.0) -> Expression:
    """Return left + sign * right."""
    if isinstance(left, Polynomial) and isinstance(right, Polynomial):
        total = dict(left.terms)
        for monomial, c in right.terms:
            _accumulate(total, monomial, sign * c)
        return Polynomial.of(total)
    return _function(
        lambda x: left.value(x) + sign * right.value(x),
        lambda x: left.slope(x) + sign * right.slope(x),
        left,
        right,
    )


def multiply(left: Expression, right: Expression) -> Expression:
    """Return the product; that of polynomials by `monomial_product`."""
    if isinstance(left, Polynomial) and isinstance(right, Polynomial):
        if len(left.terms) * len(right.terms) > _MAX_PAIRS:
            raise ExpressionError(f"more than {MAX_TERMS} terms")
        total: Combination = {}
        for (m1, c1), (m2, c2) in itertools.product(left.terms, right.terms):
            for monomial, c in monomial_product(m1, m2):
                _accumulate(total, monomial, c * c1 * c2)
        return Polynomial.of(total)
    return _function(
        lambda x: left.value(x) * right.value(x),
        lambda x: left.slope(x) * right.value(x) + left.value(x) * right.slope(x),
        left,
        right,
    )


def divide(left: Expression, right: Expression) -> Expression:
    """Return the quotient; the divisor must stay away from zero."""
    if isinstance(right, Polynomial) and right.number is not None:
        if right.number == 0.0:
            raise ExpressionError("division by zero")
        return multiply(left, constant(1.0 / right.number))
    _require_one_index(left, right)
    with np.errstate(all="ignore"):
        size = np.abs(right.value(_GRID))
    if not size.min() > _MIN_DIVISOR * np.median(size):
        raise ExpressionError("division by an expression that vanishes")
    inverse = _function(
        lambda x: 1 / right.value(x), lambda x: -right.slope(x) / right.value(x) ** 2, right
    )
    return multiply(left, inverse)


def power(base: Expression, exponent: int) -> Expression:
    """Return the base to a whole power of at least zero."""
    if exponent > MAX_DEGREE:
        raise ExpressionError(f"an exponent above {MAX_DEGREE}")
    result: Expression = constant(1.0)
    for _ in range(exponent):  # not by squares: terms are counted after every product
        result = multiply(result, base)
    return result


def square_root(radicand: Expression) -> Polynomial:
    """Return the root of a number."""
    number = radicand.number if isinstance(radicand, Polynomial) else None
    if number is None:
        raise ExpressionError("sqrt takes only a number")
    if number < 0.0:
        raise ExpressionError("square root of a negative number")
    return constant(math.sqrt(number))


def compose(f: Function, inner: Expression) -> Expression:
    """Return f of an expression."""
    if isinstance(inner, Polynomial):
        if (number := inner.number) is not None:
            return constant(float(f(np.array(number))))
        if inner.coefficients == (0.0, 1.0):  # x itself
            return _function(f, f.derivative, f)
    points = [root for kink in f.kinks for root in _crossings(inner, kink)]
    return Function(
        "",
        lambda x: f(inner.value(x)),
        lambda x: f.derivative(inner.value(x)) * inner.slope(x),
        kinks=tuple(sorted({*inner.kinks, *points})),
        continuous=inner.continuous and (f.continuous or not points),
    )


def _accumulate(total: Combination, monomial: Monomial, c: float) -> None:
    before = total.get(monomial, 0.0)
    after = before + c
    total[monomial] = 0.0 if abs(after) < _CANCELLATION * (abs(before) + abs(c)) else after


def _require_one_index(*expressions: Expression) -> None:
    for expression in expressions:
        if isinstance(expression, Polynomial):
            _ = expression.coefficients


def _function(value: ArrayFunction, slope: ArrayFunction, *parts: Expression) -> Function:
    """Return a function made of expressions; it is smooth where all of them are."""
    _require_one_index(*parts)
    kinks = {kink for part in parts for kink in part.kinks}
    continuous = all(part.continuous for part in parts)
    return Function("", value, slope, tuple(sorted(kinks)), continuous=continuous)


def _crossings(inner: Expression, level: float) -> list[float]:
    """Return the points at which an expression passes through a level."""

    def distance(x: float) -> float:
        return float(inner.value(np.array([x]))[0]) - level

    with np.errstate(all="ignore"):
        above = inner.value(_GRID) - level
    on_grid = _GRID[above == 0.0]
    # an expression that stays at the level, as relu does at 0, has no crossing there
    roots = [float(x) for x in on_grid] if len(on_grid) < 99 else []
    signs = np.sign(above)
    for i in np.flatnonzero(signs[:-1] * signs[1:] < 0):
        roots.append(float(scipy.optimize.brentq(distance, _GRID[i], _GRID[i + 1])))
    return roots
