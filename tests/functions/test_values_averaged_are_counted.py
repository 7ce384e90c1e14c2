"""The number of values that averages take is known before they are taken."""

from dataclasses import replace

import numpy as np
import pytest

from onegrad.functions import resolve
from onegrad.functions.averages import gaussian_averages, values_averaged


@pytest.mark.parametrize("name", ["tanh", "erf", "relu", "hardtanh", "H2 - H4/10"])
@pytest.mark.parametrize("deviation", [0.5, 5.0, 50.0])
def test_no_fewer_values_are_taken_and_no_more_than_four_times_as_many(name, deviation):
    f, taken = resolve(name), []

    def counted(x):
        taken.append(np.size(x))
        return f.value(x)

    deviations = np.full((3, 4), deviation)
    gaussian_averages(replace(f, value=counted, value_in_place=None), 0.1, deviations)
    expected = values_averaged(f, deviations)
    assert expected <= sum(taken) * 1.001
    assert sum(taken) <= 4 * expected + 100
