"""The figures that there are: NAME.toml says what is computed, NAME.py draws it.

Both lie in a folder of studies/, which is the figure's group; adding them adds a figure. Dashes in
a figure's name are underscores in its files' names.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

from onegrad.exceptions import case_insensitive, not_a_choice
from onegrad.experiments.results import Results
from onegrad.experiments.spec import Spec, read_spec
from onegrad.studies.drawing import Drawing
from onegrad.studies.measures import MEASURES

HERE = Path(__file__).parent
DEFAULT = "papers"  # the group that is meant when none is named


def files() -> dict[str, Path]:
    """The specs of all figures, by name."""
    return {path.stem.replace("_", "-"): path for path in sorted(HERE.glob("*/*.toml"))}


def group_of(name: str) -> str:
    """The folder that a figure lies in."""
    return files()[name].parent.name


def groups() -> list[str]:
    """The folders that figures lie in, the default first."""
    found = {path.parent.name for path in files().values()}
    return sorted(found, key=lambda group: (group != DEFAULT, group))


def specs(
    wanted: Sequence[str] = (), *, quick: bool = False, seeds: int | None = None
) -> dict[str, Spec]:
    """What the wanted figures compute, in the report's order.

    A group stands for its figures; nothing stands for the papers' group. With seeds, a point has at
    most that many, in whole cells.
    """
    known = files()
    allowed = (*known, *groups())
    names: set[str] = set()
    for given in wanted or (DEFAULT,):
        name = case_insensitive(given.replace("_", "-"), allowed)
        members = {figure for figure in known if name in (figure, group_of(figure))}
        if not members:
            raise not_a_choice("FIGURE", given, allowed)
        names |= members
    read = {name: read_spec(known[name], MEASURES, quick=quick).limited(seeds) for name in names}
    order = {n: (groups().index(group_of(n)), s.about.get("order", 99)) for n, s in read.items()}
    return {n: Spec(n, read[n].grids, read[n].about) for n in sorted(read, key=order.__getitem__)}


def draw(name: str, results: Results) -> Drawing:
    """Draw a figure from finished cells."""
    module = importlib.import_module(f"onegrad.studies.{group_of(name)}.{name.replace('-', '_')}")
    drawing: Drawing = module.draw(results)
    return drawing
