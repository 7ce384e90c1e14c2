"""Edge, outliers and alignments at finite strength against sampled features.

Reference: n = 800, d = 400, N = 600; ten seeds of the top eigenvalues of F F^T/n a setting (400
where there are two outliers), and alignments of the leading left singular vectors with He_k of the
learned index.
"""

import pytest

from onegrad import Problem
from onegrad.theory import spectrum as published
from onegrad.theory.uniform import uniform_spectrum

SIZES = {"n": 800, "d": 400, "N": 600}


@pytest.mark.parametrize(
    ("changes", "eigenvalue", "se", "second"),
    [
        ({"activation": "tanh", "teacher": "H1", "noise": 0.5, "eta": 4.0}, 4.75, 0.10, 2.62),
        ({"activation": "tanh", "teacher": "H1", "noise": 0.5, "eta": 8.0}, 13.9, 0.3, 2.57),
        ({"activation": "tanh", "teacher": "tanh", "noise": 0.1, "eta": 20.0}, 26.1, 0.5, 2.51),
    ],
)
def test_one_outlier_beyond_the_edge(changes, eigenvalue, se, second):
    found = uniform_spectrum(Problem(**SIZES, **changes))
    assert len(found.spikes) == 1
    assert found.spikes[0].eigenvalue == pytest.approx(eigenvalue, abs=2 * se)
    assert 0 < found.edge - second < 0.06 * second  # the largest bulk eigenvalue is a bit inside


@pytest.mark.full
def test_outliers_of_preconditioned_steps_are_those_of_networks():
    for fields, eigenvalue, se in (  # 40 networks each: networks.spectrum(problem, seeds=40)
        ({"activation": "tanh", "teacher": "H1", "noise": 0.5, "eta": 8.0}, 11.795, 0.203),
        ({"activation": "tanh", "teacher": "tanh", "noise": 0.1, "eta": 20.0}, 21.013, 0.348),
        ({"activation": "relu", "teacher": "H1 + H2/sqrt(2)", "eta": 12.0}, 17.465, 0.646),
    ):
        problem = Problem(n=400, d=200, N=300, **fields)
        of_step, of_gradient = (
            uniform_spectrum(problem.replace(update=update)).spikes[0].eigenvalue
            for update in ("preconditioned", "gradient")
        )
        assert abs(of_step - eigenvalue) < 3 * se < of_gradient - eigenvalue, fields


def test_relu_has_a_quadratic_spike_with_its_alignment():
    problem = Problem(**SIZES, activation="relu", teacher="H1 + H2/sqrt(2)", eta=12.0)
    first, second = uniform_spectrum(problem).spikes
    # onegrad spectrum --n 800 --d 400 --N 600 --activation relu --teacher "H1 + H2/sqrt(2)"
    # --eta 12 --simulate --seeds 400
    assert first.eigenvalue == pytest.approx(19.79, abs=4 * 0.165)
    assert second.eigenvalue == pytest.approx(4.102, abs=4 * 0.044)
    assert first.alignment[1] == pytest.approx(0.9725, abs=0.005)
    assert second.alignment[2] == pytest.approx(0.315, abs=0.02)
    assert second.alignment[1] < 0.01


def test_poles_of_the_form_are_no_outliers():
    """Lengths of neurons and of rows, which H2 has, make a pole of the form beyond the bulk."""
    problem = Problem(n=1000, d=500, N=667, activation="H2", alpha=0.4)
    eigenvalues = [spike.eigenvalue for spike in uniform_spectrum(problem).spikes]
    # networks.spectrum(problem, seeds=40): (F[:, 0] ** 2 / n), mean and standard error
    assert eigenvalues[0] == pytest.approx(1283.3, abs=3 * 35)
    assert len(eigenvalues) == 2  # eleven more at 154.6 with the pole


def test_the_bulk_moves_with_the_step():
    problem = Problem(**SIZES, activation="tanh", teacher="H1", noise=0.5, eta=20.0)
    assert uniform_spectrum(problem).edge < uniform_spectrum(problem.replace(eta=0.0)).edge - 0.05


def test_without_a_step_it_is_the_bulk_of_random_features():
    problem = Problem(n=80000, d=40000, N=60000, activation="tanh", teacher="H1")
    ours, limit = uniform_spectrum(problem), published(problem)
    assert ours.spikes == []
    assert ours.edge == pytest.approx(limit.edge, rel=1e-3)
    assert ours.lower_edge == pytest.approx(limit.lower_edge, rel=0.02)
    x = ours.x[20:-20]
    assert ours.rho[20:-20] == pytest.approx(limit.density(x), rel=0.01)


@pytest.mark.full
def test_a_weak_step_leaves_no_outlier_and_a_full_residual_moves_it():
    problem = Problem(**SIZES, activation="tanh", teacher="H1", noise=0.5, eta=1.0)
    assert uniform_spectrum(problem).spikes == []
    strong = problem.replace(eta=8.0)
    labels, full = uniform_spectrum(strong), uniform_spectrum(strong.replace(residual="full"))
    assert full.spikes[0].eigenvalue == pytest.approx(15.50, abs=2 * 0.25)  # 24 seeds
    assert full.spikes[0].eigenvalue > labels.spikes[0].eigenvalue + 1


@pytest.mark.full
def test_relu_with_the_full_residual_has_both_outliers():
    """60 networks, at the expected |a|^2 and |X^T r/n|^2; the residual y has them a third lower."""
    problem = Problem(
        n=800, d=300, N=600, activation="relu:unit", teacher="H1 + H2/sqrt(2)", noise=0.3, eta=8.0,
        weights="sphere", residual="full",
    )  # fmt: skip
    first, second = uniform_spectrum(problem).spikes
    assert first.eigenvalue == pytest.approx(96.7, abs=2 * 0.82)
    assert second.eigenvalue == pytest.approx(23.5, abs=2 * 0.33)
