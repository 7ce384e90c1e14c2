"""From what is written to the function that is meant.

A function is named (`"tanh"`), written as a Hermite combination (`"H1 + 0.5*H2"`) or given as a
Python callable. It is centred under N(0, 1) unless the name ends in `:raw`; `:unit` also scales it
to unit variance.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from onegrad.arrays import Array
from onegrad.exceptions import InvalidInput, case_insensitive, not_a_choice
from onegrad.functions import formula
from onegrad.functions.function import Callback, Function, HermiteSum, MultiIndex
from onegrad.functions.named import NAMED

Spec = Any  # a string, a Function, a MultiIndex, a callable, or a pair (callable, derivative)

MODES = ("centred", "raw", "unit")
LARGEST = 1e60  # second moment; squares of it must stay far from overflow

REGISTRY: dict[str, Function] = {f.name: f for f in NAMED}


def register(function: Function) -> None:
    """Make a raw function available by its name, on the command line of this process too.

    Examples
    --------
    >>> import numpy as np
    >>> import onegrad as og
    >>> og.register(og.Function("bump", lambda x: np.exp(-x**2), lambda x: -2*x * np.exp(-x**2)))
    >>> og.Problem(n=100, d=50, N=80, activation="bump").sigma.name
    'bump'
    """
    if not function.name.isidentifier() or function.name in REGISTRY:
        taken = f"a new identifier (taken: {', '.join(REGISTRY)})"
        raise InvalidInput("name", function.name, taken)
    REGISTRY[function.name] = function
    _resolve_text.cache_clear()


def resolve(spec: Spec, argument: str = "activation") -> Function | MultiIndex:
    """The function that a specification means, centred or scaled as it asks.

    `spec` is a name, a Hermite combination, a Function (taken as it is), a callable, or a pair
    (callable, derivative); callables are centred.
    """
    if isinstance(spec, Function | MultiIndex):
        return spec
    if isinstance(spec, str):
        return _resolve_text(spec, argument)
    value, slope = spec if isinstance(spec, tuple) and len(spec) == 2 else (spec, None)
    if not callable(value) or not (slope is None or callable(slope)):
        allowed = "a name, a Hermite combination, or a callable with its derivative"
        raise InvalidInput(argument, spec, allowed)
    if slope is None and argument == "activation":
        raise InvalidInput(argument, spec, "a callable with its derivative: (f, df)")
    hashable = isinstance(value, Hashable) and isinstance(slope, Hashable)
    return (_resolve_callable if hashable else _from_callable)(value, slope, argument)


def _from_callable(value: Callback, slope: Callback | None, argument: str) -> Function:
    name = getattr(value, "__name__", "callable")
    return _adjusted(Function(name, value, slope or _no_slope), "centred", argument)


_resolve_callable = lru_cache(maxsize=64)(_from_callable)  # every point of a grid asks again


def _no_slope(x: Array) -> Array:
    raise InvalidInput("teacher", problem="this function was given without a derivative")


@lru_cache(maxsize=1024)
def _resolve_text(text: str, argument: str) -> Function | MultiIndex:
    if len(text) > formula.MAX_LENGTH:
        raise InvalidInput(argument, text, f"at most {formula.MAX_LENGTH} characters long")
    base, _, mode = text.partition(":")
    base, mode = case_insensitive(base.strip(), REGISTRY), mode.strip().lower() or "centred"
    if mode not in MODES:
        raise InvalidInput(argument, text, problem="after ':' comes raw, unit or centred")
    if base in REGISTRY:
        name = f"{base}:{mode}" if ":" in text else base
        return _adjusted(replace(REGISTRY[base], name=name), mode, argument)
    if not formula.looks_like_formula(base):
        more = " or a Hermite combination such as 'H1 + H2/sqrt(2)'"
        raise not_a_choice(argument, base, REGISTRY, more)
    text = text.replace("h", "H")  # nothing else in a formula has one
    try:
        combination = formula.parse(base)
    except InvalidInput as error:
        raise InvalidInput(argument, text, problem=error.problem) from None
    if formula.indices(combination) == 1:
        degrees = {m[0][1] if m else 0: c for m, c in combination.items()}
        c = tuple(degrees.get(k, 0.0) for k in range(max(degrees, default=0) + 1))
        sum_ = HermiteSum(c)
        return _adjusted(Function(text, sum_, sum_.derivative, polynomial=c), mode, argument)
    if argument == "activation":
        raise InvalidInput(argument, text, "a function of one number: Hk@j is for teachers")
    if mode != "raw":
        combination.pop((), None)
    teacher = MultiIndex(text, tuple(sorted(combination.items())))
    if mode == "unit":
        norm = math.sqrt(teacher.second_moment)
        teacher = MultiIndex(text, tuple((m, c / norm) for m, c in teacher.terms))
    return teacher


def _adjusted(f: Function, mode: str, argument: str) -> Function:
    """f centred, or centred and scaled to unit variance, or as it is."""
    if not math.isfinite(f.second_moment):
        raise InvalidInput(argument, f.name, problem="no finite second moment under N(0, 1)")
    if f.second_moment > LARGEST:
        excess = f"second moment {f.second_moment:.1e} under N(0, 1); at most {LARGEST:.0e}"
        raise InvalidInput(argument, f.name, problem=f"{excess} is allowed")
    if mode == "raw":
        return f
    mean = float(f.c[0])
    centred = replace(f, offset=mean, homogeneous=f.homogeneous and mean == 0.0)
    if mode == "centred":
        return centred
    if centred.variance == 0.0:
        raise InvalidInput(argument, f.name, problem="a constant has no unit variance")
    return replace(centred, scale=1 / math.sqrt(centred.variance))
