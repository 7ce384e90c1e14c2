"""The measures of studies by name: a function of a cell, and the options that it reads."""

from __future__ import annotations

from onegrad.experiments.measure import Measure
from onegrad.studies.measures import adversarial_inputs as adversaries
from onegrad.studies.measures import giant_step as giant
from onegrad.studies.measures import (
    many_steps,
    matrices,
    standard,
    subspaces,
    three_layers,
    training,
    unit_index,
)

MEASURES = {
    "errors": Measure(
        standard.errors,
        seeded=True,
        options=("model", "n_test", "random", "precision"),
        device_record=standard.device_record,
    ),
    "theory": Measure(standard.theory, seeded=False, options=("theory", "printed")),
    "spectrum": Measure(standard.network_spectrum, seeded=True),
    "spectrum-theory": Measure(standard.spectrum_theory, seeded=False),
    "gradient": Measure(matrices.gradient, seeded=True),
    "gradient-norms": Measure(matrices.gradient_norms, seeded=True),
    "spiked-distance": Measure(matrices.spiked_distance, seeded=True),
    "adversarial": Measure(adversaries.adversarial, seeded=True, options=("n_test",)),
    "gradient-theory": Measure(adversaries.gradient_theory, seeded=False),
    "step-shape": Measure(matrices.step_shape, seeded=True),
    "trajectories": Measure(many_steps.trajectories, seeded=True, options=("scaling",)),
    "real-inputs": Measure(
        standard.real_inputs_errors, seeded=True, options=("data", "whiten", "n_test")
    ),
    "weights": Measure(matrices.weights, seeded=True),
    "learned": Measure(standard.learned, seeded=True, options=("n_test",)),
    "reused-batch": Measure(many_steps.reused_batch, seeded=True, options=("steps", "rate")),
    "giant-step": Measure(
        giant.giant_step,
        seeded=True,
        options=("n_test", "data_sets"),
        device_record=standard.device_record,
    ),
    "three-layer-errors": Measure(three_layers.three_layers, seeded=True, options=("n_test",)),
    "three-layer-spectrum": Measure(three_layers.three_layer_spectrum, seeded=True),
    "training-methods": Measure(
        training.methods, seeded=True, options=("data", "biases", "adam_steps", "n_test")
    ),
    "rounds": Measure(subspaces.rounds, seeded=True, options=("rounds", "width", "n_test")),
    "unit-index": Measure(
        unit_index.unit_index_errors,
        seeded=True,
        options=("model", "n_test"),
        device_record=standard.device_record,
    ),
    "index-correlation": Measure(unit_index.index_correlation, seeded=True),
    "rehearsal": Measure(standard.rehearsal, seeded=True, options=("wait", "numbers")),
}
