"""What a notebook or a terminal prints of a result fits on a few lines, whatever its size."""

import numpy as np

import onegrad as og
from onegrad.networks import spectrum as measure

PROBLEM = og.Problem(n=300, d=60, N=80, activation="softplus", teacher="x^2 + x", alpha=0.4)
MAX_CHARACTERS = 420


def test_a_problem_shows_what_is_not_default():
    assert repr(og.Problem(n=4, d=3, N=2)) == "Problem(n=4, d=3, N=2, eta=0.0)"
    assert repr(PROBLEM).startswith("Problem(n=300, d=60, N=80, activation='softplus', teacher=")
    assert "ridge" not in repr(PROBLEM) and "alpha=0.4" in repr(PROBLEM)


def test_results_are_short():
    many = np.linspace(0.1, 0.4, 40).tolist()
    for result in (
        og.predict(PROBLEM),
        og.predict(PROBLEM, "random-features", ridge=many),
        og.simulate(PROBLEM, seeds=2, alpha=many),
        og.simulate(PROBLEM, seeds=2, alpha=many).test,
        og.spectrum(PROBLEM),
        measure(PROBLEM, seeds=2),
        og.compare(PROBLEM, seeds=2, theory="random-features"),
        og.cost(PROBLEM),
    ):
        assert len(repr(result)) < MAX_CHARACTERS, type(result)


def test_a_model_and_its_spectrum_are_short():
    X = np.random.default_rng(0).standard_normal((120, 3))
    model = og.OneStepRegressor(width=300, random_state=0).fit(X, X[:, 0])
    assert repr(model.spectrum_).startswith("FeatureSpectrum(")
    for part in (model, model.spectrum_, model.fitted_):
        assert len(repr(part)) < MAX_CHARACTERS, type(part)


def test_values_stand_beside_their_errors():
    prediction, simulation = og.predict(PROBLEM), og.simulate(PROBLEM, seeds=3)
    for shown in (repr(prediction), repr(simulation), simulation._repr_html_()):
        assert " ± " in shown
    assert "_se" not in simulation._repr_html_() and "accuracy" not in prediction._repr_html_()
    assert repr(simulation.test) in simulation._repr_html_()


def test_functions_show_their_hermite_sum():
    assert repr(PROBLEM.teacher_function) == "Function('x^2 + x': 1 + H1 + H2)"
    assert og.exponents("x^3 - 3*x").hermite == "H3"
