"""The measures of studies by name: a function of a cell, and the options that it reads."""

from onegrad.experiments.measure import Measure
from onegrad.studies.measures import (
    adversarial_inputs,
    many_steps,
    matrices,
    standard,
    steps,
    three_layers,
    training,
    unit_index,
)

MEASURES = {
    "errors": Measure(
        standard.errors,
        options=("model", "n_test", "random", "precision"),
        device_record=standard.device_record,
    ),
    "theory": Measure(standard.theory, seeded=False, options=("theory", "printed")),
    "spectrum": Measure(standard.network_spectrum),
    "spectrum-theory": Measure(standard.spectrum_theory, seeded=False, options=("method",)),
    "gradient": Measure(matrices.gradient),
    "gradient-norms": Measure(matrices.gradient_norms),
    "spiked-distance": Measure(matrices.spiked_distance),
    "adversarial": Measure(adversarial_inputs.adversarial, options=("n_test",)),
    "gradient-theory": Measure(adversarial_inputs.gradient_theory, seeded=False),
    "drawn-cosine": Measure(matrices.drawn_cosine, options=("draws",)),
    "step-errors": Measure(steps.step_errors, options=("n_test",)),
    "trajectories": Measure(many_steps.trajectories, options=("scaling",)),
    "weights": Measure(matrices.weights),
    "giant-step": Measure(steps.giant_step, options=("n_test", "own_part")),
    "three-layer-errors": Measure(three_layers.three_layers, options=("n_test", "scale")),
    "three-layer-spectrum": Measure(three_layers.three_layer_spectrum),
    "training-methods": Measure(training.methods, options=("data", "adam_steps", "n_test")),
    "rounds": Measure(training.rounds, options=("rounds", "width", "n_test")),
    "unit-index": Measure(
        unit_index.unit_index_errors,
        options=("model", "n_test"),
        device_record=standard.device_record,
    ),
    "index-correlation": Measure(unit_index.index_correlation),
    "rehearsal": Measure(standard.rehearsal, options=("wait", "numbers")),
}
