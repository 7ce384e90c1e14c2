"""The studies that there are: NAME.toml says what is computed and what is said, NAME.py draws it.

Both lie in a folder of this package, which is the study's group; adding them adds a study. Dashes
in a study's name are underscores in the names of its files.
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from onegrad.exceptions import case_insensitive, not_a_choice
from onegrad.experiments.checks import Check
from onegrad.experiments.results import Results
from onegrad.experiments.spec import Spec, read_spec
from onegrad.studies.findings import Facts
from onegrad.studies.measures import MEASURES
from onegrad.studies.measures.data_sets import has_images

HERE = Path(__file__).parent
DEFAULT_GROUP = "papers"


@dataclass(frozen=True)
class Study:
    """A figure of a paper or an open question.

    Its module has `draw(results)`, which returns a matplotlib figure, and where there is something
    to verify or to say `checks(results)` and `facts(results)`. The TOML may name the module of
    another study of the group instead of having one.
    """

    name: str
    group: str
    spec: Spec

    @property
    def title(self) -> str:
        return str(self.spec.text.get("title", self.name))

    @property
    def module(self) -> ModuleType:
        name = self.spec.module or self.name.replace("-", "_")
        return importlib.import_module(f"onegrad.studies.{self.group}.{name}")

    def draw(self, results: Results) -> Any:
        """Return the matplotlib figure of finished cells."""
        return self.module.draw(results)

    def checks(self, results: Results) -> list[Check]:
        """Return the comparisons of theory and simulation; an empty list if there are none."""
        return list(self.module.checks(results)) if hasattr(self.module, "checks") else []

    def facts(self, results: Results) -> Facts:
        """Return the numbers that the study's texts quote."""
        return dict(self.module.facts(results)) if hasattr(self.module, "facts") else {}


def files() -> dict[str, Path]:
    """Return the TOML files of all studies by name; the folder of each is its group."""
    return {path.stem.replace("_", "-"): path for path in sorted(HERE.glob("*/*.toml"))}


def groups() -> list[str]:
    """Return the names of the groups, the default group first."""
    names = {path.parent.name for path in files().values()}
    return sorted(names, key=lambda group: (group != DEFAULT_GROUP, group))


def select(
    names: Sequence[str] = (), *, quick: bool = False, seeds: int | None = None
) -> dict[str, Study]:
    """Return the studies of these names, in the order of the report.

    The name of a group stands for its studies; without names it is the papers' group. With seeds, a
    point has at most about that many, in whole cells.
    """
    paths, all_groups = files(), groups()
    selected: set[str] = set()
    for text in names or (DEFAULT_GROUP,):
        name = case_insensitive(text.replace("_", "-"), (*paths, *all_groups))
        members = {study for study, path in paths.items() if name in (study, path.parent.name)}
        if not members:
            raise not_a_choice("FIGURE", text, (*paths, *all_groups))
        selected |= members
    studies = []
    for name in selected:
        spec = read_spec(paths[name], MEASURES, quick=quick).limited(seeds)
        # grids whose images cannot be read here are left out; the study's text says so
        grids = (grid for grid in spec.grids if has_images(str(grid.options.get("data", ""))))
        studies.append(Study(name, paths[name].parent.name, replace(spec, grids=tuple(grids))))
    studies.sort(key=lambda study: (all_groups.index(study.group), study.spec.order))
    return {study.name: study for study in studies}
