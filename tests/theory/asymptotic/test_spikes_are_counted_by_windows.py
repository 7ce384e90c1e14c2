"""spike_count and thresholds: (l-1)/(2l) < alpha < l/(2l+2) means l spikes."""

import math

import numpy as np
import pytest

import onegrad as og


def test_inside_a_window():
    for count in range(1, 200):
        low, high = (count - 1) / (2 * count), count / (2 * count + 2)
        for position in (0.01, 0.3, 0.99):
            assert og.spike_count(low + position * (high - low)) == count


def test_at_a_threshold_the_lower_window_is_taken_with_a_warning():
    for k in range(1, 30):
        with pytest.warns(og.AssumptionWarning, match="on one, and the spike that starts there"):
            assert og.spike_count((k - 1) / (2 * k)) == k - 1


def test_thresholds_are_the_starts_of_the_windows():
    assert og.thresholds(4).tolist() == [0.0, 1 / 4, 1 / 3, 3 / 8]
    assert og.thresholds(0).size == 0
    assert np.all(np.diff(og.thresholds(50)) > 0)
    assert np.all(og.thresholds(50) < 0.5)


def test_steps_that_shrink_add_no_spike():
    assert [og.spike_count(alpha) for alpha in (-5.0, -0.01, -1e-6)] == [0, 0, 0]


def test_bad_arguments_are_refused_in_one_line():
    for alpha in (0.5, 0.7, math.nan, math.inf, "x", None):
        with pytest.raises(og.InvalidInput, match="alpha must be a number < 1/2"):
            og.spike_count(alpha)
    for count in (-1, 1.5, True, "2"):
        with pytest.raises(og.InvalidInput, match="count must be a whole number >= 0"):
            og.thresholds(count)
