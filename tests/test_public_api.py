"""The public names are exactly these, each can be loaded, and `help` shows what it is."""

import inspect
import pydoc

import pytest

import onegrad as og

NAMES = {
    "AlternatingClassifier", "AlternatingRegressor", "AssumptionWarning", "Function",
    "InvalidInput", "NotConverged", "OneStepClassifier", "OneStepFeatures", "OneStepRegressor",
    "OutOfScope", "Prediction", "Problem", "Simulation", "Spectrum", "cost", "exponents", "predict",
    "register", "simulate", "spectrum", "spike_count", "thresholds",
}  # fmt: skip


def test_public_names():
    assert set(og.__all__) == NAMES


def test_every_public_name_loads():
    for name in og.__all__:
        assert getattr(og, name) is not None


def test_rooms_loaded_later_do_not_shadow_functions():
    import onegrad.networks
    import onegrad.theory

    assert callable(og.spectrum) and callable(og.simulate) and callable(og.predict)
    assert callable(onegrad.theory.spectrum) and callable(onegrad.networks.spectrum)


@pytest.mark.parametrize(
    "name", ["cost", "predict", "simulate", "spectrum", "spike_count", "thresholds"]
)
def test_help_shows_the_function(name):
    import onegrad.networks
    import onegrad.theory  # noqa: F401 -- no room that is loaded later takes a function's name

    function = getattr(og, name)
    assert inspect.isfunction(function)
    shown = pydoc.plain(pydoc.render_doc(function))
    assert shown.startswith(f"Python Library Documentation: function {name} in module onegrad.")
    first = inspect.getdoc(function).splitlines()[0]
    assert len(first) > 20 and first in shown
    assert all(word in shown for word in inspect.signature(function).parameters)
