"""Formulas such as `"H1 + H2/sqrt(2)"` or `"tanh(2*x) + x^2"`: parsed, never evaluated.

    sum     := ["+"|"-"] product (("+"|"-") product)*
    product := power (("*"|"/") power)*
    power   := term [("^"|"**") digits]
    term    := number | "pi" | "x" [digits] | "H" digits ["@" digits] | "(" sum ")"
             | "sqrt" "(" sum ")" | name ["(" sum ")"]

`x` is the index of the teacher, or the input of an activation; `x1`, `x2`, ... are orthonormal
indices, of which `x` is the first. `Hk` is the probabilists' He_k of `x`, `Hk@j` that of `xj`. A
name is that of a registered function, applied to `x` unless parentheses follow. Only a number may
be rooted.

Python's own parser builds the tree. It never sees the text: signs are translated one by one, and
every other token is a numbered placeholder.

A node of the tree stands for an expression: a polynomial of any number of indices, kept exactly as
sum_m C_m prod_i He_{k_i}(u_i), or else a function of one number: its value, its slope by the rules
of calculus, and the points at which it is not smooth.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
import scipy

from onegrad.arrays import Array
from onegrad.exceptions import InvalidInput, case_insensitive, closest
from onegrad.functions.function import Function, HermiteSum, Monomial, index_count
from onegrad.functions.index_calculus import monomial_product

Combination = dict[Monomial, float]

# What a formula may be is limited so that a hostile one ends at once; the limits were not tuned.
MAX_FORMULA_LENGTH = 400
MAX_TERMS, MAX_DEGREE = 64, 40
# The slowest formula found within both is read in 0.3 s; before, others took 26 s. The theory of
# 89 kinks takes 2 s, that of 267 took 39 s.
MAX_KINKS, MAX_FORMULA_OPERATIONS = 128, 300
_MAX_PAIRS = 4 * MAX_TERMS  # of terms that one product multiplies out, before equal ones are added
_CANCELLATION = 1e-15  # a sum this small beside its terms is zero: x^2 - 1 - H2 has no term left
_GRID = np.linspace(-14.0, 14.0, 28_001)  # N(0, 1) has no mass beyond it
_MIN_DIVISOR = 1e-3  # of the typical size of a divisor: below it a zero may lie between two points
_MAX_INDEX, _MAX_DEPTH = 8, 20  # what a person writes stays far below
_SYNTAX = "allowed are numbers, x or xj, Hk or Hk@j, names of functions, + - * / ^ and parentheses"
_TOKEN = re.compile(
    r"\s*(?:(?P<hermite>[Hh]e?(?P<degree>\d{1,9})(?:@(?P<index>\d{1,9}))?(?![\w.]))"
    r"|(?P<variable>[Xx](?P<place>\d{0,9})(?![\w.]))"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?(?![\w.]))"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*(?![.]))|(?P<sign>\*\*|[-+*/^()]))"
)


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

    @property
    def operations(self) -> int:
        return len(self.coefficients)

    def value(self, x: Array) -> Array:
        return HermiteSum(self.coefficients)(x)

    def slope(self, x: Array) -> Array:
        return HermiteSum(self.coefficients).derivative(x)


@dataclass(frozen=True)
class Composed:
    """A function of one number, made of its parts by a rule; unlike a closure it can be pickled."""

    rule: str
    parts: tuple[Piece, ...]
    kinks: tuple[float, ...]
    continuous: bool

    def __post_init__(self) -> None:
        if len(self.kinks) > MAX_KINKS:
            raise ExpressionError(f"more than {MAX_KINKS} kinks")
        if self.operations > MAX_FORMULA_OPERATIONS:
            problem = f"more than {MAX_FORMULA_OPERATIONS} operations, powers multiplied out"
            raise ExpressionError(problem)

    @cached_property
    def operations(self) -> int:
        """Number of operations on numbers; a part counts as often as it stands there."""
        return 1 + sum(getattr(part, "operations", 1) for part in self.parts)

    def value(self, x: Array) -> Array:
        return _RULES[self.rule][0](x, *self.parts)

    __call__ = value

    def slope(self, x: Array) -> Array:
        return _RULES[self.rule][1](x, *self.parts)

    def named(self, name: str) -> Function:
        return Function(name, self, _Slope(self), self.kinks, continuous=self.continuous)


@dataclass(frozen=True)
class _Slope:
    """The slope of an expression; a bound method would not equal itself once pickled."""

    of: Composed

    def __call__(self, x: Array) -> Array:
        return self.of.slope(x)


Expression = Polynomial | Composed
Piece = Expression | Function  # a Function has a name and is applied to x, or to the next part
_RULES: Mapping[str, tuple[Callable[..., Array], Callable[..., Array]]] = {  # value and slope
    "sum": (lambda x, f, g: f.value(x) + g.value(x), lambda x, f, g: f.slope(x) + g.slope(x)),
    "difference": (
        lambda x, f, g: f.value(x) - g.value(x),
        lambda x, f, g: f.slope(x) - g.slope(x),
    ),
    "product": (
        lambda x, f, g: f.value(x) * g.value(x),
        lambda x, f, g: f.slope(x) * g.value(x) + f.value(x) * g.slope(x),
    ),
    "inverse": (lambda x, f: 1 / f.value(x), lambda x, f: -f.slope(x) / f.value(x) ** 2),
    "function": (lambda x, f: f(x), lambda x, f: f.derivative(x)),
    "composite": (
        lambda x, f, g: f(g.value(x)),
        lambda x, f, g: f.derivative(g.value(x)) * g.slope(x),
    ),
}


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
    return _composed("sum" if sign == 1.0 else "difference", left, right)


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
    return _composed("product", left, right)


def divide(left: Expression, right: Expression) -> Expression:
    """Return the quotient; the divisor must stay away from zero."""
    if isinstance(right, Polynomial) and right.number is not None:
        if right.number == 0.0:
            raise ExpressionError("division by zero")
        return multiply(left, constant(1.0 / right.number))
    _require_one_index(left, right)
    with np.errstate(all="ignore"):
        size = np.abs(right.value(_GRID))
    # in this form a NaN is refused as well
    if not size.min() > _MIN_DIVISOR * np.median(size):
        raise ExpressionError("division by an expression that vanishes")
    return multiply(left, _composed("inverse", right))


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
            return _composed("function", f)
    points = [root for kink in f.kinks for root in _crossings(inner, kink)]
    continuous = inner.continuous and (f.continuous or not points)
    return Composed("composite", (f, inner), tuple(sorted({*inner.kinks, *points})), continuous)


def _accumulate(total: Combination, monomial: Monomial, c: float) -> None:
    # rounding leaves some 1e-16 of terms that cancel, and a degree that is not there would be found
    before = total.get(monomial, 0.0)
    after = before + c
    total[monomial] = 0.0 if abs(after) < _CANCELLATION * (abs(before) + abs(c)) else after


def _require_one_index(*expressions: Piece) -> None:
    for expression in expressions:
        if isinstance(expression, Polynomial):
            _ = expression.coefficients


def _composed(rule: str, *parts: Piece) -> Composed:
    """Return the function that a rule makes of parts; it is smooth where all of them are."""
    _require_one_index(*parts)
    kinks = {kink for part in parts for kink in part.kinks}
    return Composed(rule, parts, tuple(sorted(kinks)), all(part.continuous for part in parts))


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
    passed = np.flatnonzero(signs[:-1] * signs[1:] < 0)
    if len(passed) > MAX_KINKS:
        raise ExpressionError(f"more than {MAX_KINKS} kinks")
    for i in passed:
        roots.append(float(scipy.optimize.brentq(distance, _GRID[i], _GRID[i + 1])))
    return roots


_OPERATIONS: Mapping[type[ast.operator], Callable[[Expression, Expression], Expression]] = {
    ast.Add: add,
    ast.Sub: partial(add, sign=-1.0),
    ast.Mult: multiply,
    ast.Div: divide,
}


def parse_formula(text: str, functions: Mapping[str, Function]) -> Expression:
    """Return the expression that a formula stands for; raise InvalidInput if it is malformed."""
    if len(text) > MAX_FORMULA_LENGTH:  # bounds the depth of the tree as well
        raise InvalidInput("formula", text, f"at most {MAX_FORMULA_LENGTH} characters long")
    formula = _Formula(text, functions)
    return formula.expression(formula.tree())


class _Formula:
    """The tokens of a formula, and the expressions that the nodes of its tree stand for."""

    def __init__(self, text: str, functions: Mapping[str, Function]) -> None:
        self.text, self.functions = text, functions
        self.tokens: list[re.Match[str]] = []
        end = depth = 0
        while text[end:].strip():
            token = _TOKEN.match(text, end)
            if token is None:
                raise self.error("it cannot be read", end)
            depth += (token["sign"] == "(") - (token["sign"] == ")")
            if depth > _MAX_DEPTH:
                raise self.error(f"more than {_MAX_DEPTH} nested parentheses", end)
            self.tokens.append(token)
            end = token.end()
            if (token["name"] or "").lower() == "sqrt" and not text[end:].lstrip().startswith("("):
                raise self.error("sqrt needs a parenthesis", end)

    def error(self, problem: str, place: int | re.Match[str]) -> InvalidInput:
        """Return the exception for a problem at a position of the text, or at a token."""
        position = place if isinstance(place, int) else place.start()
        near = self.text[position : position + 12].strip() or "the end"
        return InvalidInput("formula", self.text, problem=f"{problem} at {near!r}; {_SYNTAX}")

    def tree(self) -> ast.expr:
        """Return the tree of Python's parser; token i is in line i + 1, as `_i` unless a sign.

        Every sum begins with a zero, so that a sign in front of it becomes an operator: -x^2 is
        0 - x**2. A sign in front of any other term is not one of this language.
        """
        lines, begins = [], True
        for i, token in enumerate(self.tokens):
            sign = token["sign"]
            zero = "" if not begins else "0" if sign in ("+", "-") else "0+"
            lines.append(zero + (sign.replace("^", "**") if sign else f"_{i}"))
            begins = sign == "("
        try:
            return ast.parse(" \\\n".join(lines), mode="eval").body
        except SyntaxError as error:
            raise self._something_missing(error.msg, (error.lineno or 1) - 1) from None

    def _something_missing(self, message: str, i: int) -> InvalidInput:
        """Return Python's complaint in our words: the tokens are right, so one of them is missing.

        Python's words are needed for parentheses alone; the rest is told by the tokens themselves.
        """
        if not self.tokens:
            return self.error("a term is missing", 0)
        sign, before = self.tokens[i]["sign"], self.tokens[i - 1]["sign"] if i else "("
        if "closed" in message or "comma" in message:
            missing = "a closing parenthesis"
        elif sign in (None, ")") and before in (None, ")"):
            missing = "an operator"
        else:
            missing = "a term"
        return self.error(f"{missing} is missing", self.tokens[i])

    def expression(self, node: ast.expr) -> Expression:
        """Return what a node stands for; a kind of node that is not listed here is refused."""
        token = self.tokens[node.lineno - 1]
        match node:
            case ast.Constant():  # the zero that begins a sum
                return constant(0.0)
            case ast.Name():
                return self._term(token)
            case ast.Call(func=function, args=[argument]):
                if isinstance(function, ast.Name) and self._name(token) not in ("", "pi"):
                    return self._call(token, self.expression(argument))
                raise self.error("an operator is missing", self.tokens[argument.lineno - 2])
            case ast.BinOp(left=left, op=operator, right=right):
                value, token = self.expression(left), self.tokens[right.lineno - 1]
                if not isinstance(operator, ast.Pow):
                    operation = _OPERATIONS[type(operator)]
                    return self._apply(token, operation, value, self.expression(right))
                if isinstance(right, ast.Name) and (token["number"] or "").isdigit():
                    return self._apply(token, power, value, int(token["number"][:9]))
                raise self.error("an exponent must be a whole number", token)
        raise self.error("a term is missing", token)

    def _apply(
        self, token: re.Match[str], rule: Callable[..., Expression], *arguments: object
    ) -> Expression:
        """Combine expressions; an error names the place in the formula."""
        try:
            return rule(*arguments)
        except ExpressionError as error:
            raise self.error(str(error), token) from None

    def _term(self, token: re.Match[str]) -> Expression:
        """Return a number, an index, a Hermite polynomial, pi, or a named function of x."""
        if token["number"]:
            return self._apply(token, constant, float(token["number"]))
        if name := self._name(token):
            return constant(math.pi) if name == "pi" else self._call(token, hermite_polynomial(1))
        degree = int(token["degree"] or 1)
        index = int(token["index"] or token["place"] or 1)
        if degree > MAX_DEGREE or not 1 <= index <= _MAX_INDEX:
            problem = f"degree must be <= {MAX_DEGREE} and index 1 to {_MAX_INDEX}"
            raise self.error(problem, token)
        return hermite_polynomial(degree, index)

    def _call(self, token: re.Match[str], inner: Expression) -> Expression:
        """Return a named function of an expression, or the root of a number."""
        name = self._name(token)
        if name == "sqrt":
            return self._apply(token, square_root, inner)
        return self._apply(token, compose, self.functions[name], inner)

    def _name(self, token: re.Match[str]) -> str:
        """Return the name in a token as it is registered; an empty string if there is none."""
        names = ("", "sqrt", "pi", *self.functions)
        name = case_insensitive(token["name"] or "", names)
        if name not in names:
            near = closest(name, self.functions)
            suggestion = f" (did you mean {near}?)" if near else ""
            raise self.error(f"unknown name{suggestion}", token)
        return name
