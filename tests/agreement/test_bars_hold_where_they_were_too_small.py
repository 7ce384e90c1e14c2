"""Networks lie within the stated accuracy at settings where they once lay several bars beyond.

Fields, then mean and standard error of train and test, as `og.simulate(problem, seeds=96)` gave.
"""

import pytest

import onegrad as og

SETTINGS = [
    ({"n": 520, "d": 134, "N": 491, "activation": "tanh", "teacher": "H1", "noise": 0.37,
      "ridge": 0.072, "alpha": 0.205, "inputs": "spiked(10)", "input_overlap": 0.88,
      "corrupted": 0.38}, (3.563, 0.037), (3.07, 0.044)),
    ({"n": 226, "d": 396, "N": 548, "activation": "silu", "teacher": "2*x", "noise": 0.5,
      "ridge": 0.0264, "alpha": 0.591, "inputs": "spiked(4)", "input_overlap": 0.83,
      "readout": "constant"}, (4.518, 0.078), (85.11, 2.3)),
    ({"n": 374, "d": 117, "N": 534, "activation": "cos", "teacher": "H2/sqrt(2)", "noise": 0.5,
      "ridge": 0.242, "alpha": 0.564}, (0.5799, 0.009), (1.301, 0.0098)),
    ({"n": 202, "d": 158, "N": 356, "activation": "H2+0.5*H1", "teacher": "H1", "noise": 0.5,
      "ridge": 0.000364, "alpha": 0.437}, (8.782e-05, 1.9e-06), (3.058, 0.038)),
    ({"n": 405, "d": 340, "N": 561, "activation": "H2+0.5*H1", "teacher": "H1", "ridge": 0.353,
      "alpha": 0.2, "ridge_rows": "same", "readout": "constant", "weights": "sphere",
      "residual": "full"}, (0.1775, 0.002), (1.959, 0.014)),
    ({"n": 464, "d": 100, "N": 527, "activation": "x^3/6+x", "teacher": "softplus",
      "noise": 0.717, "ridge": 0.00228, "alpha": 0.147, "ridge_rows": "same",
      "readout": "constant"}, (0.03261, 0.00051), (2.663, 0.031)),
    ({"n": 562, "d": 81, "N": 526, "activation": "tanh", "teacher": "sign(x)", "noise": 0.5,
      "ridge": 0.000302, "alpha": 0.498, "ridge_rows": "same", "intercept": True,
      "residual": "full"}, (0.06511, 0.00092), (3.168, 0.032)),
    ({"n": 462, "d": 81, "N": 582, "activation": "gelu", "teacher": "H1", "noise": 1.505,
      "ridge": 0.00175, "alpha": 0.39, "update": "preconditioned", "weights": "sphere"},
     (0.1146, 0.0013), (8.84, 0.075)),
]  # fmt: skip
WIDEST = 0.4  # bar that still says something


@pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
@pytest.mark.parametrize(("fields", "train", "test"), SETTINGS, ids=str)
def test_networks_are_within_the_bars(fields, train, test):
    prediction = og.predict(og.Problem(**fields))
    for name, (mean, error) in (("train", train), ("test", test)):
        predicted, bar = getattr(prediction, name), getattr(prediction.accuracy, name)
        assert abs(mean - predicted) < bar * predicted + 2 * error, name
        assert bar < WIDEST, name
