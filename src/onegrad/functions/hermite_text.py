"""A function written as a sum of Hermite polynomials, for people to read."""

from __future__ import annotations

import math

from onegrad.functions.function import Function, MultiIndex, mean_square

_MAX_TERMS_SHOWN = 4
_MIN_SHARE_SHOWN = 1e-6  # of the mean square


def with_hermite_sum(f: Function | MultiIndex) -> str:
    """Return the name of a function, followed by its Hermite sum where that is exact and new.

    >>> from onegrad.functions import resolve
    >>> with_hermite_sum(resolve("x^3 - 3*x")), with_hermite_sum(resolve("H1 + H2/sqrt(2)"))
    ('x^3 - 3*x = H3', 'H1 + H2/sqrt(2)')
    """
    exact = isinstance(f, MultiIndex) or f.polynomial is not None
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
    text = text[3:] if text.startswith(" + ") else text.replace(" - ", "-", 1)
    return (text or "0") + (" + ..." if len(visible) > _MAX_TERMS_SHOWN else "")
