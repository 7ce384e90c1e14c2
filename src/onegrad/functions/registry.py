"""The registry of named functions, and the function that a specification stands for.

A specification is a name (`"tanh"`), a formula (`"H1 + 0.5*H2"`, `"tanh(2*x)"`) or a Python
callable. An activation and every named function are centred under N(0, 1); a teacher that is
written out, as a formula or a callable, is taken as it is: its constant is part of the label.
After the text, `:raw` keeps the mean, `:centred` takes it off, and `:unit` also scales to unit
variance.
"""

import math
import re
from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from onegrad.arrays import Array
from onegrad.exceptions import InvalidInput, case_insensitive, not_a_choice
from onegrad.functions import formula
from onegrad.functions.function import ArrayFunction, Function, HermiteSum, MultiIndex, index_count
from onegrad.functions.named import FORMULA_FUNCTIONS, NAMED_FUNCTIONS

FunctionSpec = str | Function | MultiIndex | ArrayFunction | tuple[ArrayFunction, ArrayFunction]

_MODES = ("centred", "raw", "unit")
_MAX_SECOND_MOMENT = 1e60  # its square and that of a sum of many must stay far from overflow
# E sin(kx)^2 is right to 3e-9 up to this k, and to 3e-6 at 140; sin(1000000*x) took 7 s to predict
_MAX_FREQUENCY, _ROUNDING = 120, 1e-12

REGISTRY: dict[str, Function] = {f.name: f for f in NAMED_FUNCTIONS}


def register(function: Function) -> None:
    """Make a function available by name, in this process and on its command line.

    Examples
    --------
    >>> import numpy as np
    >>> import onegrad as og
    >>> og.register(og.Function("bump", lambda x: np.exp(-x**2), lambda x: -2*x * np.exp(-x**2)))
    >>> og.Problem(n=100, d=50, N=80, activation="bump").sigma.name
    'bump'
    """
    if not function.name.isidentifier() or function.name in REGISTRY:
        allowed = f"a new identifier (taken: {', '.join(REGISTRY)})"
        raise InvalidInput("name", function.name, allowed)
    REGISTRY[function.name] = function
    _resolve_text.cache_clear()


def resolve(spec: FunctionSpec, argument: str = "activation") -> Function | MultiIndex:
    """Return the function that a specification stands for, centred or scaled as it says.

    Parameters
    ----------
    spec : a name, a formula, a Function (returned unchanged), a callable, or a pair
        (callable, derivative).
    argument : name of the argument in exceptions; an activation must have a derivative.
    """
    if isinstance(spec, Function | MultiIndex):
        return spec
    if isinstance(spec, str):
        return _resolve_text(spec, argument)
    value, slope = spec if isinstance(spec, tuple) and len(spec) == 2 else (spec, None)
    if not callable(value) or not (slope is None or callable(slope)):
        raise InvalidInput(argument, spec, "a name, a formula, or a callable with its derivative")
    if slope is None and argument == "activation":
        raise InvalidInput(argument, spec, "a callable with its derivative: (f, df)")
    # a callable without a hash cannot be a key of the cache, and is resolved at every use
    hashable = isinstance(value, Hashable) and isinstance(slope, Hashable)
    return (_resolve_callable if hashable else _from_callable)(value, slope, argument)


def resolve_activation(spec: FunctionSpec) -> Function:
    """Return the activation that a specification stands for: a function of one number."""
    function = resolve(spec, "activation")
    if not isinstance(function, Function):
        raise InvalidInput("activation", function.name, "a function of one number")
    return function


def _from_callable(value: ArrayFunction, slope: ArrayFunction | None, argument: str) -> Function:
    name = getattr(value, "__name__", "callable")
    mode = "raw" if argument == "teacher" else "centred"
    return _adjusted(Function(name, value, slope or _no_slope), mode, argument)


_resolve_callable = lru_cache(maxsize=64)(_from_callable)  # called for every point of a grid


def _no_slope(_: Array) -> Array:
    raise InvalidInput("teacher", problem="this function was given without a derivative")


@lru_cache(maxsize=1024)  # a grid resolves the same few texts at every point
def _resolve_text(text: str, argument: str) -> Function | MultiIndex:
    if len(text) > formula.MAX_FORMULA_LENGTH:
        raise InvalidInput(argument, text, f"at most {formula.MAX_FORMULA_LENGTH} characters long")
    base, _, mode = text.partition(":")
    base, mode = case_insensitive(base.strip(), REGISTRY), mode.strip().lower()
    mode = mode or ("raw" if argument == "teacher" and base not in REGISTRY else "centred")
    if mode not in _MODES:
        raise InvalidInput(argument, text, problem="after ':' must come raw, unit or centred")
    if base in REGISTRY:
        name = f"{base}:{mode}" if ":" in text else base
        return _adjusted(replace(REGISTRY[base], name=name), mode, argument)
    functions = {f.name: f for f in FORMULA_FUNCTIONS} | REGISTRY
    is_name = re.fullmatch(r"\w*", base) and not re.fullmatch(r"[Xx]\d*|[Hh]e?\d+", base)
    if is_name and base.lower() not in functions:
        more = " or a formula such as 'H1 + H2/sqrt(2)' or 'tanh(2*x)'"
        raise not_a_choice(argument, base, REGISTRY, more)
    # He2, he2 and h2 are one function, also to those who compare names
    text = re.sub(r"(?<![A-Za-z_])[Hh]e?(?=\d)", "H", text)
    try:
        expression = formula.parse_formula(base, functions)
    except InvalidInput as error:
        raise InvalidInput(argument, text, problem=error.problem) from None
    if isinstance(expression, formula.Composed):
        function = expression.named(text)
        adjusted = _adjusted(function, mode, argument)
        _check_averages(function, argument)
        return adjusted
    combination = dict(expression.terms)
    if index_count(combination) == 1:
        c = expression.coefficients
        sum_ = HermiteSum(c)
        return _adjusted(Function(text, sum_, sum_.derivative, polynomial=c), mode, argument)
    if argument == "activation":
        allowed = "a function of one number: several indices are for teachers"
        raise InvalidInput(argument, text, allowed)
    if mode != "raw":
        combination.pop((), None)
    teacher = MultiIndex(text, tuple(sorted(combination.items())))
    if mode == "unit":
        norm = math.sqrt(teacher.second_moment)
        teacher = MultiIndex(text, tuple((m, c / norm) for m, c in teacher.terms))
    return teacher


def _check_averages(f: Function, argument: str) -> None:
    """Raise InvalidInput for a formula that varies too fast for averages over N(0, 1)."""
    floor = _ROUNDING * f.second_moment  # of what is constant but for rounding
    if f.slope_second_moment > _MAX_FREQUENCY**2 * (f.variance + floor):
        problem = f"it varies faster than sin({_MAX_FREQUENCY}*x): its averages are not computed"
        raise InvalidInput(argument, f.name, problem=problem)


def _adjusted(f: Function, mode: str, argument: str) -> Function:
    """Return f centred, or also scaled to unit variance, or unchanged, by mode."""
    if argument == "activation" and not f.continuous:
        raise InvalidInput(argument, f.name, problem="a function with jumps has no useful gradient")
    with np.errstate(all="ignore"):  # what overflows has no finite second moment
        finite = math.isfinite(f.second_moment)
    if not finite:
        raise InvalidInput(argument, f.name, problem="no finite second moment under N(0, 1)")
    if f.second_moment > _MAX_SECOND_MOMENT:
        problem = f"its second moment under N(0, 1) is above {_MAX_SECOND_MOMENT:.0e}"
        raise InvalidInput(argument, f.name, problem=problem)
    if mode == "raw":
        return f
    mean = float(f.c[0])
    # what is homogeneous is not any more with a constant taken off
    centred = replace(f, offset=mean, homogeneous=f.homogeneous and mean == 0.0)
    if mode == "centred":
        return centred
    if centred.variance == 0.0:
        raise InvalidInput(argument, f.name, problem="a constant has no unit variance")
    return replace(centred, scale=1 / math.sqrt(centred.variance))
