"""Settings of a family: parameters of its estimators as a frozen, checked value."""

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from onegrad.exceptions import InvalidInput
from onegrad.tables.fitting.candidates import Candidates
from onegrad.tables.fitting.training_set import ScaledSample, TrainingSet
from onegrad.tables.parts.learner import Learner

SettingsType = TypeVar("SettingsType")
ScaleSample = Callable[[str], ScaledSample]  # a scale of the inputs -> the sample on it


class Settings(ABC):
    """Everything that the fit of a family asks of its settings; by default, one plain network."""

    intercept: bool  # whether the readout has a free constant

    @property
    def chooses(self) -> bool:
        """True if there is anything to choose on held-out rows."""
        return True

    @property
    def fresh_step_share(self) -> float | None:
        """Share of the rows that make the first-layer update and nothing else; None if all do."""
        return None

    @abstractmethod
    def choose_inputs(self, scale_sample: ScaleSample, /) -> ScaledSample:
        """Return the sample with inputs on the scale that the settings ask for."""

    @abstractmethod
    def max_candidates(self, sample: ScaledSample, /) -> int:
        """Return how many candidates are tried at most, in all networks."""

    def committee_size(self, _: ScaledSample, /) -> int:
        """Return the number of networks, each with its own random numbers and held-out rows."""
        return 1

    def part_learners(self, _: TrainingSet, /) -> Mapping[str, Learner] | None:
        """Return what is learned beside the network, by name; None where nothing is."""
        return None


# a learner of first layers: training set, settings of its family, random numbers
Learn = Callable[[TrainingSet, Any, np.random.Generator], Candidates]


def settings_from(kind: type[SettingsType], estimator: Any, **others: Any) -> SettingsType:
    """Return settings whose fields are parameters of the estimator, and others."""
    parameters = {**estimator.get_params(deep=False), **others}
    return kind(**{f.name: parameters[f.name] for f in fields(kind)})  # type: ignore[arg-type]


def check_parameter(
    name: str, value: Any, low: float, high: float = math.inf, integer: bool = False
) -> None:
    """Raise InvalidInput unless the value is a number between low and high."""
    kind = numbers.Integral if integer else numbers.Real
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
