"""The place that the names of `onegrad.tables` had in 0.3."""

from typing import Any

from onegrad import tables
from onegrad.exceptions import warn


def __getattr__(name: str) -> Any:
    """Return a name of `onegrad.tables`, with a warning that this module goes."""
    if name.startswith("_") or name not in tables.__all__:
        raise AttributeError(f"onegrad.tables has no {name!r}")
    text = f"import {name} from onegrad.tables: onegrad.estimators and onegrad.data go in 0.5"
    warn(DeprecationWarning(text))
    return getattr(tables, name)
