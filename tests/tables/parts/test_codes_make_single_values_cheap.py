"""Networks on codes of single inputs: what codes are, and where networks help."""

import numpy as np
import pytest

import onegrad as og
from onegrad.arrays import get_ops
from onegrad.tables.first_layer.scaling import ScaledRows
from onegrad.tables.fitting import task
from onegrad.tables.fitting.fit_progress import FitProgress
from onegrad.tables.fitting.training_set import scale_sample
from onegrad.tables.model.targets import ClassTargets
from onegrad.tables.parts.networks import (
    FEW_VALUES,
    MAX_CODES,
    MAX_RAMPS,
    CodedTraining,
    InputCodes,
    train_coded_network,
    tree_thresholds,
)
from onegrad.tables.rows.sample import sample_block

RNG = np.random.default_rng(0)
SIDES = RNG.permuted(np.tile([False, True], (2, 8)), axis=1)  # of 16 values of two inputs
X = np.column_stack([RNG.integers(0, 16, (2500, 2)), RNG.standard_normal(2500)])
Y = np.logical_xor.reduce([side[x.astype(int)] for side, x in zip(SIDES, X.T, strict=False)])
SMALL = {"rounds": 0, "random_state": 0}


def test_ramps_lie_between_quantiles_and_peaks_at_values():
    z = np.column_stack([np.linspace(-1, 1, 1001), np.arange(1001) % 5, np.arange(1001) % 2])
    codes = InputCodes.learn(z)
    assert np.bincount(codes.column.astype(int), minlength=3).tolist() == [MAX_RAMPS, 5, 0]
    c = codes(z)
    assert c.min() == 0.0
    assert c.max() == 1.0
    np.testing.assert_allclose(c[:, :MAX_RAMPS].sum(1), MAX_RAMPS * (z[:, 0] + 1) / 2, atol=1e-9)
    np.testing.assert_array_equal(c[:, MAX_RAMPS:], z[:, 1:2] == np.arange(5))
    between = codes(np.array([[0.0, 1.5, 0.0], [99.0, 99.0, 0.0]]))
    np.testing.assert_allclose(between[0, MAX_RAMPS:], [0, 0.5, 0.5, 0, 0])
    np.testing.assert_allclose(between[1], [1.0] * MAX_RAMPS + [0.0] * 5)


def test_steps_lie_where_a_tree_splits():
    z = RNG.standard_normal((400, 3))
    label = (z[:, 1] > 0.3) ^ (z[:, 2] > -0.5)
    targets = ClassTargets(np.array([0, 1]))
    rows = ScaledRows(z, targets.encode(label.astype(int)), np.ones(400))
    thresholds = tree_thresholds(rows, targets, 3)
    for column, threshold in ((1, 0.3), (2, -0.5)):
        of_column = thresholds[thresholds[:, 0] == column, 1]
        assert np.abs(of_column - threshold).min() < 0.05
    steps = InputCodes.learn(z[:, :0], thresholds)(z)
    column, threshold = thresholds.T
    np.testing.assert_array_equal(steps, z[:, column.astype(int)] > threshold)


def trained(y, schedules):
    """The epoch that counts, and the held-out loss, of a network of few and short schedules."""
    kind = task.classification(None)
    sample = scale_sample(sample_block(X, y, None, 3000, 0, kind.labels), kind, "standard")
    training_set = sample.training_set(
        0, hold_out=0.2, step_share=None, threads=1, ops=get_ops("cpu"), progress=FitProgress()
    )
    plan = CodedTraining(1, (64, 32), epochs=6, repeats=schedules)
    rng = np.random.default_rng(0)
    network, epoch = train_coded_network(training_set, plan, 4.0, rng)
    again, _ = train_coded_network(training_set, plan, 4.0, np.random.default_rng(0), epoch)
    rows = training_set.held_out
    np.testing.assert_allclose(again(rows.z), network(rows.z), rtol=1e-5, atol=1e-6)
    return epoch, training_set.score(training_set.losses(network(rows.z)))


def test_a_further_schedule_is_made_where_the_last_still_helped():
    (one, loss_of_one), (three, loss_of_three) = (trained(Y, schedules) for schedules in (1, 3))
    assert one <= 6 < three <= 18
    assert loss_of_three < 0.7 * loss_of_one
    noise = RNG.integers(0, 2, len(Y))
    assert trained(noise, 3)[0] <= 6


def test_codes_are_bounded_in_number():
    for columns in (3, 40, 200, 600):
        numbers = RNG.standard_normal((50, columns))
        few = RNG.integers(0, FEW_VALUES, (50, columns))
        for z in (numbers, few, np.concatenate([numbers, few], 1)):
            assert len(InputCodes.learn(z).column) <= MAX_CODES


@pytest.mark.full
def test_they_help_where_single_values_matter():
    large, plain = (
        og.AlternatingClassifier(corrections=corrections, **SMALL).fit(X[:1500], Y[:1500])
        for corrections in ("auto", "none")
    )
    assert not plain.fitted_.parts
    assert large.choice_["networks_weight"] > 0
    assert large.score(X[1500:], Y[1500:]) > max(0.95, plain.score(X[1500:], Y[1500:]) + 0.1)
    assert large.feature_importances_[2] < 0.1
