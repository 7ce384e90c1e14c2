"""Learners of parts: what they learn from, and what held-out rows choose from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from onegrad.arrays import Floats
from onegrad.tables.fitting.candidates import Candidate
from onegrad.tables.fitting.training_set import TrainingSet
from onegrad.tables.parts.part import Part

MANY_ROWS = 8_000  # from which larger parts, and further searches for neurons, pay
MANY_CLASSES = 10  # from which they do


@dataclass(frozen=True, kw_only=True)
class FitSize:
    """The size of a fit, which decides how parts are learned."""

    rows: int  # of the sample
    inputs: int  # on one scale
    copies: int  # scales
    outputs: int
    labels: bool
    budget: str  # "fast", "default" or "best"
    patience: int | None  # without improvement; None: that of each part


@dataclass(frozen=True)
class LearnedPart:
    """A part by name, times its weight: as held-out rows chose it, and what the model has."""

    name: str
    judged: Part  # has not seen the held-out rows
    final: tuple[Part, ...]  # have seen all rows of the sample
    detail: Any = None  # which one of several trials it is

    def scaled(self, factor: float) -> LearnedPart:
        """Return the part whose scores are multiplied by a factor."""
        final = tuple(part.scaled(factor) for part in self.final)
        return replace(self, judged=self.judged.scaled(factor), final=final)


@dataclass(frozen=True)
class Trial:
    """Scores of held-out rows that a part gives before it has seen them; its weight is one."""

    predicted: Floats  # (m, K)
    judged: Part | None  # None: the final part, which leaves rows out by their keys
    relearn: Callable[[], Sequence[Part]]  # from all rows: parts whose mean is predicted
    detail: Any = None

    def learned(self, name: str, weight: float) -> LearnedPart:
        """Return the part times its weight, learned again from all rows."""
        final = self.relearn()
        parts = tuple(part.scaled(weight / len(final)) for part in final)
        judged = parts[0] if self.judged is None else self.judged.scaled(weight)
        return LearnedPart(name, judged, parts, self.detail)


@dataclass(frozen=True)
class PartFit:
    """Everything that a part is learned from."""

    training_set: TrainingSet
    judged: TrainingSet  # with the held-out rows that judged the candidates, often fewer
    best: Candidate
    seed: int  # of the keys of rows
    member: int  # number in the committee

    def random_numbers(self, *purpose: int) -> np.random.Generator:
        """Return the random numbers of one purpose."""
        return np.random.default_rng([self.seed, *purpose, self.member])


class Learner(ABC):
    """A way to learn a part, in a fit of some size."""

    # standard errors by which a part must lower the loss. With a half, networks are chosen on a
    # line with noise, and errors are 0.996 (classes) and 1.003 (numbers) of what they are
    min_errors: ClassVar[float] = 1.0
    # of the logits, where held-out rows are too few to weigh parts; zero where it is not tried then
    share_of_few: ClassVar[float] = 0.0

    @abstractmethod
    def trials(self, fit: PartFit) -> Iterable[Trial]:
        """Yield what held-out rows choose from: nothing where it cannot help."""
