"""The eigenvalues of a power law beyond the first ones are summed over intervals, to 1e-8."""

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.uniform.input_covariance import spectrum
from onegrad.theory.uniform.input_covariance.spectrum import InputSpectrum


@pytest.mark.parametrize("decay", [0.5, 1.0, 2.0])
def test_intervals_have_the_sums_of_all_eigenvalues(decay, monkeypatch):
    problem = og.Problem(n=100, d=400_000, N=100, inputs=f"power-law({decay})", alpha=0.1)
    few = InputSpectrum.of_law(problem)
    monkeypatch.setattr(spectrum, "MAX_LISTED", problem.d)
    every = InputSpectrum.of_law(problem)
    assert few.values == pytest.approx(every.values, rel=1e-8)
    assert few.counts == pytest.approx(every.counts, rel=1e-8)
    assert not np.array_equal(few.values, every.values)


def test_more_inputs_than_fit_in_memory():
    problem = og.Problem(n=100, d=10**12, N=100, inputs="power-law(1)", alpha=0.1)
    every = InputSpectrum.of_law(problem)
    assert every.counts.sum() == pytest.approx(1e12)
    assert every.moment(1) == pytest.approx(1)
    harmonic = np.log(1e12) + np.euler_gamma  # sum of 1/j
    assert every.values[0] == pytest.approx(1e12 / harmonic, rel=1e-8)
