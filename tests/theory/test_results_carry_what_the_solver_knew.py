"""A result has its solver's residual, iterations, nodes and warnings, said at the caller's line."""

import warnings
from functools import cache

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.asymptotic.resolvent import MAX_TRACE_ITERATIONS
from uniform_point import uniform_point

SIZES = {"n": 600, "d": 300, "N": 400}
HEAVY = og.Problem(**SIZES, activation="H1 + H3", eta=20.0)
CALLS = {
    "predict": lambda: og.predict(HEAVY),
    "predict, asymptotic": lambda: og.predict(og.Problem(**SIZES, steps=2), "small-step", eta=1.0),
    "predict, a curve": lambda: og.predict(HEAVY, "staircase", alpha=[0.25, 0.7]),
    "spectrum": lambda: og.spectrum(og.Problem(**SIZES, inputs="uniform")),
    "spectrum, uniform": lambda: og.spectrum(HEAVY, method="uniform"),
    "spike_count": lambda: og.spike_count(0.25),
}


@cache
def called(name):
    """What a call returns, and the warnings that it raised."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return CALLS[name](), caught


@pytest.mark.parametrize("name", CALLS)
def test_warnings_point_at_the_line_that_called(name):
    _, caught = called(name)
    assert caught
    here = CALLS[name].__code__.co_firstlineno
    assert {(w.filename, w.lineno) for w in caught} == {(__file__, here)}


def test_the_same_line_warns_once_and_another_again():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            og.spike_count(0.25)
        og.spike_count(0.25)
    assert len(caught) == 2


def test_a_prediction_has_what_the_fixed_point_knew():
    p = og.Problem(**SIZES, noise=0.5, alpha=0.3)
    point, alone = og.predict(p), uniform_point(p)
    assert (point.residual, point.iterations) == (alone.residual, alone.iterations)
    assert point.quadrature_error == alone.quadrature_error <= 1e-3
    assert tuple(point.nodes) == alone.nodes
    assert isinstance(point.iterations, int) and isinstance(point.residual, float)
    grid = og.predict(p, alpha=[0.0, 0.3], ridge=[0.01, 0.1, 1.0])
    assert grid.residual.shape == grid.iterations.shape == grid.quadrature_error.shape == (2, 3)
    assert grid.nodes.shape == (2, 3, 2)
    assert grid.warnings == ()
    assert np.all(grid.residual < 1e-6) and np.all(grid.iterations >= 1)


@pytest.mark.parametrize("theory", ["random-features", "small-step", "staircase"])
def test_closed_forms_have_the_residual_of_their_traces(theory):
    grid = og.predict(og.Problem(**SIZES), theory, alpha=[0.1, 0.2])
    assert np.all(grid.residual < 1e-14)
    assert np.all((grid.iterations > 0) & (grid.iterations < MAX_TRACE_ITERATIONS))
    assert grid.quadrature_error is None and grid.nodes is None


@pytest.mark.parametrize("name", [name for name in CALLS if name != "spike_count"])
def test_a_result_keeps_its_warnings(name):
    result, caught = called(name)
    issued = tuple(w for w in result.warnings if not w.recorded_only)  # type: ignore[attr-defined]
    assert issued == tuple(w.message for w in caught)


def test_a_spectrum_counts_its_newton_steps():
    p = og.Problem(**SIZES, eta=8.0)
    found = og.spectrum(p, method="uniform")
    assert found.residual < 1e-5 and found.iterations > 120
    limit = og.spectrum(p, method="asymptotic")
    assert (limit.residual, limit.iterations, limit.warnings) == (None, None, ())
