"""Errors under adversarial perturbations: gradients, the first-order formula, and their theory."""

import numpy as np
import pytest

from onegrad import Problem
from onegrad.experiments.cell import Cell
from onegrad.networks import predict_fresh_rows
from onegrad.studies.measures import adversarial_inputs
from onegrad.studies.measures.adversarial_inputs import LENGTHS, adversarial, gradient_energy

PROBLEM = Problem(
    n=400, d=50, N=100, activation="softplus", teacher="H1 + H2/sqrt(2)", ridge=0.01, alpha=0.3
)


def cell(problem: Problem, seeds: int, rows: int = 2000) -> Cell:
    steps, options = (problem.step,), (("n_test", rows),)
    return Cell("adversarial", problem, steps, (problem.ridge,), 0, seeds, options)


def test_the_error_without_a_perturbation_is_that_of_the_network() -> None:
    fresh = predict_fresh_rows(PROBLEM, 0, 2000)
    risk = np.mean((fresh.labels - fresh.predictions) ** 2)
    assert adversarial(cell(PROBLEM, 1), "cpu")["risk"].item() == pytest.approx(risk)


def test_short_perturbations_have_the_error_of_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = (1e-4, 2e-4, 0.01)
    monkeypatch.setattr(adversarial_inputs, "LENGTHS", lengths)
    values = adversarial(cell(PROBLEM, 1), "cpu")
    risk, slope, gradient = (values[q].item() for q in ("risk", "slope", "gradient"))
    first_order = (values["attacked"].ravel() - risk) / lengths
    assert first_order[0] == pytest.approx(2 * slope, rel=1e-3)
    expected = risk + 2 * lengths[2] * slope + lengths[2] ** 2 * gradient
    assert values["attacked"].ravel()[2] == pytest.approx(expected, rel=1e-4)


def test_longer_perturbations_do_more_harm() -> None:
    attacked = adversarial(cell(PROBLEM, 1), "cpu")["attacked"].ravel()
    assert len(attacked) == len(LENGTHS) and np.all(np.diff(attacked) > 0)


@pytest.mark.parametrize("step", [{"eta": 0.0}, {"alpha": 0.3}])
def test_theory_gives_the_mean_square_of_the_gradient(step: dict[str, float]) -> None:
    fields = {**PROBLEM.changed(), "n": 1000, "d": 125, "N": 250}
    problem = Problem(**{k: v for k, v in fields.items() if k not in ("alpha", "eta")}, **step)
    values = adversarial(cell(problem, 16, 1000), "cpu")["gradient"].ravel()
    se = values.std(ddof=1) / np.sqrt(len(values))
    expected = gradient_energy(problem)
    assert abs(values.mean() - expected) < 3 * se + 0.03 * expected
    assert 3 * se + 0.03 * expected < 0.15 * expected, "the test can fail"
