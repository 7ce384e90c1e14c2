"""An estimator is one call: fit(recipe, data, ...) -> Fitted.

1. a pass over the data draws a sample of rows;
2. the sample becomes numbers: encoded, scaled, coded, some of it held out;
3. the recipe of a family proposes first layers, and held-out rows choose one;
4. a second pass sums the moments of all rows under that layer, from which the readout follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from onegrad.arrays import Floats, blas_threads, cores
from onegrad.data import Source, fold
from onegrad.data.encoding import Encoding, Known, encoded
from onegrad.data.sample import Sample
from onegrad.data.table import is_table
from onegrad.errors import InvalidInput
from onegrad.estimators.fitted import AtFit, Fitted, SecondLayer
from onegrad.estimators.lesson import Lesson, Mask, Trial, chosen, held_out
from onegrad.estimators.passes import MomentsPass, SamplePass
from onegrad.estimators.targets import Classes, Goal, Targets
from onegrad.layers.gradient import gradient_outer_product
from onegrad.layers.layer import Layer
from onegrad.layers.rows import Rows
from onegrad.layers.scaling import Scaling

FAR = 20.0  # standard deviations at which even the linear skip clips its inputs


@dataclass(frozen=True)
class Split:
    """Which rows of a sample make the update and which the readout.

    Rows whose key is below `used_up` are left out of the readout of the final model, too.
    """

    update: Mask
    fit: Mask
    used_up: int = 0


class Recipe(Protocol):
    """How a family learns its first layer."""

    @property
    def inputs(self) -> str:
        """ "standard" where inputs and targets are scaled, "raw" where they are as they come."""

    @property
    def intercept(self) -> bool:
        """Whether the readout has a free constant."""

    @property
    def chooses(self) -> bool:
        """Whether there is anything to choose on held-out rows."""

    def split(self, sample: Sample, held: Mask) -> Split: ...

    def learn(self, lesson: Lesson, rng: np.random.Generator) -> tuple[Layer, Sequence[Trial]]:
        """The untrained layer, and everything that was tried, the first one where in doubt."""


@dataclass(frozen=True)
class Sampling:
    """Rows that the first layer is learned on, the share of them held out, the seed of it all."""

    rows: int
    hold_out: float
    seed: int


@dataclass(frozen=True)
class Means:
    """What makes the passes: a Dask client or processes, and a device; whom to tell."""

    client: Any = None
    jobs: int = 1
    progress: Callable[[int, int], None] | None = None
    device: str = "cpu"

    def fold(self, function: Any, data: Source) -> Any:
        """The sum of a function over the parts of the data; a stream has no other readers."""
        return fold(
            function,
            data.parts,
            client=self.client,
            jobs=1 if data.once else self.jobs,
            progress=self.progress,
        )


def fit(recipe: Recipe, data: Source, goal: Goal, sampling: Sampling, means: Means) -> Fitted:
    """The network of a recipe on all rows of the data.

    Parameters
    ----------
    recipe : how the first layer is learned.
    data : all rows.
    goal : how targets become the numbers that ridge fits.
    sampling : which rows the first layer is learned on.
    means : who makes the two passes over the data.
    """
    head, whole = data.with_head(sampling.rows)
    drawn = means.fold(SamplePass(sampling.rows, sampling.seed, goal.labels), head)
    if not len(drawn.y):
        raise InvalidInput("all weights are zero: there are no rows to learn from")
    threads = cores()
    with blas_threads(1):  # kinks lie on rows: the rounding of a product can move the layer
        lesson = prepared(recipe, drawn, goal, sampling.hold_out, threads)
        untrained, trials = recipe.learn(lesson, np.random.default_rng(sampling.seed))
        best = chosen(trials, lesson.held.w)
        at_start = lesson.equations(lesson.gridded(untrained), recipe.intercept).eigenvalues()
    targets, encoding, layer = lesson.targets, lesson.encoding, best.layer
    if encoding is not None:
        whole = whole.typed(encoding.readings, only=True)
    sums = MomentsPass(layer, targets, encoding, means.device, sampling.seed, lesson.used_up)
    second = SecondLayer(means.fold(sums, whole), best.readout.ridge, recipe.intercept)
    residuals = second.left_out(layer, lesson.held)
    at_fit = AtFit(
        metric=gradient_outer_product(lesson.update, layer, second.readout.coef),
        untrained=at_start,
        residuals=residuals,
        slope=calibrated(targets, residuals, lesson.held),
        choice={
            **best.label,
            "relative_ridge": best.ridge,
            "held_out_rows": len(lesson.held),
            "held_out_score": best.score,
            "sample_rows": len(drawn.y),
        },
        trials=tuple(trial.summary for trial in trials),
        rows=second.moments.rows,
    )
    return Fitted(layer, targets, encoding, second, at_fit)


def prepared(recipe: Recipe, drawn: Sample, goal: Goal, hold_out: float, threads: int) -> Lesson:
    """The sample as the lesson of a recipe."""
    standard = recipe.inputs == "standard"
    targets = goal.targets(drawn, standard)
    t = targets.encode(drawn.y)
    known = Known(t, drawn.w, drawn.keys, drawn.seed)
    encoding = Encoding.of(drawn.X, known) if is_table(drawn.X) else None
    x = encoded(drawn.X, encoding, drawn.y)
    x = np.ascontiguousarray(x)  # one order of sums for all sources
    scaling = Scaling.standard(x, drawn.w, FAR) if standard else Scaling.identity(x.shape[1])
    rows = Rows(scaling(x), t, drawn.w)
    held = held_out(drawn.keys, drawn.w, hold_out if recipe.chooses else 0.0)
    split = recipe.split(drawn, held)
    parts = rows[split.update], rows[split.fit], rows[held]
    return Lesson(*parts, encoding, scaling, targets, split.used_up, threads)


def calibrated(targets: Targets, residuals: Floats, held: Rows) -> float:
    """The slope of the logistic function for scores with these residuals; one for numbers."""
    if not isinstance(targets, Classes) or not len(held):
        return 1.0
    return targets.slope(held.t - residuals, held.t, held.w)
