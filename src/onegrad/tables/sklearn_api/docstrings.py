"""Docstrings of the estimators: what several of them share is written once, on their bases.

scikit-learn reads the parameters of an estimator from its signature; people read all of them on one
page, and in `help`.
"""

import inspect
import re
from typing import Any, TypeVar

EstimatorClass = TypeVar("EstimatorClass", bound=type[Any])
HEADING = re.compile(r"^(\w+)\n-+\n", re.M)


def sections(kind: type[Any]) -> dict[str, str]:
    """Return the sections of a class's own docstring by name; "" is what stands before them."""
    about, *rest = HEADING.split(inspect.cleandoc(vars(kind).get("__doc__") or ""))
    texts = map(str.strip, rest[1::2])
    return {"": about.strip(), **dict(zip(rest[::2], texts, strict=True))}


def with_shared_sections(kind: EstimatorClass) -> EstimatorClass:
    """Give a class the parameters and attributes that it and its bases describe.

    They come in the order of the bases. The description of a derived class counts: the same
    parameter may do more there.
    """
    own = sections(kind)
    if "Examples" not in own:  # python -OO, where dataclasses write a docstring of their own
        return kind
    text = [own[""]]
    for name in ("Parameters", "Attributes"):
        entries: dict[str, str] = {}
        for base in kind.__mro__:
            described = sections(base).get(name) if base.__module__.startswith("onegrad.") else None
            for entry in re.split(r"\n(?=\S)", described or ""):
                entries.setdefault(entry.partition(" :")[0], entry)
        text.append(_section(name, "\n".join(filter(None, entries.values()))))
    kind.__doc__ = "\n\n".join([*text, _section("Examples", own["Examples"])]) + "\n"
    return kind


def _section(name: str, text: str) -> str:
    return f"{name}\n{'-' * len(name)}\n{text}"
