"""A fit is one call: fit(data, task, parameters, family, ...) -> Fitted.

1. A pass over the data draws a sample of rows.
2. The sample becomes numbers: encoded, scaled, coded, some of it held out.
3. The learner of a family proposes first layers, and held-out rows choose one; so does every
   further member of a committee, with random numbers and held-out rows of its own.
4. A second pass sums the moments of all rows under that layer, from which the readout follows.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from onegrad.arrays import Floats, get_ops, keep_freed_memory
from onegrad.arrays.memory import free_bytes
from onegrad.exceptions import AssumptionWarning, InvalidInput, warn
from onegrad.io.progress import Progress, as_progress
from onegrad.parallel.cores import blas_threads, thread_count
from onegrad.tables.first_layer.layer import Layer, gradient_outer_product
from onegrad.tables.fitting.fit_progress import FitProgress, interruptible
from onegrad.tables.fitting.learned_member import LearnedMember, choose_parts, summary_of
from onegrad.tables.fitting.settings import FirstLayerFamily
from onegrad.tables.fitting.training_set import ScaledSample, TrainingSet, scale_sample
from onegrad.tables.model.fitted import FitStatistics, Fitted, LearnedRows, Member, largest_first
from onegrad.tables.model.permutation_importance import inputs_by_column, permutation_importances
from onegrad.tables.model.rows import MomentsPass, block_targets, sum_over_blocks
from onegrad.tables.model.targets import NO_LINK, LearningTask
from onegrad.tables.parts.part import RowPart
from onegrad.tables.rows.partitions import Partition, RowBlock, sum_over_partitions
from onegrad.tables.rows.sample import Sample, effective_rows, sample_block
from onegrad.tables.rows.sources import Source

MAX_FULL_SPECTRUM = 1500  # features up to which all eigenvalues are computed
MATRICES_OF_INPUTS = 8  # inputs by inputs, that a fit holds at a time: sums, factors, metric


def fit(
    data: Source,
    task: LearningTask,
    parameters: Any,
    family: FirstLayerFamily,
    *,
    sample_rows: int,
    hold_out: float,
    seed: int,
    chosen: bool = False,
    client: Any = None,
    jobs: int = 1,
    progress: Progress | Callable[[int, int], None] | None = None,
    device: str = "cpu",
) -> Fitted:
    """Fit the networks of a family on all rows of the data.

    First layers are learned on `sample_rows` of them, of which a share `hold_out` is held out.
    `chosen`: others are to come that nothing is learned from. A Dask client or processes make the
    passes over the data, on a device.
    """
    first_pass, second_pass = data.for_two_passes(sample_rows)
    progress = as_progress(progress)
    sums: dict[str, Any] = {"client": client, "jobs": jobs, "progress": progress}
    progress.relabel("first pass")
    draw = partial(sample_partition, size=sample_rows, seed=seed, labels=task.labels)
    sample = sum_over_partitions(draw, first_pass.partitions, **sums)
    if not len(sample):
        raise InvalidInput("weights", problem="all are zero; there are no rows to learn from")
    check_memory(sample.X.shape[1])
    keep_freed_memory()  # candidates take and free the same memory again and again
    threads, ops = thread_count(), get_ops(device)
    ops.policy(threads)  # a device is ready before threads share it
    # kinks lie on rows: the last bit of a product decides on which side a row is, so one thread
    with blas_threads(1):
        plan = family.plan(parameters, len(sample), task.targets(sample, True).outputs)
        scaled = scale_sample(sample, task, plan.scale)
        check_memory(scaled.rows.z.shape[1])  # categories are inputs, too
        hold_out_rows = partial(
            scaled.training_set,
            hold_out=hold_out if plan.chooses else 0.0,
            step_share=plan.step_share,
            threads=threads,
            ops=ops,
            progress=FitProgress(progress, plan.max_candidates),
        )
        learned = learn_committee(hold_out_rows, plan.members, parameters, family, seed)
    targets, encoding = scaled.targets, scaled.encoding
    skip_below = learned[0].training_set.step_rows_end
    if encoding is not None:
        second_pass = second_pass.with_types(encoding.column_types, only=True)
    progress.relabel("second pass")
    layers = tuple(each.best.layer for each in learned)
    moments_pass = MomentsPass(layers, targets, encoding, device, seed, skip_below)
    totals = sum_over_partitions(moments_pass, second_pass.partitions, **sums).moments
    pairs = zip(learned, totals, strict=True)
    members = [each.member(moments, plan.intercept) for each, moments in pairs]
    statistics = describe_fit(members, learned, scaled)
    tally = None
    if not data.single_pass and sample.tally is not None:
        tally = sample.tally[sample.tally.keys >= np.uint64(skip_below)]
        if len(sample) == len(sample.tally):  # all rows are in the sample
            rows = scaled.rows[sample.keys >= np.uint64(skip_below)]
            tally = replace(tally, z=rows.z, t=rows.t)
    parts = [
        final.scaled(1 / len(learned))
        for each in learned
        for part in each.parts
        for final in part.final
    ]
    return Fitted(
        tuple(members),
        targets,
        encoding,
        statistics,
        parts=tuple(parts),
        learned_from=LearnedRows(sample.keys, chosen),
        seed=seed,
    ).with_tally(tally)


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


def learn_committee(
    hold_out_rows: Callable[[int], TrainingSet],
    size: int,
    parameters: Any,
    family: FirstLayerFamily,
    seed: int,
) -> list[LearnedMember]:
    """Learn all members of a committee or, once interrupted, those so far.

    `hold_out_rows` returns a member's training set, by its number.
    """
    learned: list[LearnedMember] = []
    for number in range(size):
        # the first one's random numbers do not depend on how many members there are
        rng = np.random.default_rng([seed, number] if number else seed)
        training_set = hold_out_rows(number)
        progress = training_set.progress
        with interruptible(progress):
            candidates = family.learn(training_set, parameters, rng)
        best = candidates.best
        best = replace(best, layer=training_set.with_grid(best.layer))
        member = LearnedMember(training_set, replace(candidates, best=best), best.predicted)
        learners = family.part_learners(parameters, training_set)
        if learners is not None:
            member = choose_parts(member, learners, seed, number)
            member = member.with_common_slope() if size > 1 else member
        learned.append(member)
        if progress.stopped:
            break
    progress.finish()
    if progress.stopped:
        text = (
            f"interrupted after {progress.done} trials of the first layer: the best so far is "
            "kept; its readout is fitted on all rows"
        )
        warn(AssumptionWarning("first layer", "rounds", text))
    return learned


def leading_eigenvalues(training_set: TrainingSet, layer: Layer, intercept: bool) -> Floats:
    """Return eigenvalues of the covariance of a layer's features on the sample, largest first.

    All of them, or the 64 largest where there are many.
    """
    if layer.width <= MAX_FULL_SPECTRUM:
        equations = training_set.equations(training_set.with_grid(layer), intercept)
        return equations.eigenvalues()
    equations = training_set.equations(layer.in_single(), intercept)
    return np.asarray(equations.eigenvalues(64), np.float64)


def describe_fit(
    members: Sequence[Member], learned: Sequence[LearnedMember], scaled: ScaledSample
) -> FitStatistics:
    """Describe a committee by the rows of its fit.

    Every member is judged by the rows that it held out, by itself: the mean of all is better.
    """
    targets, several = scaled.targets, len(members) > 1
    labels = [{**each.best.label, "relative_ridge": each.best.ridge} for each in learned]
    names = dict.fromkeys(name for label in labels for name in label)
    combined = {name: [label.get(name) for label in labels] for name in names}
    calibration = [each.training_set.calibration for each in learned]
    pairs = zip(members, learned, strict=True)
    residuals = np.concatenate([each.residuals(member) for member, each in pairs])
    t, w = (np.concatenate([getattr(each.rows, name) for each in calibration]) for name in "tw")
    keys = np.concatenate([each.keys for each in calibration])
    distinct = len(np.unique(keys)) / max(len(keys), 1)  # members may hold out the same rows
    link, measures, importances = NO_LINK, {}, np.zeros(0)
    held_out_rows = sum(len(each.training_set.held_out) for each in learned)
    if held_out_rows:
        predicted = targets.clipped(t - residuals)
        residuals = t - predicted
        link = targets.link(predicted, t, distinct * w)
        if all(each.link is not None for each in learned):
            link = learned[0].link or link
        measures = targets.measures(predicted, t, w)
        columns = inputs_by_column(scaled.encoding, scaled.scaling)
        importances = np.mean(
            [
                permutation_importances(
                    each.training_set.held_out,
                    [(each.best.layer, each.readout)],
                    columns,
                    targets,
                    [p.judged for p in each.parts if not isinstance(p.judged, RowPart)],
                    means_of=len(learned),
                )
                for each in learned
            ],
            axis=0,
        )
        importances /= importances.sum() or 1.0  # those of a member may all be zero
    with blas_threads(1):
        intercept = members[0].intercept
        untrained = [
            leading_eigenvalues(each.training_set, each.candidates.untrained, intercept)
            for each in learned
        ]
    networks = [(member.layer, member.readout.coef) for member in members]
    return FitStatistics(
        metric=gradient_outer_product(scaled.rows, *networks, by_column=True),
        column_importances=importances,
        untrained=largest_first(untrained),
        residuals=residuals,
        residual_weights=w,
        effective_rows=distinct
        * sum(effective_rows(each.rows.w, each.copies) for each in calibration),
        link=link,
        choice={
            **(combined if several else labels[0]),
            **summary_of(learned),
            "held_out_rows": held_out_rows,
            "held_out_loss": float(np.mean([each.loss for each in learned])),
            "held_out_score": measures.get("R2", measures.get("accuracy", np.nan)),
            "measures": measures,
            "sample_rows": len(scaled.rows),
            **({"interrupted": True} if learned[-1].training_set.progress.stopped else {}),
        },
        trials=tuple(
            ({"member": number} if several else {})
            | {**candidate.label, "ridge": candidate.ridge, "score": candidate.score}
            for number, each in enumerate(learned)
            for candidate in each.candidates.tried
        ),
        rows=members[0].sums.rows,
        predicted=t - residuals,
    )
