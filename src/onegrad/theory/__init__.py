"""Predictions: errors, spectra, spike counts and bounds, each tied to its theorem."""

from onegrad.theory.prediction import Prediction, predict
from onegrad.theory.spectrum import Spectrum, Spike, spectrum
from onegrad.theory.windows import spike_count, thresholds

__all__ = [
    "Prediction",
    "Spectrum",
    "Spike",
    "predict",
    "spectrum",
    "spike_count",
    "thresholds",
]
