"""How targets will be coded: numbers, classes with their weights, several labels a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.data.sample import Sample
from onegrad.data.table import Values
from onegrad.estimators.model.targets import Classes, Multilabel, Numbers, Targets
from onegrad.exceptions import InvalidInput


@dataclass(frozen=True)
class Goal:
    """How targets will be coded once a sample of rows is seen, and scaled where that is asked.

    `labels` says whether all distinct targets are collected on the way: "all", or those that are
    text ("text"), for they may be rare.
    """

    targets: Callable[[Sample, bool], Targets]
    labels: str = ""


def number_targets(sample: Sample, scaled: bool) -> Targets:
    if sample.y.dtype.kind not in "fiub":
        raise InvalidInput("y", problem="the target is text; use a classifier")
    return Numbers.of(sample.y, sample.w, scaled)


def class_targets(
    sample: Sample, scaled: bool, declared: Values | None = None, class_weight: Any = None
) -> Targets:
    """Of the labels that were seen, or of those that were declared before."""
    if sample.y.ndim > 1:
        if class_weight is not None:
            raise InvalidInput("class_weight", problem="y has several labels per row; give None")
        return Multilabel(sample.y.shape[1])
    values = np.array(sorted(sample.labels)) if declared is None else declared
    if len(values) < 2:
        raise InvalidInput(
            "y", problem=f"a classifier needs at least 2 classes; y has {len(values)}"
        )
    return Classes(values, class_weights(class_weight, values, sample.labels))


def class_weights(given: Any, values: Values, seen: Mapping[Any, float]) -> Floats | None:
    """(classes,) weights: given by label, or "balanced", so that all classes weigh the same."""
    if given is None:
        return None
    if isinstance(given, str) and given == "balanced":
        total = sum(seen.values())
        each = [seen.get(v, 0.0) * len(values) for v in values.tolist()]
        return np.array([total / n if n else 1.0 for n in each])
    if not isinstance(given, Mapping):
        raise InvalidInput("class_weight", given, 'None, "balanced" or a dict of weights by label')
    strange = [label for label in given if label not in values.tolist()]
    if strange:
        raise InvalidInput("class_weight", problem=f"{strange[0]!r:.40} is not a class")
    weights = np.array([given.get(v, 1.0) for v in values.tolist()], dtype=np.float64)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InvalidInput("class_weight", given, "finite and not negative")
    return weights


def any_targets(sample: Sample, scaled: bool) -> Targets:
    if sample.y.dtype.kind in "fiub":
        return Numbers.of(sample.y, sample.w, scaled)
    return Classes(np.array(sorted(sample.labels)))
