"""Readouts, n_step, spherical weights, full residual, kinks, raw activations: against simulation.

Reference: benchmarks/uniform_variants.py on a GPU, 600 seeds, n = 600.
"""

import json
from pathlib import Path

import pytest

from onegrad import Problem
from onegrad.theory.uniform import predict

RUNS = json.loads((Path(__file__).parents[2] / "data" / "uniform_variants.json").read_text())
# step rows as few as d and a large c_2: the bulk moves most
HARDEST = {"activation": "relu:unit", "residual": "full", "n_step": 300}


@pytest.mark.parametrize("run", RUNS["settings"], ids=lambda r: r["problem"]["activation"])
def test_variants_match_simulation(run):
    tolerance = 0.03 if run["problem"].items() >= HARDEST.items() else 0.01
    ours = predict(Problem(**run["problem"]))
    for value, mean, se in zip((ours.train, ours.test), run["mean"], run["se"], strict=True):
        assert abs(value - mean) <= max(tolerance * mean, 3 * se)


def test_most_variants_differ_from_the_default_by_more_than_the_tolerance():
    apart = 0
    for run in RUNS["settings"]:
        problem = Problem(**run["problem"])
        default = problem.replace(
            readout="gaussian", weights="gaussian", residual="labels", n_step=problem.n
        )
        apart += abs(predict(default).test / run["mean"][1] - 1) > 0.03
    assert apart >= 5
