"""Every formula against tabulated values.

tests/numbers/theory_reference.json: values of an independent implementation, rounded to 8 digits,
with simulations beside them (float64; `sizes` says n, d, N and seeds). For "train drop" and "test
drop" the spikes u, u^2, ... were added as unpenalised features, whatever the student: an update
that is exactly rank one and has every degree.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import onegrad as og
from onegrad.functions import resolve
from onegrad.theory import bounds
from onegrad.theory.asymptotic import small_step, staircase
from onegrad.theory.asymptotic.limiting_spectrum import untrained_bulk
from onegrad.theory.asymptotic.outliers import outliers_beyond, perturbation, profiles
from onegrad.theory.asymptotic.random_features import untrained
from onegrad.theory.asymptotic.scalars import Scalars
from onegrad.theory.direction import direction

ROWS = json.loads((Path(__file__).parents[2] / "numbers" / "theory_reference.json").read_text())

FUNCTIONS = {
    "tanh": "tanh", "erf": "erf", "erf2": "erf2",
    "relu": "relu:unit", "softplus": "softplus:unit", "sigmoid": "sigmoid:unit",
    "relu_c": "relu", "softplus_c": "softplus",
    "H1": "H1", "H1H2": "H1 + H2/sqrt(2)",
    "H12": "H1 + H2/sqrt(2):unit", "H13": "H1 + H3/sqrt(6):unit",
    "H123": "H1 + H2/sqrt(2) + H3/sqrt(6):unit",
    "H1234": "H1 + H2/sqrt(2) + H3/sqrt(6) + H4/sqrt(24):unit",
    "tanh+0.5": replace(resolve("tanh:raw"), offset=-0.5),
}  # fmt: skip


def rows(task, quantity=""):
    """The rows of a task whose quantity starts so, as pytest parameters."""
    found = [r for r in ROWS if r["task"].startswith(task) and r["quantity"].startswith(quantity)]
    assert found
    return pytest.mark.parametrize(
        "row",
        found,
        ids=lambda r: "-".join(str(v) for v in (r["quantity"], *r["setting"].values())),
    )


def problem(row, **others):
    setting, sizes = row["setting"], row["sizes"]
    residual = {"y": "labels", "full": "full"}[setting.get("resid", setting.get("update", "y"))]
    return og.Problem(
        n=sizes["n"], d=sizes["d"], N=sizes["N"],
        activation=FUNCTIONS[setting.get("student", setting.get("act"))],
        teacher=FUNCTIONS[setting.get("teacher", "H1")],
        noise=setting.get("noise", 0.0), ridge=setting.get("lam", 1.0), eta=setting.get("eta", 0.0),
        residual=residual, weights="gaussian" if setting.get("w0") == "gauss" else "sphere",
        **others,
    )  # fmt: skip


def agree(value, row, tolerance=1e-6):
    assert float(value) == pytest.approx(row["theory"], rel=tolerance, abs=0.0)


@rows("2 traces")
def test_traces(row):
    s = Scalars.of([problem(row)])
    name = row["quantity"].replace("m", "M")  # m_i = M_i phi/psi
    agree(getattr(s.traces, name)[0] * s.phi[0] / s.psi[0], row)


@rows("3 direction", "|beta|^2")
def test_length_of_the_learned_direction(row):
    agree(direction(problem(row)).b_squared, row)


@rows("3 direction", "cos^2")
def test_overlap_of_the_learned_direction(row):
    agree(direction(problem(row)).rho ** 2, row)


@rows("3 constant spike")
def test_constant_spike(row):
    p = problem(row)
    s = Scalars.of([p])
    assert 1 + s.nu_squared[0] == pytest.approx(row["theory_leading"], rel=5e-4)  # 4 digits given
    g, weights, b = profiles(p)
    tau = s.c1[0] * p.eta * np.sqrt(s.direction.b_squared[0] / p.N)
    coefficient = weights @ (b[:, 0] * (g**2 - 1)) / 2 / (s.c[0, 2] * tau**2)
    agree(coefficient, row, 1e-6 if row["setting"]["student"] == "H12" else 2e-5)


@rows("3 train drop")
def test_train_drop(row):
    count = np.array([int(row["quantity"][-1])])
    s = Scalars.of([problem(row)])
    agree(staircase.staircase_drops(s, staircase.all_degrees(count), rank_one=True).train[0], row)


@rows("4 test drop")
def test_test_drop(row):
    count = np.array([int(row["quantity"][-1])])
    s = Scalars.of([problem(row)])
    agree(staircase.staircase_drops(s, staircase.all_degrees(count), rank_one=True).test[0], row)


@rows("3 uncentred")
def test_uncentred_student(row):
    s = Scalars.of([problem(row)])
    drop = staircase.staircase_drops(s, staircase.all_degrees(np.array([2])))
    agree((drop.train if row["quantity"].startswith("Delta") else drop.test)[0], row)


@rows("5 levels")
def test_levels_of_untrained_features(row):
    prediction = og.predict(problem(row), theory="random-features")
    agree(prediction.train if row["quantity"].startswith("L_tr") else prediction.test, row)


@rows("6 Ba")
def test_constant_step(row):
    p = problem(row)
    if row["quantity"] == "R0":
        agree(og.predict(p, theory="random-features").risk, row)
    elif row["quantity"] == "R1":
        agree(og.predict(p, theory="small-step").risk, row)
    else:
        agree(small_step.small_step_drops(Scalars.of([p])).test[0], row)


@rows("8 edge")
def test_right_edge(row):
    agree(og.spectrum(problem(row)).edge, row)


@rows("8 bulk")
def test_fraction_above_a_threshold(row):
    low = row["setting"]["threshold"]
    p = problem(row)
    bulk = untrained_bulk(p)
    theta = (np.arange(2000) + 0.5) * np.pi / 4000
    x = low + (bulk.edge - low) * np.sin(theta) ** 2
    fraction = np.pi / 4000 * np.sum(bulk.density(x) * (bulk.edge - low) * np.sin(2 * theta))
    agree(fraction, row, 1e-2)
    assert abs(fraction - row["sim_mean"]) < 4 * row["sim_se"] + 1.5 / p.n  # one eigenvalue is 1/n


@rows("8 spikes")
def test_outliers(row):
    setting = row["setting"]
    p = problem(row)
    # the table keeps h_0, ..., h_6
    x, cosines = outliers_beyond(untrained_bulk(p), perturbation(p, degrees=6))[
        setting["outlier"] - 1
    ]
    value = x if row["quantity"].startswith("outlier") else cosines[int(row["quantity"][-4]) - 1]
    full = setting["resid"] == "full"
    if full and setting["outlier"] == 2:  # the table's is 24 % above the networks
        assert (
            abs(value - row["sim_mean"]) < 3 * row["sim_se"] < abs(row["theory"] - row["sim_mean"])
        )
    else:
        agree(value, row, 0.025 if full and setting["student"] == "tanh" else 1e-6)


@rows("9 tau")
def test_best_neuron(row):
    sigma, teacher = (FUNCTIONS[row["setting"][k]] for k in ("sigma", "sigma_star"))
    tau, kappa = bounds.tau_star(sigma, teacher)
    assert kappa == pytest.approx(row["setting"]["kappa_star"], rel=1e-6)
    assert bounds.kernel_lower_bound(teacher) == pytest.approx(
        row["setting"]["kernel_lower_bound"], rel=1e-6
    )
    if row["theory"] < 1e-15:
        assert tau < 1e-15
    else:
        agree(tau, row)


def test_untrained_network_is_the_start_of_every_asymptotic_theory():
    p = problem(next(r for r in ROWS if r["task"] == "5 levels")).replace(eta=0.0)
    level = untrained(Scalars.of([p]))
    for theory in ("staircase", "small-step", "random-features"):
        prediction = og.predict(p, theory=theory)
        assert (prediction.train, prediction.test) == (level.train[0], level.test[0])
