"""The figures that there are: NAME.toml says what is computed, NAME.py draws it.

Both lie in figures/; adding them adds a figure. Dashes in a figure's name are underscores in its
files' names.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

from onegrad.errors import InvalidInput, did_you_mean
from onegrad.experiments import figures
from onegrad.experiments.figures import Drawing
from onegrad.experiments.results import Results
from onegrad.experiments.spec import Spec, read_spec

HERE = Path(figures.__file__).parent


def specs(wanted: Sequence[str] = (), *, quick: bool = False) -> dict[str, Spec]:
    """What the wanted figures compute, in the report's order; all when none is named."""
    known: dict[str, Spec] = {}
    for path in sorted(HERE.glob("*.toml")):
        name, spec = path.stem.replace("_", "-"), read_spec(path, quick=quick)
        known[name] = Spec(name, spec.grids, spec.about)
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known) or f"allowed are {', '.join(known)}"
            raise InvalidInput(f"FIGURE {name!r:.60} is not known; {hint}")
    ordered = sorted(known, key=lambda name: known[name].about.get("order", 99))
    return {name: known[name] for name in ordered if not wanted or name in wanted}


def draw(name: str, results: Results) -> Drawing:
    """Draw a figure from finished cells."""
    module = importlib.import_module(f"{figures.__name__}.{name.replace('-', '_')}")
    drawing: Drawing = module.draw(results)
    return drawing
