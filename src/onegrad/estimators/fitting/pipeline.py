"""A fit is one call: fit(data, task, settings, learn, ...) -> Fitted.

1. A pass over the data draws a sample of rows.
2. The sample becomes numbers: encoded, scaled, coded, some of it held out.
3. The learner of a family proposes first layers, and held-out rows choose one.
4. A second pass sums the moments of all rows under that layer, from which the readout follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from onegrad.arrays import Floats, get_ops, keep_freed_memory
from onegrad.arrays.memory import free_bytes
from onegrad.data import Source, sum_over_partitions
from onegrad.data.partition_sum import S
from onegrad.data.partitions import Partition, RowBlock
from onegrad.data.sample import Sample, sample_block
from onegrad.estimators.fitting.candidates import Candidates
from onegrad.estimators.fitting.corrections import (
    Correction,
    choose_correction,
    no_correction,
)
from onegrad.estimators.fitting.fit_progress import FitProgress, interruptible
from onegrad.estimators.fitting.settings import Learn, Settings
from onegrad.estimators.fitting.task import LearningTask
from onegrad.estimators.fitting.training_set import TrainingSet, prepare_training_set
from onegrad.estimators.model.fitted import (
    FewRows,
    FitStatistics,
    Fitted,
    Member,
    largest_first,
    mean,
)
from onegrad.estimators.model.permutation_importance import (
    inputs_by_column,
    permutation_importances,
)
from onegrad.estimators.model.row_sums import MomentsPass, block_targets, sum_over_blocks
from onegrad.estimators.model.targets import NO_LINK
from onegrad.exceptions import AssumptionWarning, InvalidInput, warn
from onegrad.io.progress import Progress, as_progress
from onegrad.layers.gradient import gradient_outer_product
from onegrad.layers.layer import Layer, SingleLayer
from onegrad.layers.rows import ScaledRows
from onegrad.parallel import blas_threads, thread_count

MAX_FULL_SPECTRUM = 1500  # features up to which all eigenvalues are computed
MATRICES_OF_INPUTS = 8  # inputs by inputs, that a fit holds at a time: sums, factors, metric
LEADING_EIGENVALUES = 64  # how many are computed of more features


@dataclass(frozen=True)
class Execution:
    """Who makes the passes over the data: a Dask client or processes, on a device."""

    client: Any = None
    jobs: int = 1
    progress: Progress | Callable[[int, int], None] | None = None
    device: str = "cpu"

    @property
    def report(self) -> Progress:
        """Progress to report to, whoever watches."""
        return as_progress(self.progress)

    def sum(self, function: Callable[[Partition], S | None], data: Source) -> S:
        """Return the sum of a function over the partitions; a stream is read by this process."""
        return sum_over_partitions(
            function,
            data.partitions,
            client=self.client,
            jobs=1 if data.single_pass else self.jobs,
            progress=self.progress,
        )


def fit(
    data: Source,
    task: LearningTask,
    settings: Settings,
    learn: Learn,
    execution: Execution,
    *,
    sample_rows: int,
    hold_out: float,
    seed: int,
) -> Fitted:
    """Fit the networks of a family on all rows of the data.

    Parameters
    ----------
    data : all rows.
    task : how targets become the numbers that ridge fits.
    settings, learn : a family's settings, and its learner of first layers.
    execution : who makes the two passes over the data.
    sample_rows : number of rows that the first layer is learned on.
    hold_out : share of them that is held out.
    seed : seed of all random numbers.
    """
    first_pass, second_pass = data.for_two_passes(sample_rows)
    execution.report.relabel("first pass")
    draw = partial(sample_partition, size=sample_rows, seed=seed, labels=task.labels)
    sample = execution.sum(draw, first_pass)
    if not len(sample.y):
        raise InvalidInput("weights", problem="all are zero; there are no rows to learn from")
    check_memory(sample.X.shape[1])
    keep_freed_memory()  # candidates take and free the same memory again and again
    threads, ops = thread_count(), get_ops(execution.device)
    ops.policy(threads)  # a device is ready before threads share it
    with blas_threads(1):  # kinks lie on rows: the rounding of a product can move the layer
        prepare = partial(
            prepare_training_set,
            sample,
            task,
            hold_out=hold_out if settings.chooses else 0.0,
            step_share=settings.fresh_step_share,
            threads=threads,
            ops=ops,
        )
        training_set = settings.choose_inputs(lambda scale: prepare(scale=scale))
        check_memory(training_set.inputs)  # categories are inputs, too
        progress = FitProgress(execution.report, settings.max_candidates(training_set))
        training_set = replace(training_set, progress=progress)
        learned = learn_members(training_set, settings, learn, seed)
        untrained = [
            leading_eigenvalues(training_set, candidates.untrained, settings.intercept)
            for candidates in learned
        ]
        best = [
            replace(chosen.best, layer=training_set.with_grid(chosen.best.layer))
            for chosen in learned
        ]
        correction = no_correction(best)
        if settings.corrects:
            rows, outputs = training_set.sample_rows, training_set.targets.outputs
            plans = settings.coded_training(rows), settings.boosting(rows, outputs)
            correction = choose_correction(training_set, best, *plans, seed)
    targets, encoding = training_set.targets, training_set.encoding
    skip_below = training_set.step_rows_end
    if encoding is not None:
        second_pass = second_pass.with_types(encoding.column_types, only=True)
    layers = tuple(candidate.layer for candidate in best)
    execution.report.relabel("second pass")
    moments_pass = MomentsPass(layers, targets, encoding, execution.device, seed, skip_below)
    moments = execution.sum(moments_pass, second_pass)
    members = tuple(
        Member(
            candidate.layer,
            sums,
            candidate.readout.ridge,
            settings.intercept,
            correction.weights["ridge"],
            correction.head_of(candidate),
        )
        for sums, candidate in zip(moments.members, best, strict=True)
    )
    members = with_few_rows(members, training_set, sample) if not data.single_pass else members
    statistics = describe_fit(members, learned, correction, training_set, largest_first(untrained))
    if correction.linear is not None:
        heads = (correction.head_of(candidate, all_rows=True) for candidate in best)
        members = tuple(
            replace(member, head=head) for member, head in zip(members, heads, strict=True)
        )
    tally = None
    if not data.single_pass and sample.tally is not None:
        tally = sample.tally.above(skip_below)
    return Fitted(
        members,
        targets,
        encoding,
        statistics,
        tally,
        neighbours=correction.neighbours,
        networks=correction.networks,
        trees=correction.trees,
    )


def with_few_rows(
    members: tuple[Member, ...], training_set: TrainingSet, sample: Sample
) -> tuple[Member, ...]:
    """Return members that know the rows of their sums, where these are all rows and few."""
    complete = sample.tally is not None and len(sample.tally.keys) == len(sample.keys)
    if not complete or training_set.step_rows_end:
        return members
    parts = training_set.fit, training_set.held_out
    rows = ScaledRows(*(np.concatenate([getattr(p, name) for p in parts]) for name in "ztw"))
    few = FewRows(rows, members[0].sums.rows)
    return tuple(replace(m, few=few if rows.z.size < m.layer.width**2 else None) for m in members)


def check_memory(inputs: int) -> None:
    """Raise InvalidInput if a fit of so many inputs does not fit into the memory that is free."""
    needed, free = 8 * MATRICES_OF_INPUTS * inputs**2, free_bytes()
    if needed > free:
        need = f"needs about {needed / 1e9:.1f} GB for {inputs} inputs, and {free / 1e9:.1f} GB"
        raise InvalidInput("columns", problem=f"a fit {need} are free; choose fewer columns")


def sample_partition(partition: Partition, size: int, seed: int, labels: str) -> Sample | None:
    """Return the sample of a partition's rows."""

    def of_block(block: RowBlock) -> Sample:
        return sample_block(block.X, block_targets(block), block.w, size, seed, labels)

    return sum_over_blocks(of_block, partition)


def learn_members(
    training_set: TrainingSet, settings: Settings, learn: Learn, seed: int
) -> list[Candidates]:
    """Learn the first layers of all networks or, once interrupted, of those so far."""
    learned: list[Candidates] = []
    progress = training_set.progress
    with interruptible(progress):
        for rng in generators(seed, settings.committee_size(training_set)):
            if not (progress.stopped and learned):
                learned.append(learn(training_set, settings, rng))
    progress.finish()
    if progress.stopped:
        text = (
            f"interrupted after {progress.done} trials of the first layer: the best so far is "
            "kept; its readout is fitted on all rows"
        )
        warn(AssumptionWarning("first layer", "rounds", text))
    return learned


def generators(seed: int, members: int) -> Iterator[np.random.Generator]:
    """Yield the random numbers of each network; the first one's do not depend on their number."""
    yield np.random.default_rng(seed)
    for member in range(1, members):
        yield np.random.default_rng([seed, member])


def leading_eigenvalues(training_set: TrainingSet, layer: Layer, intercept: bool) -> Floats:
    """Return eigenvalues of the covariance of a layer's features on the sample, largest first."""
    if layer.width <= MAX_FULL_SPECTRUM:
        equations = training_set.equations(training_set.with_grid(layer), intercept)
        return equations.eigenvalues()
    equations = training_set.equations(SingleLayer.of(layer), intercept)
    return np.asarray(equations.eigenvalues(LEADING_EIGENVALUES), np.float64)


def describe_fit(
    members: Sequence[Member],
    learned: Sequence[Candidates],
    correction: Correction,
    training_set: TrainingSet,
    untrained: Floats,
) -> FitStatistics:
    """Describe a committee by the rows of its fit."""
    held_out, targets = training_set.held_out, training_set.targets
    labels = [
        {**candidates.best.label, "relative_ridge": candidates.best.ridge} for candidates in learned
    ]
    several = len(members) > 1
    calibration = training_set.calibration
    rows, left_out = calibration.rows, calibration.left_out
    residuals = mean([member.leave_one_out_residuals(rows, left_out) for member in members])
    if correction.neighbours is not None and len(rows):
        local = correction.neighbours(rows.z, exclude=calibration.keys)
        residuals -= correction.neighbours.share * local
    for part in correction.judged_parts:
        residuals -= part(rows.z)
    link, loss, measures = NO_LINK, np.nan, {}
    if len(held_out):
        predicted = targets.clipped(rows.t - residuals)
        residuals = rows.t - predicted
        scored = replace(training_set, held_out=held_out[: len(correction.predicted)])
        link = correction.link or targets.link(predicted, rows.t, rows.w)
        loss = scored.score(scored.losses(correction.predicted))
        measures = targets.measures(predicted, rows.t, rows.w)
    networks = [(member.layer, member.readout.coef) for member in members]
    importances = np.zeros(0)
    if len(held_out):
        importances = permutation_importances(
            held_out,
            [(each.best.layer, correction.readout_of(each.best)) for each in learned],
            inputs_by_column(training_set.encoding, training_set.scaling),
            targets,
            correction.judged_parts,
        )
    return FitStatistics(
        metric=gradient_outer_product(training_set.update, *networks, by_column=True),
        column_importances=importances,
        untrained=untrained,
        residuals=residuals,
        residual_weights=rows.w,
        effective_rows=calibration.effective_rows,
        link=link,
        choice={
            **(combined(labels) if several else labels[0]),
            **correction.summary,
            "held_out_rows": len(held_out),
            "held_out_loss": loss,
            "held_out_score": measures.get("R2", measures.get("accuracy", np.nan)),
            "measures": measures,
            "sample_rows": training_set.sample_rows,
            **({"interrupted": True} if training_set.progress.stopped else {}),
        },
        trials=tuple(
            {"member": number, **candidate.summary} if several else candidate.summary
            for number, candidates in enumerate(learned)
            for candidate in candidates.tried
        ),
        rows=members[0].sums.rows,
        predicted=rows.t - residuals,
    )


def combined(labels: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return for every name the values of all members; None where a member has none."""
    names = dict.fromkeys(name for label in labels for name in label)
    return {name: [label.get(name) for label in labels] for name in names}
