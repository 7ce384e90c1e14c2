"""Predictions: errors, spectra, spike counts and bounds, each tied to its theorem."""

from onegrad.theory.asymptotic.windows import spike_count, thresholds
from onegrad.theory.prediction import Prediction, predict
from onegrad.theory.spectrum import Spectrum, Spike, spectrum

__all__ = [
    "Prediction",
    "Spectrum",
    "Spike",
    "predict",
    "spectrum",
    "spike_count",
    "thresholds",
]
