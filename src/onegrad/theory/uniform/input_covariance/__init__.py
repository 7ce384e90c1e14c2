"""Inputs with a covariance: power laws, spikes, and the rows of a user."""

from onegrad.theory.uniform.input_covariance.mean_errors import (
    covariance_errors as covariance_errors,
)
from onegrad.theory.uniform.laws.inputs import InputSpectrum as InputSpectrum
