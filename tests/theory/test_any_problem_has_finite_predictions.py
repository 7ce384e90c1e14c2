"""Whatever `Problem` accepts, every theory answers: numbers that can be true, or one line."""

import numpy as np
import pytest
from soak.random_problems import ATTACKS, random_problem

import onegrad as og
from onegrad.theory import THEORIES, evaluate_theory

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
COUNTS = {"uniform": (6, 60), "staircase": (60, 400), "small-step": (60, 400),
          "random-features": (60, 400)}  # fast, and all  # fmt: skip
HOSTILE = (
    {"activation": "100*H1", "alpha": 0.3, "ridge": 1e-8},
    {"noise": 1e200},
    {"ridge": 1e200},
    {"ridge": 1e-200},
    {"activation": "H1 - H1"},
    {"teacher": "H1 - H1", "noise": 0.0},
    {"alpha": 10.0},
    {"n": 1, "eta": 1.0, "alpha": None},
)
BASE = {"n": 1000, "d": 500, "N": 667, "alpha": 0.3}


def answer(call):
    """What the call gives, or None where it says in one line that it has no answer."""
    try:
        return call()
    except (og.OutOfScope, og.NotConverged) as error:
        assert "\n" not in str(error)
        return None


def assert_can_be_true(problem, found):
    labels = problem.teacher_function.second_moment + problem.noise**2
    if np.isfinite(found.label_energy):  # of inputs with a covariance
        labels = found.label_energy
    if problem.labels == "centred":
        labels *= 1 + 1 / problem.rows_of_step
    elif problem.labels != "plain":
        labels = np.inf  # a fit may be worse than none
    assert np.isfinite([found.train, found.test, found.squared_loss, found.risk]).all()
    assert 0 <= found.squared_loss <= found.train <= labels
    assert found.test >= problem.noise**2
    for bars in (found.accuracy, found.spread):
        assert found.theory != "uniform" or (bars.train >= 0 and bars.test >= 0)


def answered(problem, theory="uniform"):
    """Whether there is an answer; it must be possible."""
    found = answer(lambda: evaluate_theory(problem, theory))
    if found is not None:
        assert_can_be_true(problem, found)
    return found is not None


@pytest.mark.parametrize("theory", THEORIES)
@pytest.mark.parametrize("tier", [0, pytest.param(1, marks=pytest.mark.full)])
def test_random_problems(theory, tier):
    rng, count = np.random.default_rng(17), COUNTS[theory][tier]
    answers = [answered(random_problem(rng), theory) for _ in range(count)]
    assert sum(answers) > count / 10  # refusing everything is no answer


@pytest.mark.parametrize("theory", THEORIES)
def test_hostile_problems(theory):
    for changes in HOSTILE:
        answered(og.Problem(**BASE | changes), theory)


@pytest.mark.full
@pytest.mark.parametrize("problem", ATTACKS, ids=str)
def test_problems_that_attacks_found(problem):
    answered(problem)


@pytest.mark.parametrize(
    ("method", "count"), [("asymptotic", 30), pytest.param("uniform", 6, marks=pytest.mark.full)]
)
def test_spectra(method, count):
    rng = np.random.default_rng(3)
    for _ in range(count):
        problem = random_problem(rng)
        spectrum = answer(lambda p=problem: og.spectrum(p, method=method))
        if spectrum is None:
            continue
        assert 0 < spectrum.edge < np.inf
        assert np.all(np.isfinite(spectrum.rho)) and np.all(spectrum.rho >= 0)
        eigenvalues = [spike.eigenvalue for spike in spectrum.spikes]
        assert eigenvalues == sorted(eigenvalues, reverse=True)
        assert all(x > spectrum.edge for x in eigenvalues)
        for spike in spectrum.spikes:
            assert all(-1e-12 <= cosine <= 1 + 1e-6 for cosine in spike.alignment.values())
