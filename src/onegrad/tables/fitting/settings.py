"""The interface between a fit and a family of estimators, and checks of shared parameters."""

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from onegrad.exceptions import InvalidInput
from onegrad.tables.fitting.candidates import Candidates
from onegrad.tables.fitting.training_set import TrainingSet
from onegrad.tables.parts.learner import Learner


@dataclass(frozen=True)
class FitPlan:
    """Plan of a fit for its sample; by default that of one plain network."""

    scale: str  # of the inputs (see scale_sample)
    members: int = 1  # networks, each with its own random numbers and held-out rows
    max_candidates: int = 1  # that are tried at most, in all networks
    chooses: bool = True  # whether there is anything to choose on held-out rows
    # of the rows that make the first-layer update and nothing else; None if all do both
    step_share: float | None = None
    intercept: bool = True  # whether the readout has a free constant


class FirstLayerFamily(Protocol):
    """The module of a family; `parameters` are those of one of its estimators."""

    def check(self, parameters: Any, /) -> None:
        """Raise InvalidInput unless the parameters are allowed."""

    def plan(self, parameters: Any, rows: int, outputs: int, /) -> FitPlan:
        """Return how a sample of so many rows is used, for so many outputs."""

    def learn(self, _: TrainingSet, parameters: Any, rng: np.random.Generator, /) -> Candidates:
        """Return the first layers that were tried."""

    def part_learners(self, parameters: Any, _: TrainingSet, /) -> Mapping[str, Learner] | None:
        """Return what is learned beside the network, by name; None where nothing is."""

    def describe(self, choice: Mapping[str, Any], /) -> list[tuple[str, str]]:
        """Return the lines of a report, by name, on what was chosen."""


MAX_WHOLE = 2.0**31  # of counts of rows, neurons and rounds: arrays of more have no address


def check_parameter(
    name: str, value: Any, low: float, high: float = math.inf, integer: bool = False
) -> None:
    """Raise InvalidInput unless the value is a number between low and high."""
    kind, high = (numbers.Integral, min(high, MAX_WHOLE)) if integer else (numbers.Real, high)
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= float(value) <= high:
        noun = "a whole number" if integer else "a number"
        upper = "" if high == math.inf else f" and <= {high:g}"
        raise InvalidInput(name, value, f"{noun} >= {low:g}{upper}")


def check_layer(width: Any, clip: Any, ridge: Any) -> None:
    """Check the parameters that every family has."""
    check_parameter("width", width, 1, integer=True)
    check_parameter("clip", clip, 0)
    if ridge != "auto":
        check_parameter("ridge", ridge, np.finfo(float).tiny)


def number_or_none(value: float | str) -> float | None:
    """Return the number, or None for "auto"."""
    return None if isinstance(value, str) else float(value)
