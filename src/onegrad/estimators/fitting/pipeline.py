"""An estimator is one call: fit(recipe, data, ...) -> Fitted.

1. a pass over the data draws a sample of rows;
2. the sample becomes numbers: encoded, scaled, coded, some of it held out;
3. the recipe of a family proposes first layers, and held-out rows choose one;
4. a second pass sums the moments of all rows under that layer, from which the readout follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from onegrad.arrays import Floats, keep_freed_memory
from onegrad.data import Source, sum_over_partitions
from onegrad.data.encoding import Encoding, SampleTargets, encode
from onegrad.data.sample import Sample
from onegrad.data.table import is_table
from onegrad.estimators.fitting.fit_progress import Watch, interruptible, staged
from onegrad.estimators.fitting.task import Goal
from onegrad.estimators.fitting.training_set import Learned, Lesson, Mask, held_out
from onegrad.estimators.model.fitted import (
    AtFit,
    Fitted,
    Member,
    SecondLayer,
    largest_first,
    mean,
)
from onegrad.estimators.model.row_sums import MomentsPass, SamplePass
from onegrad.estimators.model.targets import Targets
from onegrad.exceptions import AssumptionWarning, InvalidInput, warn
from onegrad.layers.gradient import gradient_outer_product
from onegrad.layers.layer import Layer
from onegrad.layers.rows import ScaledRows
from onegrad.layers.scaling import Scaling
from onegrad.parallel import blas_threads, thread_count

FEW, LEADING = 1500, 64  # features up to which all eigenvalues are found, else so many
FAR = 20.0  # standard deviations beyond which even the linear skip clips its inputs


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
    def networks(self) -> int:
        """How many are learned, each with random numbers of its own, and averaged."""

    @property
    def chooses(self) -> bool:
        """Whether there is anything to choose on held-out rows."""

    def sized(self, rows: int, outputs: int) -> Recipe:
        """The recipe for a sample of so many rows and outputs."""

    @property
    def most_trials(self) -> int:
        """Candidates for the first layer that are tried at most, in all networks."""

    def split(self, sample: Sample, held: Mask) -> Split: ...

    def learn(self, lesson: Lesson, rng: np.random.Generator) -> Learned: ...


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
        """The sum of a function over the partitions of the data; a stream has no other readers."""
        return sum_over_partitions(
            function,
            data.partitions,
            client=self.client,
            jobs=1 if data.single_pass else self.jobs,
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
    head, whole = data.for_two_passes(sampling.rows)
    staged(means.progress, "first pass")
    drawn = means.fold(SamplePass(sampling.rows, sampling.seed, goal.labels), head)
    if not len(drawn.y):
        raise InvalidInput("weights", problem="all are zero; there are no rows to learn from")
    keep_freed_memory()  # trials take and free the same memory again and again
    threads = thread_count()
    with blas_threads(1):  # kinks lie on rows: the rounding of a product can move the layer
        lesson = prepared(recipe, drawn, goal, sampling.hold_out, threads)
        recipe = recipe.sized(len(drawn.y), lesson.targets.outputs)
        lesson = replace(lesson, watch=Watch(means.progress, recipe.most_trials))
        learned = networks(recipe, lesson, sampling.seed)
        at_start = [spectrum(lesson, one.untrained, recipe.intercept) for one in learned]
    targets, encoding = lesson.targets, lesson.encoding
    layers = tuple(one.best.layer for one in learned)
    if encoding is not None:
        whole = whole.with_types(encoding.column_types, only=True)
    sums = MomentsPass(layers, targets, encoding, means.device, sampling.seed, lesson.used_up)
    staged(means.progress, "second pass")
    moments = means.fold(sums, whole).members
    members = tuple(
        Member(one.best.layer, SecondLayer(m, one.best.readout.ridge, recipe.intercept))
        for one, m in zip(learned, moments, strict=True)
    )
    untrained = largest_first(at_start)
    at_fit = replace(described(members, learned, lesson, len(drawn.y)), untrained=untrained)
    tally = None if data.single_pass or drawn.tally is None else drawn.tally.above(lesson.used_up)
    return Fitted(members, targets, encoding, at_fit, tally)


def networks(recipe: Recipe, lesson: Lesson, seed: int) -> list[Learned]:
    """The first layers of all networks, or, once it was enough, of those so far."""
    learned: list[Learned] = []
    watch = lesson.watch
    with interruptible(watch):
        for rng in generators(seed, recipe.networks):
            if not (watch.enough and learned):
                learned.append(recipe.learn(lesson, rng))
    watch.over()
    if watch.enough:
        text = (
            f"interrupted after {watch.done} trials of the first layer: the best so far is kept; "
            "its readout is fitted on all rows"
        )
        warn(AssumptionWarning("first layer", "rounds", text))
    return learned


def generators(seed: int, networks: int) -> Iterator[np.random.Generator]:
    """Random numbers of each network; the first one's are those of a single one."""
    yield np.random.default_rng(seed)
    for member in range(1, networks):
        yield np.random.default_rng([seed, member])


def spectrum(lesson: Lesson, layer: Layer, intercept: bool) -> Floats:
    """Eigenvalues of a layer's features on the sample, largest first; of many, the leading ones."""
    equations = lesson.equations(lesson.gridded(layer), intercept)
    return equations.eigenvalues(None if layer.width <= FEW else LEADING)


def described(
    members: Sequence[Member], learned: Sequence[Learned], lesson: Lesson, rows: int
) -> AtFit:
    """What the rows of the fit say of a committee, but for the untrained spectrum."""
    held, best = lesson.held, [one.best for one in learned]
    residuals = mean([member.left_out(held) for member in members])
    labels = [{**trial.label, "relative_ridge": trial.ridge} for trial in best]
    several = len(members) > 1
    together = mean([trial.predicted for trial in best])
    return AtFit(
        metric=gradient_outer_product(
            lesson.update, *((m.layer, m.second.readout.coef) for m in members)
        ),
        untrained=np.zeros(0),
        residuals=residuals,
        slope=calibrated(lesson.targets, residuals, held),
        choice={
            **(combined(labels) if several else labels[0]),
            "held_out_rows": len(held),
            "held_out_score": lesson.score(lesson.losses(together)) if len(held) else np.nan,
            "measures": lesson.targets.measures(held.t - residuals, held.t, held.w)
            if len(held)
            else {},
            "sample_rows": rows,
            **({"interrupted": True} if lesson.watch.enough else {}),
        },
        trials=tuple(
            {"member": number, **trial.summary} if several else trial.summary
            for number, one in enumerate(learned)
            for trial in one.trials
        ),
        rows=members[0].second.moments.rows,
    )


def combined(labels: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """For every name the values of all members; None where one has none."""
    names = dict.fromkeys(name for label in labels for name in label)
    return {name: [label.get(name) for label in labels] for name in names}


def prepared(recipe: Recipe, drawn: Sample, goal: Goal, hold_out: float, threads: int) -> Lesson:
    """The sample as the lesson of a recipe."""
    standard = recipe.inputs == "standard"
    targets = goal.targets(drawn, standard)
    t = targets.encode(drawn.y)
    sample_targets = SampleTargets(t, drawn.w, drawn.seed)
    encoding = Encoding.learn(drawn.X, sample_targets) if is_table(drawn.X) else None
    x = encode(drawn.X, encoding, training=True)
    x = np.ascontiguousarray(x)  # one order of sums for all sources
    scaling = Scaling.standard(x, drawn.w, FAR) if standard else Scaling.identity(x.shape[1])
    w = targets.weighted(drawn.y, drawn.w)
    rows = ScaledRows(scaling(x), t, drawn.w if w is None else w)
    held = held_out(drawn.keys, drawn.w, hold_out if recipe.chooses else 0.0)
    split = recipe.split(drawn, held)
    parts = rows[split.update], rows[split.fit], rows[held]
    return Lesson(*parts, encoding, scaling, targets, split.used_up, threads)


def calibrated(targets: Targets, residuals: Floats, held: ScaledRows) -> float:
    """The slope of the logistic function for scores with these residuals; one for numbers."""
    if not len(held):
        return 1.0
    return targets.slope(held.t - residuals, held.t, held.w)
