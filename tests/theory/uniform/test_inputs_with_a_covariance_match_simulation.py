"""Inputs with a covariance: power laws and spikes against simulated networks, and the limits.

`tests/numbers/inputs_with_a_covariance.json` has means and standard errors over 64 networks each,
simulated independently of this package (plain torch); six of the settings of
benchmarks/settings/reach_covariance.json.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.uniform.input_covariance import InputSpectrum
from onegrad.theory.uniform.routes import uniform_errors

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
FILE = Path(__file__).parents[2] / "numbers" / "inputs_with_a_covariance.json"
SETTINGS = json.loads(FILE.read_text())
TOLERANCE = 3.0  # standard errors
THEORY_ERROR = 0.005  # relative, of the theory at these sizes


def name_of(setting):
    p = setting["problem"]
    return f"{p['inputs']}, {p['activation']}, {p['readout']}, {p['residual']}"


@pytest.mark.parametrize("setting", SETTINGS, ids=name_of)
def test_predictions_match_networks(setting):
    problem, mean, se = og.Problem(**setting["problem"]), *map(np.array, _numbers(setting))
    predicted = og.predict(problem, alpha=setting["alpha"])
    ours = np.column_stack([predicted.train, predicted.test])
    assert (np.abs(ours - mean) < TOLERANCE * se + THEORY_ERROR * mean).all()
    isotropic = og.predict(problem.replace(inputs="gaussian"), alpha=setting["alpha"])
    others = np.column_stack([isotropic.train, isotropic.test])
    assert (np.abs(others - mean) > TOLERANCE * se).any(), "the covariance makes no difference"


def _numbers(setting):
    return setting["mean"], setting["se"]


def test_a_wrong_factor_in_the_spectrum_fails():
    setting = SETTINGS[3]
    problem = og.Problem(**setting["problem"])
    law = InputSpectrum.of_law(problem)
    wrong = replace(law, values=1.1 * law.values)
    plain = problem.replace(inputs="gaussian")  # the spectrum says what the inputs are
    errors = uniform_errors([plain.replace(alpha=a) for a in setting["alpha"]], inputs=wrong)
    mean, se = map(np.array, _numbers(setting))
    ours = np.column_stack([errors.train, errors.test])
    assert (np.abs(ours - mean) > TOLERANCE * se + THEORY_ERROR * mean).any()


@pytest.mark.parametrize(("activation", "residual"), [("tanh", "labels"), ("tanh", "full")])
def test_equal_eigenvalues_are_the_isotropic_theory(activation, residual):
    problem = og.Problem(
        n=1000, d=400, N=500, activation=activation, teacher="tanh", noise=0.3, residual=residual
    )
    problems = [problem.replace(alpha=alpha) for alpha in (0.0, 0.3, 0.5)]
    flat = InputSpectrum(np.ones(1), np.array([400.0]))
    ours, isotropic = uniform_errors(problems, inputs=flat), uniform_errors(problems)
    assert ours.train == pytest.approx(isotropic.train, rel=5e-3)
    assert ours.test == pytest.approx(isotropic.test, rel=5e-3)


@pytest.mark.parametrize("inputs", ["power-law(0.5)", "spiked(5)"])
def test_without_a_step_the_direction_of_the_step_does_not_matter(inputs):
    problem = og.Problem(n=1000, d=241, N=169, inputs=inputs, eta=1e-6, noise=0.5)
    others = [
        problem.replace(n_step=500),
        problem.replace(n_step=4000),
        problem.replace(readout="constant"),
        problem.replace(readout="rademacher", residual="full"),
    ]
    errors = uniform_errors([problem, *others])
    assert errors.train == pytest.approx(errors.train[0], rel=4e-3)
    assert errors.test == pytest.approx(errors.test[0], rel=4e-3)


def test_other_inputs_are_refused_in_one_line():
    problem = og.Problem(n=100, d=50, N=80, inputs="student-t(5)")
    with pytest.raises(og.OutOfScope, match="power-law, spiked"):
        og.predict(problem)
    problem = og.Problem(n=100, d=50, N=80, inputs="spiked(5)", teacher="x1*x2 + x1")
    with pytest.raises(og.OutOfScope, match="one index"):
        og.predict(problem)
