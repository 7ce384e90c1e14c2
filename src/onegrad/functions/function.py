"""Activations and teachers: value, derivative, kinks, and their Hermite coefficients.

A function is named (`"tanh"`), written as a Hermite combination (`"H1 + 0.5*H2"`) or given as a
Python callable. It is centred under N(0, 1) unless the name ends in `:raw`; `:unit` also scales it
to unit variance.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.special

from onegrad.arrays import Array, erf, namespace, one_minus_square
from onegrad.errors import InvalidInput
from onegrad.functions import formula, hermite

Callback = Callable[[Array], Array]
Spec = Any  # a string, a Function, a MultiIndex, a callable, or a pair (callable, derivative)

DEGREE = 64  # Hermite coefficients that are kept ready
LARGEST = 1e60  # second moment; squares of it must stay far from overflow


@dataclass(frozen=True)
class Function:
    r"""The function :math:`x \mapsto s\,(f(x) - m)`, applied entry by entry.

    Parameters
    ----------
    name : how it is written.
    value, slope : f and its derivative, on NumPy arrays and torch tensors alike.
    kinks : the points at which f is not smooth; quadrature breaks there.
    offset, scale : m and s.
    polynomial : exact Hermite coefficients of f where it is a finite combination.
    """

    name: str
    value: Callback
    slope: Callback
    kinks: tuple[float, ...] = ()
    offset: float = 0.0
    scale: float = 1.0
    polynomial: tuple[float, ...] | None = None

    def __call__(self, x: Array, out: Array | None = None) -> Array:
        """The values, made in `out` where it is given; `out` may be x."""
        return self._scaled(self.value, self.offset, x, out)

    def derivative(self, x: Array, out: Array | None = None) -> Array:
        return self._scaled(self.slope, 0.0, x, out)

    def _scaled(self, f: Callback, offset: float, x: Array, out: Array | None) -> Array:
        """s (f(x) - offset)."""
        if out is None:
            y = f(x)
            y = y - offset if offset else y
            return y if self.scale == 1.0 else self.scale * y
        in_place = _IN_PLACE.get(id(f))
        if in_place is None:
            out[...] = f(x)
        else:
            in_place(x, out)
        if offset:
            out -= offset
        if self.scale != 1.0:
            out *= self.scale
        return out

    @property
    def homogeneous(self) -> bool:
        """Whether f(t x) = t f(x) for every t > 0, as far as is known."""
        return self.offset == 0 and any(self.value is f for f in (_same, _relu, _leaky))

    @cached_property
    def c(self) -> hermite.Floats:
        r"""Hermite coefficients :math:`c_k = E[\sigma He_k]/k!`, k = 0..64."""
        if self.polynomial is None:
            c = hermite.coefficients(self, DEGREE, self.kinks)
        else:
            c = np.zeros(DEGREE + 1)
            c[: len(self.polynomial)] = self.scale * np.asarray(self.polynomial)
            c[0] -= self.scale * self.offset
        c.flags.writeable = False
        return c

    @cached_property
    def second_moment(self) -> float:
        r""":math:`E\sigma(Z)^2 = \sum_k k!\,c_k^2`."""
        if self.polynomial is not None:
            return float(sum(math.factorial(k) * c * c for k, c in enumerate(self.c) if c))
        return hermite.expect(lambda x: self(x) ** 2, self.kinks)

    @cached_property
    def variance(self) -> float:
        r""":math:`c_\star^2 = E\sigma^2 - c_0^2`."""
        return max(self.second_moment - float(self.c[0]) ** 2, 0.0)

    @cached_property
    def nonlinear_energy(self) -> float:
        r""":math:`c_{>1}^2 = E\sigma^2 - c_0^2 - c_1^2`, a difference and never a truncated sum."""
        if self.polynomial is not None:
            return float(
                sum(math.factorial(k) * c * c for k, c in enumerate(self.c) if c and k > 1)
            )
        return max(self.variance - float(self.c[1]) ** 2, 0.0)

    @cached_property
    def slope_second_moment(self) -> float:
        r""":math:`E\sigma'(Z)^2 = \sum_k k\,k!\,c_k^2`."""
        if self.polynomial is not None:
            return float(sum(k * math.factorial(k) * c * c for k, c in enumerate(self.c) if c))
        return hermite.expect(lambda x: self.derivative(x) ** 2, self.kinks)


@dataclass(frozen=True)
class MultiIndex:
    """A teacher that reads several orthonormal indices: {((index, degree), ...): coefficient}."""

    name: str
    terms: tuple[tuple[formula.Monomial, float], ...]

    @property
    def indices(self) -> int:
        return formula.indices(dict(self.terms))

    def __call__(self, U: Array) -> Array:
        """Labels from the indices U, shape (..., indices)."""
        xp = namespace(U)
        total = xp.zeros_like(U[..., 0])
        for monomial, coefficient in self.terms:
            product = coefficient * xp.ones_like(total)
            for index, degree in monomial:
                product = product * _hermite(U[..., index - 1], degree)
            total = total + product
        return total

    @property
    def second_moment(self) -> float:
        return sum(c * c * math.prod(math.factorial(k) for _, k in m) for m, c in self.terms)


def _hermite(x: Array, degree: int) -> Array:
    """He_degree(x) on any array type."""
    previous, current = namespace(x).ones_like(x), x
    if degree == 0:
        return previous
    for k in range(1, degree):
        previous, current = current, x * current - k * previous
    return current


@dataclass(frozen=True)
class HermiteSum:
    """x -> sum_k c_k He_k(x), by Clenshaw's recurrence."""

    c: tuple[float, ...]

    def __call__(self, x: Array) -> Array:
        # b_k = c_k + x b_{k+1} - (k+1) b_{k+2};  the value is b_0
        after, next_ = 0.0 * x, 0.0 * x
        for k in range(len(self.c) - 1, -1, -1):
            after, next_ = next_, self.c[k] + x * next_ - (k + 1) * after
        return next_

    @property
    def derivative(self) -> HermiteSum:
        """He_k' = k He_{k-1}."""
        return HermiteSum(tuple(k * c for k, c in enumerate(self.c))[1:] or (0.0,))


def _same(x: Array) -> Array:
    return x


def _one(x: Array) -> Array:
    return 0.0 * x + 1


IDENTITY = Function("identity", _same, _one)


def _tanh(x: Array) -> Array:
    return namespace(x).tanh(x)


def _tanh_slope(x: Array) -> Array:
    return one_minus_square(namespace(x).tanh(x))


def _erf_slope(x: Array) -> Array:
    return (2 / math.sqrt(math.pi)) * namespace(x).exp(-x * x)


def _erf2(x: Array) -> Array:
    return erf(x * math.sqrt(0.5))


def _erf2_slope(x: Array) -> Array:
    return math.sqrt(2 / math.pi) * namespace(x).exp(-0.5 * x * x)


def _relu(x: Array) -> Array:
    return namespace(x).clip(x, 0, None)


def _relu_slope(x: Array) -> Array:
    return (x > 0) * (0.0 * x + 1)


def _leaky(x: Array) -> Array:
    return namespace(x).where(x > 0, x, 0.01 * x)


def _leaky_slope(x: Array) -> Array:
    return 0.01 + 0.99 * _relu_slope(x)


def _softplus(x: Array) -> Array:
    xp = namespace(x)
    return xp.clip(x, 0, None) + xp.log1p(xp.exp(-xp.abs(x)))


def _sigmoid(x: Array) -> Array:
    return 0.5 + 0.5 * namespace(x).tanh(0.5 * x)


def _sigmoid_slope(x: Array) -> Array:
    return 0.25 * one_minus_square(namespace(x).tanh(0.5 * x))


def _gelu(x: Array) -> Array:
    return x * (0.5 + 0.5 * _erf2(x))


def _gelu_slope(x: Array) -> Array:
    return 0.5 + 0.5 * _erf2(x) + 0.5 * x * _erf2_slope(x)


def _silu(x: Array) -> Array:
    return x * _sigmoid(x)


def _silu_slope(x: Array) -> Array:
    return _sigmoid(x) + x * _sigmoid_slope(x)


def _sin(x: Array) -> Array:
    return namespace(x).sin(x)


def _cos(x: Array) -> Array:
    return namespace(x).cos(x)


def _minus_sin(x: Array) -> Array:
    return -namespace(x).sin(x)


def _arctan(x: Array) -> Array:
    return namespace(x).arctan(x)


def _arctan_slope(x: Array) -> Array:
    return 1 / (1 + x * x)


def _elu(x: Array) -> Array:
    xp = namespace(x)
    return xp.where(x > 0, x, xp.expm1(xp.clip(x, None, 0)))


def _elu_slope(x: Array) -> Array:
    xp = namespace(x)
    return xp.exp(xp.clip(x, None, 0))


def _hardtanh(x: Array) -> Array:
    return namespace(x).clip(x, -1, 1)


def _hardtanh_slope(x: Array) -> Array:
    return (namespace(x).abs(x) < 1) * (0.0 * x + 1)


def _tanh_slope_in_place(x: Array, out: Array) -> None:
    np.tanh(x, out=out)
    out *= out
    np.subtract(1, out, out=out)


def _erf_in_place(x: Array, out: Array) -> None:
    scipy.special.erf(x, out=out)


def _relu_in_place(x: Array, out: Array) -> None:
    np.maximum(x, 0, out=out)


def _relu_slope_in_place(x: Array, out: Array) -> None:
    np.heaviside(x, 0, out=out)


# the functions of most simulations, without temporaries on NumPy arrays; out may be x
_IN_PLACE: dict[int, Callable[[Array, Array], object]] = {
    id(_tanh): np.tanh,
    id(_tanh_slope): _tanh_slope_in_place,
    id(erf): _erf_in_place,
    id(_relu): _relu_in_place,
    id(_relu_slope): _relu_slope_in_place,
}

REGISTRY: dict[str, Function] = {
    f.name: f
    for f in (
        Function("tanh", _tanh, _tanh_slope),
        Function("erf", erf, _erf_slope),
        Function("erf2", _erf2, _erf2_slope),  # erf(x / sqrt 2)
        Function("relu", _relu, _relu_slope, kinks=(0.0,)),
        Function("leaky_relu", _leaky, _leaky_slope, kinks=(0.0,)),
        Function("elu", _elu, _elu_slope, kinks=(0.0,)),
        Function("hardtanh", _hardtanh, _hardtanh_slope, kinks=(-1.0, 1.0)),
        Function("softplus", _softplus, _sigmoid),
        Function("sigmoid", _sigmoid, _sigmoid_slope),
        Function("gelu", _gelu, _gelu_slope),
        Function("silu", _silu, _silu_slope),
        Function("sin", _sin, _cos),
        Function("cos", _cos, _minus_sin),
        Function("arctan", _arctan, _arctan_slope),
    )
}

MODES = ("centred", "raw", "unit")


def register(function: Function) -> None:
    """Make a raw function available by its name, on the command line of this process too."""
    if not function.name.isidentifier() or function.name in REGISTRY:
        raise InvalidInput(
            f"name must be a new identifier (taken: {', '.join(REGISTRY)}); got {function.name!r}"
        )
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
        raise InvalidInput(
            f"{argument} must be a name, a Hermite combination, or a callable with its derivative; "
            f"got {spec!r:.60}"
        )
    if slope is None and argument == "activation":
        raise InvalidInput(f"{argument} is a callable without its derivative: give (f, df)")
    hashable = isinstance(value, Hashable) and isinstance(slope, Hashable)
    return (_resolve_callable if hashable else _from_callable)(value, slope, argument)


def _from_callable(value: Callback, slope: Callback | None, argument: str) -> Function:
    name = getattr(value, "__name__", "callable")
    return _adjusted(Function(name, value, slope or _no_slope), "centred", argument)


_resolve_callable = lru_cache(maxsize=64)(_from_callable)  # every point of a grid asks again


def _no_slope(x: Array) -> Array:
    raise InvalidInput("this teacher was given without a derivative")


@lru_cache(maxsize=1024)
def _resolve_text(text: str, argument: str) -> Function | MultiIndex:
    if len(text) > formula.MAX_LENGTH:
        raise InvalidInput(
            f"{argument} is {len(text)} characters long; at most {formula.MAX_LENGTH} are allowed"
        )
    base, _, mode = text.partition(":")
    base, mode = base.strip(), mode.strip() or "centred"
    if mode not in MODES:
        raise InvalidInput(f"{argument} {text!r:.60}: after ':' comes raw, unit or centred")
    if base in REGISTRY:
        return _adjusted(replace(REGISTRY[base], name=text), mode, argument)
    if not formula.looks_like_formula(base):
        near = difflib.get_close_matches(base, REGISTRY, 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise InvalidInput(
            f"{argument} must be one of {', '.join(REGISTRY)} or a Hermite combination such as "
            f"'H1 + H2/sqrt(2)'; got {text!r:.60}{hint}"
        )
    try:
        combination = formula.parse(base)
    except InvalidInput as error:
        raise InvalidInput(f"{argument}: {error}") from None
    if formula.indices(combination) == 1:
        degrees = {m[0][1] if m else 0: c for m, c in combination.items()}
        c = tuple(degrees.get(k, 0.0) for k in range(max(degrees, default=0) + 1))
        sum_ = HermiteSum(c)
        return _adjusted(Function(text, sum_, sum_.derivative, polynomial=c), mode, argument)
    if argument == "activation":
        raise InvalidInput(f"activation acts on one number: Hk@j is for teachers; got {text!r:.60}")
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
        raise InvalidInput(f"{argument} {f.name!r:.60} has no finite second moment under N(0, 1)")
    if f.second_moment > LARGEST:
        raise InvalidInput(
            f"{argument} {f.name!r:.60} has second moment {f.second_moment:.1e} under N(0, 1); "
            f"at most {LARGEST:.0e} is allowed"
        )
    if mode == "raw":
        return f
    centred = replace(f, offset=float(f.c[0]))
    if mode == "centred":
        return centred
    if centred.variance == 0.0:
        raise InvalidInput(f"{argument} {f.name!r:.60} is constant: it has no unit variance")
    return replace(centred, scale=1 / math.sqrt(centred.variance))
