"""A family in the table is on the command line, in model files and in reports."""

from types import SimpleNamespace

import numpy as np

from onegrad.cli import main
from onegrad.functions import resolve
from onegrad.tables import FAMILIES, Family, OneStepClassifier, OneStepRegressor, load
from onegrad.tables.first_layer import one_step
from onegrad.tables.first_layer.layer import Layer
from onegrad.tables.fitting.candidates import Candidates, evaluate_layer


def learn(training_set, parameters, rng):
    """Random features: one candidate, untrained."""
    W = rng.standard_normal((parameters.width, training_set.inputs))
    layer = Layer(training_set.scaling, W, np.zeros(len(W)), resolve("tanh"), True, 4.0)
    candidate = evaluate_layer(training_set, layer, {"drawn": len(W)})
    return Candidates(layer, [candidate], candidate)


def describe(choice):
    return [("drawn", f"{choice['drawn']} neurons")]


class RandomRegressor(OneStepRegressor):
    _family = SimpleNamespace(**vars(one_step) | {"learn": learn, "describe": describe})


def test_a_row_of_the_table_is_enough(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(FAMILIES, "random", Family(RandomRegressor, OneStepClassifier))
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 3))
    np.savetxt(tmp_path / "t.csv", rows, delimiter=",", header="a,b,y", comments="")
    command = ["fit", str(tmp_path / "t.csv"), "--target", "y", "--out", str(tmp_path / "m")]
    assert main([*command, "--estimator", "random", "--width", "7"]) == 0
    assert "7 neurons" in capsys.readouterr().out
    model = load(tmp_path / "m")
    assert type(model) is RandomRegressor
    assert "drawn" in str(model.report())
