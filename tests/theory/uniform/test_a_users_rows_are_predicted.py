"""A user's rows: their mean, covariance and lengths predict what networks on them measure."""

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.uniform.laws.inputs import InputSpectrum

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
MAX_DEVIATION = 4.0  # standard errors
THEORY_ERROR = 0.02  # relative, at these sizes
SIZES = {"n": 400, "d": 100, "N": 200, "noise": 0.3, "ridge": 0.02, "alpha": 0.3}


def some_rows(mean=0.0, tail=0.0, count=4000, d=100):
    """Return rows with a power law of variances, one mean in every column, and a random scale."""
    rng = np.random.default_rng(5)
    variances = np.arange(1, d + 1) ** -0.5
    X = rng.standard_normal((count, d)) * np.sqrt(variances / variances.mean())
    scale = np.exp(tail * rng.standard_normal((count, 1)) - tail**2 / 2)
    return mean + scale * X


def off(prediction, simulation, kind):
    measured = getattr(simulation, kind)
    error = abs(getattr(prediction, kind) - measured.mean)
    return error / (MAX_DEVIATION * measured.se + THEORY_ERROR * measured.mean)


@pytest.mark.parametrize(
    ("mean", "tail", "activation", "teacher"),
    [
        (0.0, 0.0, "gelu", "H1 + H2/2"),
        pytest.param(0.6, 0.0, "gelu", "H1 + H2/2", marks=pytest.mark.full),
        (0.0, 0.4, "tanh", "H1"),  # of long rows and squares networks differ too much
    ],
    ids=["plain", "mean", "tail"],
)
def test_networks_on_the_rows_agree(mean, tail, activation, teacher):
    X = some_rows(mean, tail)
    problem = og.Problem(**SIZES, activation=activation, teacher=teacher)
    simulation = og.simulate(problem, 40, rows=X)
    prediction = og.predict(problem, rows=X)
    assert off(prediction, simulation, "train") < 1
    assert off(prediction, simulation, "test") < 1
    if mean or tail:
        isotropic = og.predict(problem)
        assert max(off(isotropic, simulation, kind) for kind in ("train", "test")) > 1


def test_rows_of_a_law_are_the_law():
    X = some_rows()
    problem = og.Problem(**SIZES, activation="relu", teacher="tanh")
    of_rows, of_law = og.predict(problem, rows=X), og.predict(problem, inputs="power-law(0.5)")
    assert of_rows.train == pytest.approx(of_law.train, rel=0.02)
    assert of_rows.test == pytest.approx(of_law.test, rel=0.02)


def test_the_spectrum_keeps_variance_mean_and_lengths():
    X = some_rows(mean=0.6, tail=0.4)
    spectrum = InputSpectrum.of_rows(X)
    assert spectrum.moment(1) == pytest.approx(X.var(0).mean())
    assert spectrum.mean_square == pytest.approx((X.mean(0) ** 2).sum())
    lengths = ((X - X.mean(0)) ** 2).sum(1)
    assert spectrum.length_deviation == pytest.approx(lengths.std() / lengths.mean())
    nodes, weights = spectrum.scales
    assert weights @ nodes == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((30, 7)), "d = 100"),
        (np.zeros((30, 100)), "all rows are equal"),
        (np.full((30, 100), np.nan), "NaN or infinity"),
        ([["a"]], "an array of numbers"),
    ],
)
def test_rows_that_do_not_fit_are_refused_in_one_line(rows, message):
    with pytest.raises(og.InvalidInput, match=message) as error:
        og.predict(og.Problem(**SIZES), rows=rows)
    assert "\n" not in str(error.value)


def test_rows_are_for_one_theory_and_standard_inputs():
    X = some_rows()
    with pytest.raises(og.InvalidInput, match="does not read them"):
        og.predict(og.Problem(**SIZES), theory="staircase", rows=X)
    with pytest.raises(og.OutOfScope, match="inputs"):
        og.predict(og.Problem(**SIZES, inputs="spiked(4)"), rows=X)
