"""Settings of a family: parameters of its estimators as a frozen, checked value."""

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from onegrad.exceptions import InvalidInput
from onegrad.tables.fitting.candidates import Candidates
from onegrad.tables.fitting.training_set import TrainingSet
from onegrad.tables.parts.learner import Learner

SettingsType = TypeVar("SettingsType")


@dataclass(frozen=True)
class FitPlan:
    """Plan of a fit for its sample; by default that of one plain network.

    Parameters
    ----------
    scale : of the inputs (see scale_sample).
    members : networks, each with its own random numbers and held-out rows.
    max_candidates : that are tried at most, in all networks.
    chooses : whether there is anything to choose on held-out rows.
    step_share : of the rows that make the first-layer update and nothing else; None if all do both.
    """

    scale: str
    members: int = 1
    max_candidates: int = 1
    chooses: bool = True
    step_share: float | None = None


class Settings(ABC):
    """Everything that the fit of a family asks of its settings."""

    intercept: bool  # whether the readout has a free constant

    @abstractmethod
    def plan(self, rows: int, outputs: int, /) -> FitPlan:
        """Return how a sample of so many rows is used, for so many outputs."""

    def part_learners(self, _: TrainingSet, /) -> Mapping[str, Learner] | None:
        """Return what is learned beside the network, by name; None where nothing is."""
        return None


# a learner of first layers: training set, settings of its family, random numbers
Learn = Callable[[TrainingSet, Any, np.random.Generator], Candidates]


def settings_from(kind: type[SettingsType], estimator: Any, **others: Any) -> SettingsType:
    """Return settings whose fields are parameters of the estimator, and others."""
    parameters = {**estimator.get_params(deep=False), **others}
    return kind(**{f.name: parameters[f.name] for f in fields(kind)})  # type: ignore[arg-type]


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
