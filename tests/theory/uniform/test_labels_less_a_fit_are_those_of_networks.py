"""Labels less their mean, or less their mean and linear fit, against networks and sampled rows.

Their errors at random settings are among those of test_stored_simulations_agree.py.
"""

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.uniform.laws.rows import points_of_step, row_sizes, step_moments
from onegrad.theory.uniform.laws.table import laws_of
from onegrad.theory.uniform.step import take_step

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
MAX_DEVIATION = 4.0  # standard errors


SMALL = {"n": 300, "d": 150, "N": 60, "noise": 0.1, "alpha": 0.4, "teacher": "tanh",
         "residual": "mean-field"}  # fmt: skip
LEAST = {"n": 400, "n_step": 300, "d": 200, "N": 300, "activation": "relu", "noise": 0.3,
         "teacher": "H1 + H2/sqrt(2)", "alpha": 0.3,
         "labels": "residual-least-squares"}  # fmt: skip
MEAN = {"n": 400, "d": 200, "N": 300, "activation": "tanh", "teacher": "relu:raw", "noise": 0.2,
        "alpha": 0.3, "labels": "centred"}  # fmt: skip
CASES = [  # and what networks tell apart from it
    (MEAN, {"labels": "plain"}),
    (LEAST, {"labels": "residual-linear"}),
    (LEAST | {"residual": "full"}, {"labels": "residual-linear"}),
    *((SMALL | {"activation": activation, "readout": readout}, {"residual": "full"})
      for activation in ("softplus", "relu:raw") for readout in ("gaussian", "constant")),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "other"), CASES, ids=lambda x: x.get("labels"))
def test_errors_are_those_of_networks(fields, other):
    problem = og.Problem(**fields)
    networks = og.simulate(problem, seeds=40 if problem.N == 60 else 24)
    ours = og.predict(problem)
    for name in ("train", "test"):
        measured = getattr(networks, name)
        assert abs(getattr(ours, name) - measured.mean) < MAX_DEVIATION * measured.se
    others = og.predict(problem.replace(**other))
    assert abs(others.test - networks.test.mean) > MAX_DEVIATION * networks.test.se


@pytest.mark.parametrize("replaced", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["residual-linear", "residual-least-squares"])
def test_the_moments_on_the_rows_of_the_fit_are_those_of_its_nodes(kind, replaced):
    problem = og.Problem(
        n=10**7, d=4 * 10**6, N=100, teacher="H1 + H2/2 + 1/3", noise=0.4, corrupted=replaced,
        labels=kind,
    )  # fmt: skip
    step = take_step(laws_of(problem)[0])
    (law,), fit = points_of_step(step, row_sizes(step.inputs, 0.0), None), step.labels.fit
    assert law.primitives[:1] @ (law.p * law.r) == pytest.approx(fit.step_linear[:1], abs=2e-3)
    assert law.p @ law.r == pytest.approx(fit.step_mean, abs=2e-3)
    energy = law.p @ law.r**2
    assert energy == pytest.approx(fit.step_energy, rel=0.01)
    fitted = law.constraint_functions[1]
    free = energy - (law.p @ (law.r * fitted)) ** 2 / (law.p @ fitted**2)
    assert free == pytest.approx(fit.free_energy, rel=0.01, abs=1e-9)


def test_the_step_of_labels_less_their_fit_is_that_of_sampled_rows():
    """Length of X^T r/n_0, and M and S along it, against 20 samples."""
    n, d = 800, 400
    problem = og.Problem(
        n=n, d=d, N=500, activation="relu", teacher="H1 + H2/sqrt(2)", noise=0.3, alpha=0.3,
        labels="residual-linear",
    )  # fmt: skip
    rng, sampled = np.random.default_rng(0), []
    for _ in range(20):
        X = rng.standard_normal((n, d))
        y = X[:, 0] + (X[:, 0] ** 2 - 1) / np.sqrt(2) + 0.3 * rng.standard_normal(n)
        r = y - y.mean() - X @ (X.T @ y) / n
        h = X.T @ r / n
        v = h / np.linalg.norm(h)
        M_vv, S_vv = (np.mean(r**k * (X @ v) ** 2) for k in (1, 2))
        sampled.append([h @ h, v[0], M_vv, S_vv])
    step = take_step(laws_of(problem)[0])
    moments = step_moments(step, points_of_step(step, row_sizes(step.inputs, 0.0), None))
    predicted = [step.b**2, step.overlaps[0], moments.M[0, 0], moments.S[0, 0]]
    mean, se = np.mean(sampled, 0), np.std(sampled, 0) / np.sqrt(20)
    assert np.abs((predicted - mean) / se).max() < 4
