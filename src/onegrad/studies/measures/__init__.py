"""The measures of studies by name: a function of a cell, and the options that it reads."""

from __future__ import annotations

from onegrad.experiments.measure import Measure
from onegrad.studies.measures.learned import learned, real_inputs_errors, weights
from onegrad.studies.measures.standard import (
    device_record,
    errors,
    gradient,
    network_spectrum,
    rehearsal,
    spectrum_theory,
    theory,
)
from onegrad.studies.measures.three_layers import three_layers
from onegrad.studies.measures.training import methods, rounds
from onegrad.studies.measures.trajectories import trajectories
from onegrad.studies.measures.two_neurons import reused_batch

MEASURES = {
    "errors": Measure(
        errors,
        seeded=True,
        options=("model", "n_test", "random", "precision"),
        device_record=device_record,
    ),
    "theory": Measure(theory, seeded=False, options=("theory", "printed")),
    "spectrum": Measure(network_spectrum, seeded=True),
    "spectrum-theory": Measure(spectrum_theory, seeded=False),
    "gradient": Measure(gradient, seeded=True),
    "trajectories": Measure(trajectories, seeded=True, options=("scaling",)),
    "real-inputs": Measure(real_inputs_errors, seeded=True, options=("data", "whiten", "n_test")),
    "weights": Measure(weights, seeded=True),
    "learned": Measure(learned, seeded=True, options=("n_test",)),
    "reused-batch": Measure(reused_batch, seeded=True, options=("steps", "rate")),
    "three-layers": Measure(three_layers, seeded=True, options=("step_on",)),
    "methods": Measure(methods, seeded=True, options=("method", "data")),
    "rounds": Measure(rounds, seeded=True, options=("rounds", "width")),
    "rehearsal": Measure(rehearsal, seeded=True, options=("wait", "numbers")),
}
