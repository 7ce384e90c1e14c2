"""Codes of single inputs: ramps between quantiles, peaks at values, steps where a tree splits."""

import numpy as np

from onegrad.tables.first_layer.scaling import ScaledRows
from onegrad.tables.model.targets import ClassTargets
from onegrad.tables.parts.networks import (
    FEW_VALUES,
    MAX_CODES,
    MAX_RAMPS,
    InputCodes,
    tree_thresholds,
)

RNG = np.random.default_rng(0)


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


def test_codes_are_bounded_in_number():
    for columns in (3, 40, 200, 600):
        numbers = RNG.standard_normal((50, columns))
        few = RNG.integers(0, FEW_VALUES, (50, columns))
        for z in (numbers, few, np.concatenate([numbers, few], 1)):
            assert len(InputCodes.learn(z).column) <= MAX_CODES
