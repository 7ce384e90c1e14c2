"""The table of theories: what `predict`, pictures, the command line and the explorer know of each.

A theory is a function and one entry here: its name, the fields of Problem that it takes into
account, and how its curve is drawn. A problem with any other field off its default is refused, so
that no field is ever ignored in silence.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from onegrad.exceptions import InvalidInput
from onegrad.pictures.style import DASH_DOTS, LONG_DASHES, SHORT_DASHES, SOLID
from onegrad.problem import FIELDS, Problem
from onegrad.theory.asymptotic.outliers import limiting_spectrum
from onegrad.theory.asymptotic.random_features import random_feature_errors, small_step_errors
from onegrad.theory.asymptotic.staircase import staircase_errors
from onegrad.theory.prediction import Errors
from onegrad.theory.spectral_law import Spectrum
from onegrad.theory.uniform import uniform_errors, uniform_spectrum
from onegrad.theory.uniform.concerns import ERROR_FIELDS, UNIFORM_FIELDS
from onegrad.theory.uniform.spectrum import SPECTRUM_FIELDS

# the theorems are also evaluated outside their assumptions, with a warning
ASYMPTOTIC_FIELDS = (*UNIFORM_FIELDS, "inputs", "steps", "update", "ridge_rows")


@dataclass(frozen=True)
class Theory:
    """A theory of training and test errors.

    Parameters
    ----------
    name : its name in `og.predict(problem, theory=name)`.
    function : errors of a sequence of problems, as columns.
    fields : the fields of Problem that it reads, or warns about.
    label : its name in legends; by default the name.
    dash : matplotlib's line style of its curves.
    jumps : whether its curves jump at the thresholds of alpha.
    about : one line that a legend may add to the label.
    max_alpha : the largest step exponent at which the explorer draws it.
    regime : what a theory of a limit assumes of the step; with one, `og.predict` warns where the
        theory is far from the uniform one.
    """

    name: str
    function: Callable[[Sequence[Problem]], Errors]
    fields: tuple[str, ...]
    label: str = ""
    dash: Any = SOLID
    jumps: bool = False
    about: str = ""
    max_alpha: float = math.inf
    regime: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.name)


THEORIES: dict[str, Theory] = {
    theory.name: theory
    for theory in (
        Theory("uniform", uniform_errors, ERROR_FIELDS),
        Theory(
            "staircase",
            staircase_errors,
            ASYMPTOTIC_FIELDS,
            dash=LONG_DASHES,
            jumps=True,
            about="the limit n → ∞: flat between the thresholds",
            regime="n → ∞ is assumed, with alpha strictly between two thresholds",
        ),
        Theory(
            "small-step",
            small_step_errors,
            ASYMPTOTIC_FIELDS,
            dash=DASH_DOTS,
            about="the limit n → ∞ for a step of order one",
            max_alpha=0.1,
            regime="n → ∞ is assumed, with a step of order one",
        ),
        Theory(
            "random-features",
            random_feature_errors,
            ASYMPTOTIC_FIELDS,
            dash=SHORT_DASHES,
            regime="n → ∞ is assumed, without a step",
        ),
    )
}
# theories of the spectrum: a function, and the fields of Problem that it reads
SPECTRUM_METHODS: dict[str, tuple[Callable[[Problem], Spectrum], tuple[str, ...]]] = {
    "uniform": (uniform_spectrum, SPECTRUM_FIELDS),
    "asymptotic": (limiting_spectrum, ASYMPTOTIC_FIELDS),
}


def register_theory(theory: Theory) -> Theory:
    """Add a theory to the table, so that `og.predict` knows its name, and return it.

    Examples
    --------
    >>> import onegrad as og
    >>> from onegrad.theory import THEORIES, Theory, register_theory
    >>> standard = THEORIES["random-features"]
    >>> mine = register_theory(Theory("mine", standard.function, standard.fields))
    >>> og.predict(og.Problem(n=100, d=50, N=80), theory="mine").theory
    'mine'
    >>> del THEORIES["mine"]
    """
    if theory.name in THEORIES and THEORIES[theory.name] != theory:
        raise InvalidInput("name", theory.name, problem="another theory has this name")
    unknown = sorted(set(theory.fields) - set(FIELDS))
    if unknown:
        raise InvalidInput("fields", unknown[0], f"among {', '.join(FIELDS)}")
    return THEORIES.setdefault(theory.name, theory)
