"""og.compare: the same problem in theory and on networks, one table, one true sentence."""

import dataclasses

import numpy as np
import pytest

import onegrad as og

PROBLEM = og.Problem(
    n=400, d=50, N=100, activation="softplus", teacher="H1 + H2/sqrt(2)", alpha=0.4
)


@pytest.fixture(scope="module")
def comparison():
    return og.compare(PROBLEM, seeds=12)


def test_both_sides_are_those_of_predict_and_simulate(comparison):
    last = comparison.results()[-1]
    prediction, simulation = og.predict(PROBLEM), og.simulate(PROBLEM, seeds=12)
    assert last["alpha"] == 0.4
    assert last["test"] == pytest.approx(prediction.test, rel=1e-3)
    assert last["test_networks"] == pytest.approx(simulation.test.mean, rel=1e-12)
    assert comparison.untrained == pytest.approx(og.predict(PROBLEM.replace(eta=0.0)).test)


def test_z_counts_standard_deviations_of_both(comparison):
    row = comparison.results()[2]
    scale = np.hypot(row["test_se"], row["test_accuracy"] * row["test"] / 1.96)
    assert row["test_z"] == pytest.approx((row["test_networks"] - row["test"]) / scale)


def test_the_sentence_follows_the_numbers(comparison):
    assert comparison.agrees
    assert "agree" in comparison.sentence
    assert ", below the bound 1 for every kernel" in comparison.sentence
    wrong = dataclasses.replace(
        comparison.prediction, test=2 * np.asarray(comparison.prediction.test)
    )
    other = dataclasses.replace(comparison, prediction=wrong)
    assert not other.agrees
    assert "differ" in other.sentence
    weak = og.compare(PROBLEM.replace(alpha=0.05), seeds=3)
    assert "not below the bound" in weak.sentence


def test_a_picture_has_errors_and_spectrum(comparison):
    figure = comparison.plot()
    errors, spectrum = figure.axes
    assert errors.get_xlabel() == "Step exponent α"
    assert "singular values" in spectrum.get_xlabel()
    drawn = [line for line in errors.get_lines() if line.get_gid() == "error"]
    assert len(drawn[0].get_xdata()) > 20  # a curve, not the networks' six points
    import matplotlib.pyplot as plt

    plt.close(figure)


def test_axes_of_its_own():
    comparison = og.compare(PROBLEM, seeds=2, ridge=[1e-3, 1e-1])
    assert [row["ridge"] for row in comparison.results()] == [1e-3, 1e-1]
    assert comparison.curve is None
