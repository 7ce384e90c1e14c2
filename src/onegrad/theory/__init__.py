"""Predictions: errors, spectra, spike counts and bounds, each tied to its theorem."""

from onegrad.theory.asymptotic.quadratic_forms import QuadraticForms, quadratic_forms
from onegrad.theory.asymptotic.staircase import spike_count, thresholds
from onegrad.theory.bounds import kernel_lower_bound, tau_star, theorem7_bound
from onegrad.theory.direction import direction
from onegrad.theory.dispatch import predict, spectrum
from onegrad.theory.optimisation import Optimum, optimum
from onegrad.theory.prediction import Errors, Prediction, TrainTest
from onegrad.theory.spectral_law import Spectrum, Spike
from onegrad.theory.theories import THEORIES, Theory, register_theory
from onegrad.theory.uniform import LearnedCoefficients, learned_coefficients, uniform_errors

__all__ = [
    "THEORIES",
    "Errors",
    "LearnedCoefficients",
    "Optimum",
    "Prediction",
    "QuadraticForms",
    "Spectrum",
    "Spike",
    "Theory",
    "TrainTest",
    "direction",
    "kernel_lower_bound",
    "learned_coefficients",
    "optimum",
    "predict",
    "quadratic_forms",
    "register_theory",
    "spectrum",
    "spike_count",
    "tau_star",
    "theorem7_bound",
    "thresholds",
    "uniform_errors",
]
