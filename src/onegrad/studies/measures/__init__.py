"""What a cell of a study can measure, by name: a function of the cell and the options it reads."""

from __future__ import annotations

from onegrad.experiments.measure import Measure
from onegrad.studies.measures import deeper, open, papers, training

MEASURES = {
    "errors": Measure(
        papers.errors, True, ("model", "n_test", "random"), device_record=papers.device_record
    ),
    "theory": Measure(papers.theory, False, ("theory", "printed")),
    "spectrum": Measure(papers.spectrum, True),
    "spectrum-theory": Measure(papers.spectrum_theory, False),
    "gradient": Measure(papers.gradient, True),
    "trajectories": Measure(papers.trajectories, True, ("scaling",)),
    "rehearsal": Measure(papers.rehearsal, True, ("wait", "numbers")),
    "real-inputs": Measure(open.real_inputs_errors, True, ("data", "whiten", "n_test")),
    "weights": Measure(open.weights, True),
    "learned": Measure(open.learned, True, ("n_test",)),
    "reused-batch": Measure(open.reused_batch, True, ("steps", "rate")),
    "three-layers": Measure(deeper.three_layers, True, ("step_on",)),
    "methods": Measure(training.methods, True, ("method", "data")),
    "rounds": Measure(training.rounds, True, ("rounds", "width")),
}
