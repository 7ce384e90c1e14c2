"""The figures: NAME.toml says what is computed, NAME.py draws it. Adding both adds a figure.

Dashes in a figure's name are underscores in its files' names.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onegrad.errors import InvalidInput, did_you_mean
from onegrad.experiments.checks import Check
from onegrad.experiments.results import Results
from onegrad.experiments.spec import Spec, read_spec

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Drawing:
    """What a figure's module returns: the picture, its checks, and remarks with numbers."""

    figure: Any  # matplotlib.figure.Figure
    checks: Sequence[Check] = ()
    notes: Sequence[str] = field(default_factory=tuple)


def names() -> list[str]:
    """All figures, in the order of the report."""
    specs = [(read_spec(path).about.get("order", 99), path.stem) for path in HERE.glob("*.toml")]
    return [stem.replace("_", "-") for _, stem in sorted(specs)]


def chosen(wanted: Sequence[str]) -> list[str]:
    """The wanted figures in the report's order; all when none is named."""
    known = names()
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known) or f"allowed are {', '.join(known)}"
            raise InvalidInput(f"FIGURE {name!r:.60} is not known; {hint}")
    return [name for name in known if not wanted or name in wanted]


def spec_of(name: str, *, quick: bool = False) -> Spec:
    """What a figure computes."""
    path = HERE / f"{name.replace('-', '_')}.toml"
    spec = read_spec(path, quick=quick)
    return Spec(name, spec.grids, spec.about)


def draw(name: str, results: Results) -> Drawing:
    """Draw a figure from finished cells."""
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    drawing: Drawing = module.draw(results)
    return drawing
