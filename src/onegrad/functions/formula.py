"""Formulas such as `"H1 + H2/sqrt(2)"` or `"tanh(2*x) + x^2"`: parsed, never evaluated.

    sum     := ["+"|"-"] product (("+"|"-") product)*
    product := power (("*"|"/") power)*
    power   := factor [("^"|"**") digits]
    factor  := number | "pi" | "x" [digits] | "H" digits ["@" digits] | "(" sum ")"
             | "sqrt" "(" sum ")" | name ["(" sum ")"]

`x` is the index of the teacher, or the input of an activation; `x1`, `x2`, ... are orthonormal
indices, of which `x` is the first. `Hk` is the probabilists' He_k of `x`, `Hk@j` that of `xj`. A
name is that of a registered function, applied to `x` unless parentheses follow. Only a number may
be rooted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from onegrad.exceptions import InvalidInput, case_insensitive, closest
from onegrad.functions.expression import (
    MAX_DEGREE,
    Expression,
    ExpressionError,
    Polynomial,
    add,
    compose,
    constant,
    divide,
    hermite_polynomial,
    multiply,
    power,
)
from onegrad.functions.function import Function

MAX_FORMULA_LENGTH = 400
_MAX_INDEX, _MAX_DEPTH = 8, 20
T = TypeVar("T")

_TOKEN = re.compile(
    r"\s*(?:(?P<hermite>[Hh]e?(?P<degree>\d{1,9})(?:@(?P<index>\d{1,9}))?(?![\w.]))"
    r"|(?P<variable>[Xx](?P<place>\d{0,9})(?![\w.]))"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?(?![\w.]))"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*(?![.]))|(?P<sign>\*\*|[-+*/^()]))"
)


def looks_like_formula(text: str) -> bool:
    """Return whether the text is meant as a formula rather than a registered name."""
    is_name = re.fullmatch(r"\w*", text) and not re.fullmatch(r"[Xx]\d*|[Hh]e?\d+", text)
    return not is_name


def parse_formula(text: str, functions: Mapping[str, Function]) -> Expression:
    """Return the expression that a formula stands for; raise InvalidInput if it is malformed."""
    if len(text) > MAX_FORMULA_LENGTH:
        raise InvalidInput("formula", text, f"at most {MAX_FORMULA_LENGTH} characters long")
    parser = _Parser(text, functions)
    expression = parser.sum(0)
    if parser.next is not None:
        raise parser.error("an operator is missing")
    return expression


class _Parser:
    """Recursive descent over the tokens; every rule returns an expression."""

    def __init__(self, text: str, functions: Mapping[str, Function]) -> None:
        self.text = text
        self.functions = functions
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
        syntax = (
            "allowed are numbers, x or xj, Hk or Hk@j, names of functions, + - * / ^ and "
            "parentheses"
        )
        return InvalidInput("formula", self.text, problem=f"{problem} at {near!r}; {syntax}")

    def apply(self, rule: Callable[..., T], *arguments: object) -> T:
        """Combine expressions; an error names the place in the formula."""
        try:
            return rule(*arguments)
        except ExpressionError as error:
            raise self.error(str(error)) from None

    def sign(self, *allowed: str) -> str | None:
        """Consume and return the next token if it is one of these signs."""
        sign = self.next and self.next["sign"]
        if sign is None or sign not in allowed:
            return None
        self.position += 1
        return str(sign)

    def parenthesis(self, depth: int) -> Expression:
        """Return the sum before a closing parenthesis; the opening one is consumed already."""
        inner = self.sum(depth + 1)
        if self.sign(")") is None:
            raise self.error("a closing parenthesis is missing")
        return inner

    def sum(self, depth: int) -> Expression:
        if depth > _MAX_DEPTH:
            raise self.error(f"more than {_MAX_DEPTH} nested parentheses")
        total: Expression = constant(0.0)
        sign: str | None = self.sign("+", "-") or "+"
        while sign is not None:
            total = self.apply(add, total, self.product(depth), -1.0 if sign == "-" else 1.0)
            sign = self.sign("+", "-")
        return total

    def product(self, depth: int) -> Expression:
        left = self.power(depth)
        while (operator := self.sign("*", "/")) is not None:
            right = self.power(depth)
            left = self.apply(divide if operator == "/" else multiply, left, right)
        return left

    def power(self, depth: int) -> Expression:
        base = self.factor(depth)
        if self.sign("^", "**") is None:
            return base
        match = self.next
        if match is None or match["number"] is None or not match["number"].isdigit():
            raise self.error("an exponent must be a whole number")
        self.position += 1
        return self.apply(power, base, int(match["number"][:9]))

    def factor(self, depth: int) -> Expression:
        match = self.next
        if self.sign("(") is not None:
            return self.parenthesis(depth)
        if match is None or match["sign"] is not None:
            raise self.error("a term is missing")
        if match["hermite"] is not None or match["variable"] is not None:
            degree = int(match["degree"] or 1)
            index = int(match["index"] or match["place"] or 1)
            if degree > MAX_DEGREE or not 1 <= index <= _MAX_INDEX:
                raise self.error(f"degree must be <= {MAX_DEGREE} and index 1 to {_MAX_INDEX}")
            self.position += 1
            return hermite_polynomial(degree, index)
        if match["number"] is not None:
            self.position += 1
            return self.apply(constant, float(match["number"]))
        return self.named(match["name"], depth)

    def named(self, name: str, depth: int) -> Expression:
        """Return pi, the root of a number, or a registered function of x or of a sum."""
        name = case_insensitive(name, (*self.functions, "sqrt", "pi"))
        if name not in (*self.functions, "sqrt", "pi"):
            near = closest(name, self.functions)
            suggestion = f" (did you mean {near}?)" if near else ""
            raise self.error(f"unknown name{suggestion}")
        self.position += 1
        if name == "pi":
            return constant(math.pi)
        if name == "sqrt":
            if self.sign("(") is None:
                raise self.error("sqrt needs a parenthesis")
            return constant(self.root(self.parenthesis(depth)))
        inner = self.parenthesis(depth) if self.sign("(") else hermite_polynomial(1)
        return self.apply(compose, self.functions[name], inner)

    def root(self, radicand: Expression) -> float:
        number = radicand.number if isinstance(radicand, Polynomial) else None
        if number is None:
            raise self.error("sqrt takes only a number")
        if number < 0.0:
            raise self.error("square root of a negative number")
        return math.sqrt(number)
