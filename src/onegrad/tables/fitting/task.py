"""Kinds of targets: numbers, classes with their weights, several labels per row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput
from onegrad.tables.model.targets import (
    ClassTargets,
    MultilabelTargets,
    NumericTargets,
    Targets,
)
from onegrad.tables.rows.sample import Sample
from onegrad.tables.rows.table import Values


@dataclass(frozen=True)
class LearningTask:
    """The kind of targets, before any row is seen."""

    targets: Callable[[Sample, bool], Targets]  # rows, whether to scale -> how targets are coded
    # distinct targets that the first pass collects, as they may be rare: "all", "text", or "": none
    labels: str = ""


def classification(class_weight: Any, classes: Values | None = None) -> LearningTask:
    """Return the task of predicting labels: those that are seen, or those declared before."""
    return LearningTask(partial(_class_targets, class_weight=class_weight, classes=classes), "all")


def _number_targets(sample: Sample, scaled: bool) -> Targets:
    if sample.y.dtype.kind not in "fiub":
        raise InvalidInput("y", problem="the target is text; use a classifier")
    return NumericTargets.learn(sample.y, sample.w, scaled)


def _class_targets(
    sample: Sample, _scaled: bool, class_weight: Any, classes: Values | None
) -> Targets:
    if sample.y.ndim > 1:
        if class_weight is not None:
            raise InvalidInput("class_weight", problem="y has several labels per row; give None")
        return MultilabelTargets(sample.y.shape[1])
    labels = classes
    if labels is None:  # those of some dates are numbers of nanoseconds
        labels = np.array(
            sorted(sample.labels), sample.y.dtype if sample.y.dtype.kind == "M" else None
        )
    if len(labels) < 2:
        problem = f"a classifier needs at least 2 classes; y has {len(labels)} class"
        raise InvalidInput("y", problem=problem)
    return ClassTargets(labels, class_weights(class_weight, labels, sample.labels))


def _any_targets(sample: Sample, scaled: bool) -> Targets:
    if sample.y.dtype.kind in "fiub":
        return NumericTargets.learn(sample.y, sample.w, scaled)
    return ClassTargets(np.array(sorted(sample.labels)))


def class_weights(
    class_weight: Any, labels: Values, seen_weights: Mapping[Any, float]
) -> Floats | None:
    """Return (classes,) weights: by label, or "balanced", so that all classes weigh the same."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        total = sum(seen_weights.values())
        each = [seen_weights.get(label, 0.0) * len(labels) for label in labels.tolist()]
        return np.array([total / weight if weight else 1.0 for weight in each])
    if not isinstance(class_weight, Mapping):
        allowed = 'None, "balanced" or a dict of weights by label'
        raise InvalidInput("class_weight", class_weight, allowed)
    for label in class_weight:
        if label not in labels.tolist():
            raise InvalidInput("class_weight", problem=f"{label!r:.40} is not a class")
    weights = np.array([class_weight.get(v, 1.0) for v in labels.tolist()], dtype=np.float64)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InvalidInput("class_weight", class_weight, "finite and not negative")
    return weights


REGRESSION = LearningTask(_number_targets)
ANY_TARGETS = LearningTask(_any_targets, "text")  # numbers, or labels that are text
