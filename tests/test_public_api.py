"""The public names are exactly these, and each can be loaded."""

import onegrad as og

NAMES = {
    "AlternatingClassifier", "AlternatingRegressor", "AssumptionWarning", "Function",
    "InvalidInput", "NotConverged", "OneStepClassifier", "OneStepFeatures", "OneStepRegressor",
    "OutOfScope", "Prediction", "Problem", "Simulation", "Spectrum", "predict", "register",
    "simulate", "spectrum", "spike_count", "thresholds",
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
