"""Predictions: errors, spectra, spike counts and bounds, each tied to its theorem."""

from onegrad.theory.asymptotic.quadratic_forms import QuadraticForms as QuadraticForms
from onegrad.theory.asymptotic.quadratic_forms import quadratic_forms as quadratic_forms
from onegrad.theory.asymptotic.staircase import spike_count as spike_count
from onegrad.theory.asymptotic.staircase import thresholds as thresholds
from onegrad.theory.asymptotic.two_step_outliers import TwoStepOutliers as TwoStepOutliers
from onegrad.theory.asymptotic.two_step_outliers import two_step_outliers as two_step_outliers
from onegrad.theory.bounds import kernel_lower_bound as kernel_lower_bound
from onegrad.theory.bounds import tau_star as tau_star
from onegrad.theory.bounds import theorem7_bound as theorem7_bound
from onegrad.theory.direction import direction as direction
from onegrad.theory.dispatch import predict as predict
from onegrad.theory.dispatch import spectrum as spectrum
from onegrad.theory.optimisation import Optimum as Optimum
from onegrad.theory.optimisation import optimum as optimum
from onegrad.theory.prediction import Errors as Errors
from onegrad.theory.prediction import Prediction as Prediction
from onegrad.theory.prediction import TrainTest as TrainTest
from onegrad.theory.spectral_law import Spectrum as Spectrum
from onegrad.theory.spectral_law import Spike as Spike
from onegrad.theory.theories import THEORIES as THEORIES
from onegrad.theory.theories import Theory as Theory
from onegrad.theory.theories import register_theory as register_theory
from onegrad.theory.uniform import LearnedCoefficients as LearnedCoefficients
from onegrad.theory.uniform import learned_coefficients as learned_coefficients
from onegrad.theory.uniform import uniform_errors as uniform_errors
