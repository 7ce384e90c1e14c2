"""Values of Python and NumPy as values of JSON."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def json_values(value: Any, not_finite: Callable[[float], Any] = lambda _: None) -> Any:
    """Return JSON values: arrays become lists, dataclasses tables, and keys text.

    not_finite : replaces NaN and infinities, for which JSON has no number: by null if nothing else
        is given; `str` keeps them as text.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): json_values(v, not_finite) for k, v in value.items()}
    # before lists and floats: an array becomes lists, a number of NumPy one of Python
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [json_values(v, not_finite) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return not_finite(value)
    return value
