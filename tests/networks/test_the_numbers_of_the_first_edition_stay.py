"""(problem, seed) gives the numbers that the first edition gave, on any number of threads.

tests/numbers/engine.json was written by the engine of version 0.1.0 with
`python tests/networks/test_the_numbers_of_the_first_edition_stay.py`: errors of each seed, where
every row and every label is drawn from the streams that the seed names.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import onegrad as og
from onegrad.networks import simulate

NUMBERS = Path(__file__).parents[1] / "numbers" / "engine.json"
CASES = {
    "tall": ({"n": 4500, "d": 30, "N": 70, "noise": 0.3, "teacher": "H1 + H2/2"},
             {"eta": [0.0, 2.0], "ridge": [0.01, 0.3]}),
    "wide": ({"n": 90, "d": 30, "N": 1500, "noise": 0.3, "intercept": True},
             {"eta": [1.0, 3.0], "ridge": [0.01, 0.3]}),
    "steps": ({"n": 2100, "d": 40, "N": 50, "activation": "relu", "residual": "full", "steps": 2,
               "corrupted": 0.1, "noise": 0.2}, {"eta": 1.5}),
    "same rows": ({"n": 3326, "d": 24, "N": 40, "ridge_rows": "same", "weights": "sphere",
                   "readout": "rademacher"}, {"eta": 4.0, "ridge": [0.001, 0.003, 0.01, 0.1, 1]}),
    "mixture": ({"n": 1300, "d": 20, "N": 30, "inputs": "mixture(1.5)", "intercept": True},
                {"eta": 1.0, "leave_one_out": True}),
    "heavy tails": ({"n": 1300, "d": 20, "N": 30, "inputs": "student-t(5)", "activation": "erf"},
                    {"eta": 1.0, "n_test": 5000}),
    "equivalent": ({"n": 1100, "d": 20, "N": 30}, {"eta": 1.0, "model": "gaussian-equivalent"}),
}  # fmt: skip


def measured(name, **options):
    fields, arguments = CASES[name]
    simulation = simulate(og.Problem(**fields), [0, 3, 7], **arguments, **options)
    return {q: getattr(simulation, q).values.tolist() for q in ("train", "test", "overlap")}


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("name", CASES)
def test_same_numbers(name, threads):
    reference = json.loads(NUMBERS.read_text())[name]
    for quantity, values in measured(name, threads=threads).items():
        np.testing.assert_allclose(values, reference[quantity], rtol=1e-10)


if __name__ == "__main__":
    NUMBERS.write_text(json.dumps({name: measured(name) for name in CASES}, indent=1) + "\n")
