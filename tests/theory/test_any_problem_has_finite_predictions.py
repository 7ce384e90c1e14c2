"""From one row to ten million, whatever the shape: finite numbers, or one line of OutOfScope."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onegrad as og

sizes = st.floats(0, 7).map(lambda x: int(10**x))
problems = st.builds(
    og.Problem,
    n=sizes, d=sizes, N=sizes, n_step=sizes,
    activation=st.sampled_from(["tanh", "relu", "relu:raw", "H1", "H2", "hardtanh", "H1+H2+H3"]),
    teacher=st.sampled_from(["H1", "relu:raw", "H2", "H1 - H1", "H1 + H2/sqrt(2)"]),
    noise=st.sampled_from([0.0, 0.1, 3.0]),
    ridge=st.floats(-8, 4).map(lambda x: 10.0**x),
    eta=st.sampled_from([0.0, 1e-3, 1.0, 10.0, 1e3]),
    weights=st.sampled_from(["gaussian", "sphere"]),
    residual=st.sampled_from(["labels", "full"]),
    intercept=st.booleans(),
)  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")


@settings(max_examples=60, deadline=None)
@given(problem=problems)
@pytest.mark.parametrize("theory", ["random-features", "small-step", "staircase"])
def test_errors(theory, problem):
    try:
        prediction = og.predict(problem, theory=theory)
    except og.OutOfScope as error:
        assert "\n" not in str(error)
        return
    for value in (prediction.train, prediction.test, prediction.squared_loss):
        assert 0 <= value < np.inf


@settings(max_examples=20, deadline=None)
@given(problem=problems)
def test_spectra(problem):
    try:
        spectrum = og.spectrum(problem)
    except og.OutOfScope as error:
        assert "\n" not in str(error)
        return
    assert 0 < spectrum.edge < np.inf
    assert np.all(np.isfinite(spectrum.rho))
    eigenvalues = [spike.eigenvalue for spike in spectrum.spikes]
    assert eigenvalues == sorted(eigenvalues, reverse=True)
    assert all(x > spectrum.edge for x in eigenvalues)
    for spike in spectrum.spikes:
        assert all(-1e-12 <= cosine <= 1 + 1e-6 for cosine in spike.alignment.values())
