"""The measures of studies by name: a function of a cell, and the options that it reads."""

from __future__ import annotations

from onegrad.experiments.measure import Measure
from onegrad.studies.measures.adversarial_inputs import adversarial, gradient_theory
from onegrad.studies.measures.giant_step import giant_step
from onegrad.studies.measures.many_steps import reused_batch, trajectories
from onegrad.studies.measures.matrices import (
    gradient,
    gradient_norms,
    spiked_distance,
    step_shape,
    weights,
)
from onegrad.studies.measures.standard import (
    device_record,
    errors,
    learned,
    network_spectrum,
    real_inputs_errors,
    rehearsal,
    spectrum_theory,
    theory,
)
from onegrad.studies.measures.subspaces import rounds
from onegrad.studies.measures.three_layers import three_layer_spectrum, three_layers
from onegrad.studies.measures.training import methods
from onegrad.studies.measures.unit_index import index_correlation, unit_index_errors

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
    "gradient-norms": Measure(gradient_norms, seeded=True),
    "spiked-distance": Measure(spiked_distance, seeded=True),
    "adversarial": Measure(adversarial, seeded=True, options=("n_test",)),
    "gradient-theory": Measure(gradient_theory, seeded=False),
    "step-shape": Measure(step_shape, seeded=True),
    "trajectories": Measure(trajectories, seeded=True, options=("scaling",)),
    "real-inputs": Measure(real_inputs_errors, seeded=True, options=("data", "whiten", "n_test")),
    "weights": Measure(weights, seeded=True),
    "learned": Measure(learned, seeded=True, options=("n_test",)),
    "reused-batch": Measure(reused_batch, seeded=True, options=("steps", "rate")),
    "giant-step": Measure(
        giant_step, seeded=True, options=("n_test", "data_sets"), device_record=device_record
    ),
    "three-layer-errors": Measure(three_layers, seeded=True, options=("n_test",)),
    "three-layer-spectrum": Measure(three_layer_spectrum, seeded=True),
    "training-methods": Measure(
        methods, seeded=True, options=("data", "biases", "adam_steps", "n_test")
    ),
    "rounds": Measure(rounds, seeded=True, options=("rounds", "width", "n_test")),
    "unit-index": Measure(
        unit_index_errors, seeded=True, options=("model", "n_test"), device_record=device_record
    ),
    "index-correlation": Measure(index_correlation, seeded=True),
    "rehearsal": Measure(rehearsal, seeded=True, options=("wait", "numbers")),
}
