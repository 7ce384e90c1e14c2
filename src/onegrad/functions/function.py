"""Activations and teachers: value, derivative, kinks, and their Hermite coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from onegrad.arrays import Array, Floats, namespace
from onegrad.functions import hermite

ArrayFunction = Callable[[Array], Array]
InPlaceFunction = Callable[[Array, Array], object]  # (x, out): values in out, which may be x
Monomial = tuple[tuple[int, int], ...]  # sorted ((index, degree), ...); () is the constant 1

MAX_HERMITE_DEGREE = 64  # of the coefficients that a function keeps ready: theories sum up to it
_MAX_TERMS_SHOWN = 4
_MIN_SHARE_SHOWN = 1e-6  # of the mean square


@dataclass(frozen=True, repr=False)
class Function:
    r"""An activation or a teacher, :math:`x \mapsto s\,(f(x) - m)`, entry by entry.

    Parameters
    ----------
    name : name or formula.
    value, slope : f and its derivative, on NumPy arrays and torch tensors alike.
    kinks : the points at which f is not smooth; quadrature breaks there.
    offset, scale : m and s.
    polynomial : exact Hermite coefficients of f where it is a finite combination.
    value_in_place, slope_in_place : f and its derivative written to a second NumPy array without
        temporaries; that array may be x.
    homogeneous : whether the function takes t x to t times its value at x for every t > 0.
    continuous : False if f jumps at a kink; an activation may not.

    Examples
    --------
    >>> import onegrad as og
    >>> square = og.Function("square", lambda x: x**2, lambda x: 2 * x)
    >>> square
    Function('square': 1 + H2)
    >>> round(float(square.c[2]), 12)
    1.0
    """

    name: str
    value: ArrayFunction
    slope: ArrayFunction
    kinks: tuple[float, ...] = ()
    offset: float = 0.0
    scale: float = 1.0
    polynomial: tuple[float, ...] | None = None
    value_in_place: InPlaceFunction | None = None
    slope_in_place: InPlaceFunction | None = None
    homogeneous: bool = False
    continuous: bool = True

    def __repr__(self) -> str:
        return f"Function({self.name!r}: {hermite_text(self)})"

    def __call__(self, x: Array, out: Array | None = None) -> Array:
        """Return the values, written to `out` if it is given; `out` may be x."""
        return self._scaled(self.value, self.value_in_place, self.offset, x, out)

    def derivative(self, x: Array, out: Array | None = None) -> Array:
        return self._scaled(self.slope, self.slope_in_place, 0.0, x, out)

    def _scaled(
        self,
        f: ArrayFunction,
        in_place: InPlaceFunction | None,
        offset: float,
        x: Array,
        out: Array | None,
    ) -> Array:
        """Return s (f(x) - offset)."""
        # what changes nothing takes no pass over memory: no offset, no factor of one
        if out is None:
            y = f(x)
            y = y - offset if offset else y
            return y if self.scale == 1.0 else self.scale * y
        if in_place is None:
            out[...] = f(x)
        else:
            in_place(x, out)
        if offset:
            out -= offset
        if self.scale != 1.0:
            out *= self.scale
        return out

    indices: ClassVar[int] = 1  # that a teacher of this kind reads

    def labels(self, U: Array) -> Array:
        """Return the labels of indices U of shape (..., 1)."""
        return self(U[..., 0])

    @cached_property
    def c(self) -> Floats:
        r"""Hermite coefficients :math:`c_k = E[\sigma He_k]/k!`, k = 0..64."""
        if self.polynomial is None:
            c = hermite.hermite_coefficients(self, MAX_HERMITE_DEGREE, self.kinks)
        else:
            c = np.zeros(MAX_HERMITE_DEGREE + 1)
            c[: len(self.polynomial)] = self.scale * np.asarray(self.polynomial)
            c[0] -= self.scale * self.offset
        c.flags.writeable = False
        return c

    @cached_property
    def second_moment(self) -> float:
        r""":math:`E\sigma(Z)^2 = \sum_k k!\,c_k^2`."""
        if self.polynomial is not None:
            return self._energy(lambda _: 1)
        return hermite.expect(lambda x: self(x) ** 2, self.kinks)

    @cached_property
    def variance(self) -> float:
        r""":math:`c_\star^2 = E\sigma^2 - c_0^2`."""
        return max(self.second_moment - float(self.c[0]) ** 2, 0.0)

    @cached_property
    def nonlinear_energy(self) -> float:
        r""":math:`c_{>1}^2 = E\sigma^2 - c_0^2 - c_1^2`, a difference and never a truncated sum."""
        if self.polynomial is not None:
            return self._energy(lambda k: k > 1)
        # the sum of k! c_k^2 to degree 40 lacks 4e-4 of relu: its coefficients decay slowly
        return max(self.variance - float(self.c[1]) ** 2, 0.0)

    @cached_property
    def slope_second_moment(self) -> float:
        r""":math:`E\sigma'(Z)^2 = \sum_k k\,k!\,c_k^2`."""
        if self.polynomial is not None:
            return self._energy(lambda k: k)
        return hermite.expect(lambda x: self.derivative(x) ** 2, self.kinks)

    def _energy(self, weight: Callable[[int], int]) -> float:
        """Return the sum of weight(k) k! c_k^2, exact for polynomials."""
        energies = (weight(k) * math.factorial(k) * c * c for k, c in enumerate(self.c) if c)
        return float(sum(energies))


@dataclass(frozen=True, repr=False)
class MultiIndex:
    """A teacher that reads several orthonormal indices.

    Parameters
    ----------
    name : the formula.
    terms : pairs of a monomial ((index, degree), ...) and its coefficient.
    """

    name: str
    terms: tuple[tuple[Monomial, float], ...]

    def __repr__(self) -> str:
        return f"MultiIndex({self.name!r}: {hermite_text(self)})"

    @property
    def indices(self) -> int:
        """Number of indices."""
        return index_count(monomial for monomial, _ in self.terms)

    def __call__(self, U: Array) -> Array:
        """Return the labels of indices U of shape (..., indices)."""
        xp = namespace(U)
        total = xp.zeros_like(U[..., 0])
        for monomial, coefficient in self.terms:
            product = coefficient * xp.ones_like(total)
            for index, degree in monomial:
                he_k = HermiteSum((*[0.0] * degree, 1.0))
                product = product * he_k(U[..., index - 1])
            total = total + product
        return total

    labels = __call__  # as a Function of one index has them

    @property
    def second_moment(self) -> float:
        return self._energy(0)

    @property
    def variance(self) -> float:
        return self._energy(1)

    @property
    def nonlinear_energy(self) -> float:
        """Mean square of the part that is neither constant nor linear."""
        return self._energy(2)

    def _energy(self, lowest: int) -> float:
        """Return the mean square of the terms of this degree or higher."""
        return sum(c * c * mean_square(m) for m, c in self.terms if sum(k for _, k in m) >= lowest)


def mean_square(monomial: Monomial) -> int:
    """Return the mean square of a product of Hermite polynomials, that of its factorials."""
    return math.prod(math.factorial(k) for _, k in monomial)


def index_count(monomials: Iterable[Monomial]) -> int:
    """Return the number of indices that these monomials read, at least one."""
    return max((i for monomial in monomials for i, _ in monomial), default=1)


@dataclass(frozen=True)
class HermiteSum:
    """The function x -> sum_k c_k He_k(x), by Clenshaw's recurrence.

    It runs on NumPy arrays and torch tensors because labels are made on the device;
    hermite.normalised_hermite, which returns every degree for quadrature, is for NumPy only.
    """

    c: tuple[float, ...]

    def __call__(self, x: Array) -> Array:
        # b_k = c_k + x b_{k+1} - (k+1) b_{k+2};  the value is b_0
        # the constant in the type and on the device of x
        if len(self.c) == 1:
            return 0.0 * x + self.c[0]
        after: Array = 0.0
        next_: Array = self.c[-1]
        for k in range(len(self.c) - 2, -1, -1):
            after, next_ = next_, self.c[k] + x * next_ - (k + 1) * after
        return next_

    @property
    def derivative(self) -> HermiteSum:
        """Derivative, by He_k' = k He_{k-1}."""
        return HermiteSum(tuple(k * c for k, c in enumerate(self.c))[1:] or (0.0,))


def with_hermite_sum(f: Function | MultiIndex) -> str:
    """Return the name of a function, followed by its Hermite sum where that is exact and new.

    >>> from onegrad.functions import resolve
    >>> with_hermite_sum(resolve("x^3 - 3*x")), with_hermite_sum(resolve("H1 + H2/sqrt(2)"))
    ('x^3 - 3*x = H3', 'H1 + H2/sqrt(2)')
    """
    exact = isinstance(f, Function) and f.polynomial is not None
    return f"{f.name} = {hermite_text(f)}" if exact and "x" in f.name else f.name


def hermite_text(f: Function | MultiIndex) -> str:
    """Return the first terms of a function in the Hermite basis.

    >>> from onegrad.functions import resolve
    >>> hermite_text(resolve("x^3 - 2*x"))
    'H1 + H3'
    >>> hermite_text(resolve("tanh(2*x)"))
    '0.729*H1 - 0.102*H3 + 0.013*H5 - 0.00133*H7 + ...'
    """
    if isinstance(f, MultiIndex):
        names = {m: "*".join(f"H{k}@{i}" for i, k in m) for m, _ in f.terms}
        terms = [(names[m], c, c * c * mean_square(m)) for m, c in f.terms]
    else:
        terms = [
            (f"H{k}" if k else "", float(c), float(c) ** 2 * math.factorial(k))
            for k, c in enumerate(f.c)
        ]
    visible = [(n, c) for n, c, e in terms if e > _MIN_SHARE_SHOWN * f.second_moment]
    text = ""
    for name, c in visible[:_MAX_TERMS_SHOWN]:
        sign = " - " if c < 0 else " + "
        size = f"{abs(c):.3g}"
        text += sign + (name if name and size == "1" else f"{size}*{name}" if name else size)
    # a sign in front of all stands close to its term
    text = text[3:] if text.startswith(" + ") else text.replace(" - ", "-", 1)
    return (text or "0") + (" + ..." if len(visible) > _MAX_TERMS_SHOWN else "")
