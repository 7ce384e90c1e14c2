"""Hermite combinations such as `"H1 + H2/sqrt(2)"`, read by a grammar and never evaluated.

    sum     := ["+"|"-"] product (("+"|"-") product)*
    product := factor (("*"|"/") factor)*
    factor  := number | "sqrt" "(" sum ")" | "(" sum ")" | "H" digits ["@" digits]

`Hk` is the probabilists' He_k of the first index; `Hk@j` that of the j-th orthonormal index, so
`"H1@1*H1@2"` is a product of two linear indices. Only a number may divide or be rooted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from onegrad.exceptions import InvalidInput

MAX_FORMULA_LENGTH = 400
_MAX_DEGREE, _MAX_INDEX, _MAX_DEPTH, _MAX_TERMS = 40, 8, 20, 64

Monomial = tuple[tuple[int, int], ...]  # sorted ((index, degree), ...); () is the constant 1
Combination = dict[Monomial, float]

_TOKEN = re.compile(
    r"\s*(?:(?P<hermite>[Hh](?P<degree>\d{1,9})(?:@(?P<index>\d{1,9}))?(?![\w.]))"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?(?![\w.]))"
    r"|(?P<sqrt>sqrt(?!\w))|(?P<sign>[-+*/()]))"
)


def looks_like_formula(text: str) -> bool:
    """Return whether the text is meant as a combination rather than a registered name."""
    return re.search(r"(?<![A-Za-z_])[Hh]\d", text) is not None


def parse_formula(text: str) -> Combination:
    """Return the combination as {monomial: coefficient}; raise InvalidInput if it is malformed."""
    if len(text) > MAX_FORMULA_LENGTH:
        raise InvalidInput("formula", text, f"at most {MAX_FORMULA_LENGTH} characters long")
    parser = _Parser(text)
    combination = parser.sum(0)
    if parser.next is not None:
        raise parser.error("an operator is missing")
    return {m: c for m, c in combination.items() if c != 0.0}


class _Parser:
    """Recursive descent over the tokens; every rule returns a Combination."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[re.Match[str]] = []
        self.position = 0
        end = 0
        while text[end:].strip():
            match = _TOKEN.match(text, end)
            if match is None:
                raise self.error("it cannot be read", end)
            self.tokens.append(match)
            end = match.end()

    @property
    def next(self) -> re.Match[str] | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def error(self, problem: str, position: int | None = None) -> InvalidInput:
        """Return the exception for a problem at this position, or at the next token."""
        if position is None:
            position = self.next.start() if self.next else len(self.text)
        near = self.text[position : position + 12].strip() or "the end"
        syntax = "allowed are numbers, sqrt(), Hk or Hk@j, + - * / and parentheses"
        return InvalidInput("formula", self.text, problem=f"{problem} at {near!r}; {syntax}")

    def sign(self, allowed: str) -> str | None:
        """Consume and return the next token if it is one of these signs."""
        sign = self.next and self.next["sign"]
        if sign is None or sign not in allowed:
            return None
        self.position += 1
        return str(sign)

    def expect_closing(self) -> None:
        if self.sign(")") is None:
            raise self.error("a closing parenthesis is missing")

    def sum(self, depth: int) -> Combination:
        if depth > _MAX_DEPTH:
            raise self.error(f"more than {_MAX_DEPTH} nested parentheses")
        total: Combination = {}
        sign: str | None = self.sign("+-") or "+"
        while sign is not None:
            factor = -1.0 if sign == "-" else 1.0
            for monomial, c in self.product(depth).items():
                total[monomial] = total.get(monomial, 0.0) + factor * c
            if len(total) > _MAX_TERMS:
                raise self.error(f"more than {_MAX_TERMS} terms")
            sign = self.sign("+-")
        return self.checked(total)

    def product(self, depth: int) -> Combination:
        left = self.factor(depth)
        while (operator := self.sign("*/")) is not None:
            right = self.factor(depth)
            if operator == "/":
                divisor = self.number(right, "only a number may divide")
                if divisor == 0.0:
                    raise self.error("division by zero")
                right = {(): 1.0 / divisor}
            left = self.times(left, right)
        return self.checked(left)

    def factor(self, depth: int) -> Combination:
        match = self.next
        if self.sign("(") is not None:
            inner = self.sum(depth + 1)
            self.expect_closing()
            return inner
        if match is None or match["sign"] is not None:
            raise self.error("a term is missing")
        self.position += 1
        if match["number"] is not None:
            return self.checked({(): float(match["number"])})
        if match["sqrt"] is not None:
            if self.sign("(") is None:
                raise self.error("sqrt needs a parenthesis")
            radicand = self.number(self.sum(depth + 1), "only a number may be rooted")
            self.expect_closing()
            if radicand < 0.0:
                raise self.error("square root of a negative number")
            return {(): math.sqrt(radicand)}
        degree, index = int(match["degree"]), int(match["index"] or 1)
        if degree > _MAX_DEGREE or not 1 <= index <= _MAX_INDEX:
            self.position -= 1
            raise self.error(f"degree must be <= {_MAX_DEGREE} and index 1 to {_MAX_INDEX}")
        return {(((index, degree),) if degree else ()): 1.0}

    def times(self, left: Combination, right: Combination) -> Combination:
        if len(left) * len(right) > _MAX_TERMS**2:
            raise self.error(f"more than {_MAX_TERMS} terms")
        product: Combination = {}
        for m1, c1 in left.items():
            for m2, c2 in right.items():
                if {i for i, _ in m1} & {i for i, _ in m2}:
                    raise self.error("a product of two polynomials of the same index")
                monomial = tuple(sorted(m1 + m2))
                product[monomial] = product.get(monomial, 0.0) + c1 * c2
        return product

    def number(self, value: Combination, problem: str) -> float:
        """Return the combination as a number; the problem is that it is not one."""
        if any(monomial for monomial, c in value.items() if c != 0.0):
            raise self.error(problem)
        return value.get((), 0.0)

    def checked(self, value: Combination) -> Combination:
        if len(value) > _MAX_TERMS:
            raise self.error(f"more than {_MAX_TERMS} terms")
        if not all(math.isfinite(c) for c in value.values()):
            raise self.error("a coefficient overflows")
        return value


def index_count(monomials: Iterable[Monomial]) -> int:
    """Return the number of indices that these monomials read, at least one."""
    return max((i for monomial in monomials for i, _ in monomial), default=1)
