"""Without a linear part the step tells neurons apart by the readout alone, which is then averaged.

With c_1 = 0 a neuron's weight along v says nothing about its readout g, and the bulk weights grow
with g^2: normal readouts and those of both signs have different errors. Networks are simulated
here.
"""

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.uniform import uniform_errors
from onegrad.theory.uniform.discretise import Nodes

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
PROBLEM = og.Problem(n=300, d=100, N=200, activation="H2", noise=0.3, ridge=0.05, alpha=0.5)
TOLERANCE = 3.0  # standard errors


@pytest.mark.parametrize("readout", ["gaussian", "rademacher"])
def test_predictions_match_networks(readout):
    problem = PROBLEM.replace(readout=readout)
    predicted, networks = og.predict(problem), og.simulate(problem, seeds=60)
    for kind in ("train", "test"):
        value, measured = getattr(predicted, kind), getattr(networks, kind)
        bar = value * getattr(predicted.accuracy, kind)
        assert abs(value - measured.mean) < np.hypot(TOLERANCE * measured.se, bar)
        assert bar < 0.3 * value
    other = {"gaussian": "rademacher", "rademacher": "gaussian"}[readout]
    wrong = og.predict(problem, readout=other)
    assert abs(wrong.test - networks.test.mean) > 2 * networks.test.se


def test_more_nodes_of_the_readout_change_nothing():
    predicted, finer = og.predict(PROBLEM), uniform_errors([PROBLEM], nodes=Nodes(readout=0.8))
    for kind in ("train", "test"):
        assert getattr(predicted, kind) == pytest.approx(getattr(finer, kind)[0], rel=2e-3)


@pytest.mark.parametrize("activation", ["H3", "H1/3 + H3"])
def test_the_stated_accuracy_covers_a_steep_activation_after_a_strong_step(activation):
    problem = og.Problem(
        n=400, d=100, N=150, activation=activation, noise=0.3, ridge=0.1, readout="constant",
        alpha=0.5,
    )  # fmt: skip
    predicted, networks = og.predict(problem), og.simulate(problem, seeds=40)
    for kind in ("train", "test"):
        value, measured = getattr(predicted, kind), getattr(networks, kind)
        off = abs(value - measured.mean)
        bar = value * getattr(predicted.accuracy, kind)
        assert off**2 < (TOLERANCE * measured.se) ** 2 + bar**2
        assert off > TOLERANCE * measured.se, "the theory is better than its accuracy says"
