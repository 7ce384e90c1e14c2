"""Out of scope raises one line; outside the checked range warns; no convergence has numbers."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import onegrad as og
from onegrad import AssumptionWarning, InvalidInput, NotConverged, OutOfScope, Problem
from onegrad.theory.scope import simulation_flops
from onegrad.theory.uniform import refine, solver, uniform_errors, uniform_spectrum
from onegrad.theory.uniform.discretise import Nodes
from onegrad.theory.uniform.features import averaged_features
from uniform_point import uniform_point

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
BASE = Problem(n=600, d=300, N=400, activation="tanh", teacher="H1", noise=0.5, ridge=0.01, eta=5.0)
LARGE = {"n": 3000, "noise": 0.0, "weights": "sphere", "inputs": "power-law(1)", "alpha": 0.5,
         "activation": "H1 + H2/2"}  # fmt: skip
REFUSED = [  # fields, and what the message names
    ({"steps": 3}, "steps"),
    ({"inputs": "student-t(5)"}, "gaussian, power-law, spiked"),
    # a direction of the inputs that takes over, of a quadratic activation
    (LARGE | {"d": 2663, "N": 3811, "n_step": 1500, "teacher": "silu", "ridge": 0.035,
              "readout": "rademacher", "residual": "full"}, "most of a neuron's variance"),
    ({"ridge_rows": "same", "inputs": "student-t(5)"}, "inputs"),
    ({"ridge_rows": "same", "inputs": "spiked(9)", "input_overlap": 0.6, "activation": "relu",
      "readout": "constant", "teacher": "H1/4 + H2", "eta": 30.0}, "eta"),
    ({"ridge_rows": "same", "teacher": "H1@1 + H1@7"}, "teacher"),
    ({"paired": True}, "paired"),
    # least squares without rows, or without a rest
    ({"labels": "residual-least-squares", "n_step": 300}, "n_step"),
    ({"labels": "residual-least-squares", "noise": 0.0}, "teacher"),
]  # fmt: skip


def test_what_is_not_derived_is_refused_in_one_line():
    for changes, named in REFUSED:
        with pytest.raises(OutOfScope, match=named) as error:
            uniform_point(BASE.replace(**changes))
        assert "\n" not in str(error.value), changes
    with pytest.raises(OutOfScope, match="steps"):
        uniform_spectrum(BASE.replace(steps=3))


ONLY_SIMULATED = [  # fields, and the field that is refused
    ({"update": "spectral"}, "update"),
    ({"update": "spectral", "steps": 2}, "update"),
    ({"update": "preconditioned", "steps": 2}, "steps"),
    ({"update": "preconditioned", "labels": "centred"}, "labels"),
    ({"update": "preconditioned", "labels": "residual-linear"}, "labels"),
]
SMALL = Problem(n=60, d=20, N=30, activation="tanh", teacher="H1", noise=0.5, ridge=0.01, alpha=0.3)


@pytest.mark.parametrize(("changes", "field"), ONLY_SIMULATED, ids=str)
@pytest.mark.parametrize("answer", [og.predict, og.spectrum, og.optimum, og.compare])
def test_what_only_networks_answer_is_refused_with_their_cost(answer, changes, field):
    problem = SMALL.replace(**changes)
    with pytest.raises(OutOfScope) as error:
        answer(problem)
    assert error.value.field == field
    flops = og.cost(problem, seeds=20).flops
    assert f"`simulate` covers it: 20 networks take about {flops:.1e} operations" in str(
        error.value
    )
    assert "\n" not in str(error.value)


def test_a_formula_is_compared_with_networks_that_no_theory_covers():
    problem = SMALL.replace(update="spectral", steps=2)
    assert og.compare(problem, seeds=2, theory=lambda _: 0.3).spectrum is None


def test_a_step_of_no_size_has_no_update():
    untrained = og.predict(SMALL, eta=0.0)
    assert og.predict(SMALL, eta=0.0, update="spectral").test == untrained.test


@pytest.mark.parametrize("n", [300, 5000])
@pytest.mark.parametrize("steps", [1, 2])
def test_a_refusal_knows_the_cost_of_networks(n, steps):
    problem = Problem(n=n, d=100, N=400, n_step=700, alpha=0.3, steps=steps)
    assert simulation_flops(problem) == pytest.approx(og.cost(problem, seeds=20).flops, rel=1e-12)


WARNED = [
    ({"n": 12}, "small sizes"),
    ({"noise_law": "student-t(3)"}, "fourth moment"),
    ({"activation": "H1 + H3", "eta": 20.0}, "steep tails"),
    ({"activation": "relu", "readout": "constant", "eta": 99.0, "n": 60000, "noise": 0.0,
      "N": 4000, "teacher": "H1 + H2/2"}, "equal readouts"),
    ({"N": 600, "ridge": 1e-7}, "interpolation"),
    ({"N": 600, "ridge": 1e-7}, "scatter"),
]  # fmt: skip


def test_leaving_the_checked_range_warns_and_is_kept():
    fields = {"accuracy", "spread", "noise_law", "quadrature_error"}
    for changes, named in WARNED:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = og.predict(BASE.replace(**changes))
        assert any(named in str(warning) for warning in result.warnings), named
        assert [w.message for w in caught] == list(result.warnings)
        assert {w.theory for w in result.warnings} == {"uniform"}
        assert all(w.field in fields for w in result.warnings)
        assert all(w.category is AssumptionWarning for w in caught)


@pytest.mark.parametrize(
    ("activation", "train", "test"),
    [  # mean and standard error of 100 networks at alpha = .35, .5
        ("H2", [(0.6787, 0.0103), (0.6313, 0.0097)], [(4.327, 0.056), (4.117, 0.051)]),
        ("H2 + H4/24", [(0.6741, 0.0104), (0.6181, 0.0091)], [(4.562, 0.059), (4.833, 0.065)]),
    ],
)
def test_a_direction_that_is_singled_out_widens_the_bars(activation, train, test):
    """M has an outlier along the teacher, and neurons read its square beyond the first order."""
    problem = og.Problem(
        n=500, d=200, N=300, noise=0.2, ridge=0.02, teacher="H2", activation=activation
    )
    found = og.predict(problem, alpha=[0.35, 0.5])
    other = og.predict(problem.replace(teacher="H1"), alpha=[0.35, 0.5])
    assert any("singles out" in str(warning) for warning in found.warnings)
    for name, networks in (("train", train), ("test", test)):
        (mean, se), value = np.array(networks).T, getattr(found, name)
        bar = getattr(found.accuracy, name)
        assert (np.abs(value - mean) < bar * value + 2 * se).all()
        assert (getattr(other.accuracy, name) < 0.5 * bar).all()  # no other teacher pays for it


@pytest.mark.parametrize(
    ("fields", "networks"),
    [
        (
            {"n": 147, "d": 208, "N": 255, "activation": "H1 + 0.2*H2 + 0.1*H4", "ridge": 0.00016,
             "teacher": "H1 + H2/sqrt(2)", "alpha": 0.62675},
            (1.0e-5, 420.0),  # 100 networks: standard errors of 7 and 6 %
        ),
        (
            {"n": 108, "d": 160, "N": 432, "activation": "H1 + 0.3*H3", "ridge": 0.00074,
             "teacher": "H1 + H2/sqrt(2) + H4/sqrt(24)", "alpha": 0.59961},
            (9.0e-6, 27.9),  # 600 networks: 4 and 4 %
        ),
    ],
)  # fmt: skip
@pytest.mark.full
def test_bars_of_steep_activations_hold(fields, networks):
    """Rows with many times larger features than others decide these fits; theory says so."""
    p = og.predict(og.Problem(noise=1.0, **fields))
    assert "steep tails of the features" in str(p.warnings[0])
    for name, mean in zip(("train", "test"), networks, strict=True):
        value, bar = getattr(p, name), getattr(p.accuracy, name)
        assert abs(mean - value) <= bar * value
        assert name == "test" or abs(mean - value) > 0.3 * value, "an ordinary bar would not do"


def test_ordinary_problems_do_not_warn_and_a_curve_warns_once():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert og.predict(BASE).warnings == ()
    heavy = BASE.replace(activation="H1 + H3")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        og.predict(heavy, eta=20.0, ridge=[0.01, 0.1])
    assert len(caught) == 1


def test_no_convergence_says_how_far_it_came(monkeypatch):
    monkeypatch.setattr(solver, "MAX_ITERATIONS", 2)
    with pytest.raises(NotConverged, match=r"change .* after 4 iterations"):
        uniform_point(BASE)


def test_an_error_of_which_nothing_is_known_is_none(monkeypatch):
    monkeypatch.setattr(refine, "MAX_ACCURACY", 0.0)
    with pytest.raises(NotConverged, match="nothing is known of this error"):
        uniform_point(BASE)


@pytest.mark.parametrize("activation", ["softplus", "tanh", "H1 + H2/2"])
def test_the_noise_of_long_neurons_is_the_derivative_of_the_noise(activation):
    sigma, mean = Problem(n=20, d=10, N=10, activation=activation).sigma, np.linspace(-1, 1, 5)
    types = SimpleNamespace(grown=0.5, own_reading=0.0, size=1.0)  # a length is the variance
    at = [averaged_features(sigma, types, 1.0, mean, np.full(5, s), 0.0) for s in (0.99, 1.0, 1.01)]
    difference = (at[2].noise - at[0].noise) / (1.01**2 - 0.99**2)
    np.testing.assert_allclose(
        at[1].noise_by_length, difference, rtol=0.15, atol=1e-3
    )  # steps of 0.25


def test_tolerance_must_be_positive():
    with pytest.raises(InvalidInput, match="rtol"):
        uniform_point(BASE, rtol=0.0)


def test_more_nodes_are_used_until_the_tolerance_is_met():
    strong = BASE.replace(alpha=0.8)
    rough, fine = uniform_point(strong, rtol=0.05), uniform_point(strong, rtol=1e-5)
    assert fine.nodes[0] > rough.nodes[0]
    assert fine.quadrature_error <= 1e-5
    assert abs(rough.test / fine.test - 1) <= 2 * rough.quadrature_error + 1e-5


def test_a_curve_is_its_points():
    problems = [BASE.replace(alpha=a) for a in np.linspace(0, 0.5, 6)]
    problems += [BASE.replace(ridge=r) for r in (1e-3, 1.0)] + [BASE.replace(readout="constant")]
    alone, curve = [uniform_point(p) for p in problems], uniform_errors(problems)
    assert curve.train == pytest.approx([one.train for one in alone], rel=2e-3)
    assert curve.test == pytest.approx([one.test for one in alone], rel=2e-3)
    exact = [uniform_point(p, nodes=Nodes()).test for p in problems]
    assert uniform_errors(problems, nodes=Nodes()).test == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("activation", ["gelu", "silu", "elu", "leaky_relu", "cos", "arctan", "H2"])
def test_any_activation_and_ridge_converges(activation):
    for ridge in (1e-8, 1e-3, 1e3):
        problem = BASE.replace(activation=activation, ridge=ridge, teacher="H2 + H1/2")
        result = uniform_point(problem)
        assert 0 < result.squared_loss <= result.train <= result.test + 1e-9
        assert np.isfinite(result.test)


def test_ridge_to_infinity_gives_back_the_labels():
    result = uniform_point(BASE.replace(ridge=1e9))
    energy = 1 + BASE.noise**2
    assert result.train == pytest.approx(energy, rel=1e-6)
    assert result.test == pytest.approx(energy, rel=1e-6)
