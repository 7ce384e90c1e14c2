"""The table of parts that a prediction may have, by name, in the order in which they are tried."""

from collections.abc import Callable
from dataclasses import dataclass

from onegrad.tables.parts.head import Head, LogisticRegression
from onegrad.tables.parts.learner import FitSize, Learner
from onegrad.tables.parts.neighbours import Neighbours, NeighbourSearch
from onegrad.tables.parts.networks import CodedNetwork, CodedTraining
from onegrad.tables.parts.part import Part
from onegrad.tables.parts.trees import BoostedTrees, Boosting


@dataclass(frozen=True)
class PartKind:
    """One row: a part, how it is learned in a fit of some size, and how reports name a trial."""

    part: type[Part]
    learner: Callable[[FitSize], Learner | None]  # None where it is not worth its time
    detail: str = "{}"


# neighbours come before the parts that stay as they are: held-out rows join them after the fit
PART_KINDS: dict[str, PartKind] = {
    "head": PartKind(Head, LogisticRegression.of),
    "neighbours": PartKind(Neighbours, lambda _: NeighbourSearch(), "distance of number {}"),
    "networks": PartKind(CodedNetwork, CodedTraining.of),
    "trees": PartKind(BoostedTrees, Boosting.of),
}


def learners(size: FitSize) -> dict[str, Learner]:
    """Return how each part is learned, by name, in a fit of some size."""
    by_name = {name: kind.learner(size) for name, kind in PART_KINDS.items()}
    return {name: learner for name, learner in by_name.items() if learner is not None}


def name_of(part: Part) -> str:
    """Return the name of a part in the table."""
    return next(name for name, kind in PART_KINDS.items() if type(part) is kind.part)
