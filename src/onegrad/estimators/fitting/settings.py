"""Parameters of estimators: what is allowed, and the recipe that they make."""

from __future__ import annotations

import math
import numbers
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from onegrad.exceptions import InvalidInput

R = TypeVar("R")


def recipe_of(kind: type[R], estimator: Any, **others: Any) -> R:
    """The recipe whose fields are parameters of the estimator, and others."""
    parameters = {**estimator.get_params(deep=False), **others}
    return kind(**{f.name: parameters[f.name] for f in fields(kind)})  # type: ignore[arg-type]


def check_number(
    name: str, value: Any, low: float, high: float = math.inf, whole: bool = False
) -> None:
    kind = numbers.Integral if whole else numbers.Real
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= float(value) <= high:
        what = "a whole number" if whole else "a number"
        upper = "" if high == math.inf else f" and <= {high:g}"
        raise InvalidInput(name, value, f"{what} >= {low:g}{upper}")


def check_layer(width: Any, clip: Any, ridge: Any) -> None:
    """What every recipe has."""
    check_number("width", width, 1, whole=True)
    check_number("clip", clip, 0)
    if ridge != "auto":
        check_number("ridge", ridge, np.finfo(float).tiny)


def given(value: float | str) -> float | None:
    """The number, or None for "auto"."""
    return None if isinstance(value, str) else float(value)
