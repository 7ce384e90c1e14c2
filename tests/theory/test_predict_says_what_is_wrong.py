"""Bad input gets one line that names the argument; broken assumptions warn and are named."""

import json
import math
import warnings

import numpy as np
import pytest

import onegrad as og

BASE = {"n": 1000, "d": 500, "N": 667, "activation": "relu", "teacher": "H1 + H2/sqrt(2)"}
ASYMPTOTIC = ["random-features", "small-step", "staircase"]


def one_line(error):
    text = str(error.value)
    assert text
    assert "\n" not in text
    assert len(text) < 300
    return text


BAD_VALUES = [
    ({"n": -5}, "n"), ({"d": 0}, "d"), ({"N": 2.5}, "N"), ({"n": math.nan}, "n"),
    ({"ridge": 0.0}, "ridge"), ({"ridge": [1, -1]}, "ridge"), ({"ridge": math.nan}, "ridge"),
    ({"noise": -0.1}, "noise"), ({"noise": math.inf}, "noise"), ({"alpha": math.nan}, "alpha"),
    ({"alpha": []}, "alpha"), ({"alpha": 50.0}, "alpha"), ({"eta": -1.0}, "eta"),
    ({"n": 1, "alpha": 0.2}, "alpha"), ({"activation": "tahn"}, "activation"),
    ({"teacher": "H1 +"}, "teacher"), ({"teacher": "H1@1*H1@2"}, "teacher"),
    ({"weights": "cube"}, "weights"), ({"readout": ["gaussian", "x"]}, "readout"),
    ({"rigde": 1.0}, "rigde"),
    ({"theory": "magic"}, "theory must be one of uniform, staircase"),
    ({"theory": None}, "theory must be one of uniform, staircase"),
]  # fmt: skip


@pytest.mark.parametrize("theory", ASYMPTOTIC)
def test_bad_values_are_named(theory):
    for options, name in BAD_VALUES:
        with pytest.raises(og.InvalidInput, match=name) as error:
            og.predict(og.Problem(**BASE), **{"theory": theory} | options)
        one_line(error)


def test_a_spectrum_names_bad_values():
    problem = og.Problem(**BASE, alpha=-0.2)
    with pytest.raises(og.InvalidInput, match="method must be one of uniform") as error:
        og.spectrum(problem, method="magic")
    one_line(error)
    with pytest.raises(og.InvalidInput, match="constant") as error:
        og.spectrum(problem.replace(activation="H1 - H1", eta=0.0))
    one_line(error)


@pytest.mark.parametrize("activation", ["H2", "cos", "H2 + H3"])
def test_spike_theories_need_a_linear_part(activation):
    p = og.Problem(**BASE | {"activation": activation}, alpha=0.3)
    for call in (
        lambda: og.predict(p, theory="staircase"),
        lambda: og.spectrum(p, method="asymptotic"),
    ):
        with pytest.raises(og.OutOfScope, match=r"activation: .* covers .* c_1 != 0") as error:
            call()
        one_line(error)
    untrained = p.replace(eta=0.0)  # no step, no spikes, no need
    assert og.predict(untrained, theory="staircase").test > 0
    assert og.spectrum(untrained, method="asymptotic").edge > 0
    with warnings.catch_warnings(action="ignore", category=og.AssumptionWarning):
        assert og.spectrum(p).method == "uniform"  # which covers it


BROKEN = [
    ({"inputs": "student-t(5)"}, "inputs: isotropic Gaussian"),
    ({"corrupted": 0.2}, "corrupted: clean labels"),
    ({"steps": 2}, "steps: a single gradient step"),
    ({"ridge_rows": "same"}, "ridge_rows: ridge on fresh rows"),
    ({"readout": "constant"}, "readout: a Gaussian readout"),
    ({"activation": "relu:raw", "residual": "full"}, "residual: a centred activation"),
    ({"teacher": "H2"}, "teacher: a linear part"),
]


@pytest.mark.parametrize("theory", ["small-step", "staircase", "spectrum"])
def test_broken_assumptions_warn_and_are_named(theory):
    for change, match in BROKEN:
        p = og.Problem(**BASE | change, alpha=0.2)
        with pytest.warns(og.AssumptionWarning, match=match):
            og.spectrum(p, method="asymptotic") if theory == "spectrum" else og.predict(
                p, theory=theory
            )


CONDITIONS = [  # activation, teacher, fields whose condition the theorems assume and do not find
    ("softplus", "softplus", []),
    ("tanh", "relu", []),
    ("relu", "tanh", ["activation"]),
    ("elu", "H1 + H2/sqrt(2)", ["activation", "teacher"]),
    ("H1 + H3/6", "sign(x)", ["activation", "teacher"]),
]


@pytest.mark.parametrize("theory", ["small-step", "staircase"])
@pytest.mark.parametrize(("activation", "teacher", "fields"), CONDITIONS)
def test_conditions_of_the_proofs_are_recorded_in_silence(theory, activation, teacher, fields):
    p = og.Problem(**BASE | {"activation": activation, "teacher": teacher}, alpha=0.2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        recorded = og.predict(p, theory=theory).warnings
    assert [w.field for w in recorded if "theorem assumes" in str(w)] == fields
    assert not [w for w in caught if "theorem assumes" in str(w.message)]
    untrained = og.predict(p, theory=theory, eta=0.0).warnings
    assert not [w for w in untrained if "theorem assumes" in str(w)]


def test_one_warning_for_a_whole_curve():
    alphas = [0.0, 0.1, 0.25, 0.3, 1 / 3, 0.5, 0.6]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        og.predict(og.Problem(**BASE), theory="staircase", alpha=alphas)
    messages = sorted(str(w.message) for w in caught)
    assert len(messages) == 3
    assert "c_3 = 0" in messages[0]
    assert "at 0.5, 0.6 every degree" in messages[1]
    assert "0, 0.25, 0.333333 is on one" in messages[2]


@pytest.mark.parametrize("theory", ASYMPTOTIC)
def test_inside_the_assumptions_nothing_warns(theory):
    p = og.Problem(**BASE, alpha=0.2)
    if theory == "random-features":
        p = p.replace(eta=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        og.predict(p, theory=theory, ridge=[0.1, 1.0])
        og.spectrum(p)


def test_one_point_is_floats_and_a_grid_is_arrays():
    p = og.Problem(**BASE, alpha=0.2)
    point = og.predict(p, theory="small-step", ridge=0.5)
    assert isinstance(point.test, float)
    assert point.problem.ridge == 0.5
    assert repr(point).startswith("Prediction(small-step: train=")
    grid = og.predict(p, theory="small-step", noise=[0.0, 1.0], alpha=[0.0, 0.1, 0.2])
    assert grid.test.shape == grid.alpha.shape == (2, 3)
    assert grid.test[1, 2] == og.predict(p, theory="small-step", noise=1.0, alpha=0.2).test
    assert "\n" not in repr(grid)
    row = grid.results()[4]
    assert row["noise"] == 1.0
    assert row["alpha"] == pytest.approx(0.1)
    assert row["test"] == grid.test[1, 1]
    assert row["risk"] == pytest.approx(row["test"] - 1.0)


def test_results_and_spectra_are_json():
    p = og.Problem(**BASE, eta=0.0)
    prediction = og.predict(p, theory="random-features", ridge=np.array([0.1, 1.0]))
    answer = json.loads(json.dumps(prediction.to_dict(), allow_nan=False))
    assert [row["alpha"] for row in answer["results"]] == [None, None]
    assert set(answer["results"][0]) == {"alpha", "eta", "ridge", "train", "test", "risk"}
    spectrum = og.spectrum(p.replace(eta=30.0))
    answer = json.loads(json.dumps(spectrum.to_dict(), allow_nan=False))
    assert answer["edge"] == spectrum.edge
    spike = answer["spikes"][0]
    assert spike["singular_value"] == pytest.approx(math.sqrt(1000 * spike["eigenvalue"]))
    assert list(spike["alignment"])[:2] == ["1", "2"]
    assert "\n" not in repr(spectrum)
