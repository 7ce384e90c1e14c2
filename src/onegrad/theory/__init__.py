"""Predictions: errors, spectra, spike counts and bounds, each tied to its theorem."""

from onegrad.theory.asymptotic.windows import spike_count, thresholds
from onegrad.theory.dispatch import predict, spectrum
from onegrad.theory.results import Prediction
from onegrad.theory.spectra import Spectrum, Spike

__all__ = ["Prediction", "Spectrum", "Spike", "predict", "spectrum", "spike_count", "thresholds"]
