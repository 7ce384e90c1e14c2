"""Real networks: sampling, one gradient step, ridge, errors, spectra."""

from onegrad.networks.cost import Cost, cost
from onegrad.networks.options import MODELS, Limits, Options
from onegrad.networks.replicate import Group, Replicate, replicates
from onegrad.networks.simulation import Measured, Origin, Simulation, simulate
from onegrad.networks.spectrum import MeasuredSpectrum, spectrum

__all__ = [
    "MODELS", "Cost", "Group", "Limits", "Measured", "MeasuredSpectrum", "Options", "Origin",
    "Replicate", "Simulation", "cost", "replicates", "simulate", "spectrum",
]  # fmt: skip
