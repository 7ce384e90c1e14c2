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
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from functools import partial

from onegrad.exceptions import InvalidInput, case_insensitive, closest
from onegrad.functions.expression import (
    MAX_DEGREE,
    Expression,
    ExpressionError,
    add,
    compose,
    constant,
    divide,
    hermite_polynomial,
    multiply,
    power,
    square_root,
)
from onegrad.functions.function import Function

MAX_FORMULA_LENGTH = 400
_MAX_INDEX, _MAX_DEPTH = 8, 20  # not tuned: what a person writes stays far below
_SYNTAX = "allowed are numbers, x or xj, Hk or Hk@j, names of functions, + - * / ^ and parentheses"
_TOKEN = re.compile(
    r"\s*(?:(?P<hermite>[Hh]e?(?P<degree>\d{1,9})(?:@(?P<index>\d{1,9}))?(?![\w.]))"
    r"|(?P<variable>[Xx](?P<place>\d{0,9})(?![\w.]))"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?(?![\w.]))"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*(?![.]))|(?P<sign>\*\*|[-+*/^()]))"
)
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
