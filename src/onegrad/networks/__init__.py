"""Real networks: sampling, one gradient step, ridge, errors, spectra."""

from onegrad.networks.cost import Cost, cost
from onegrad.networks.one_network import (
    MeasuredSpectrum,
    learned_part,
    neurons,
    predict_fresh_rows,
    spectrum,
)
from onegrad.networks.plan import MODELS, GradientGroup, SimulateOptions, make_plan
from onegrad.networks.run import run_plan
from onegrad.networks.simulation import Simulation, simulate
from onegrad.networks.streams import ENTRY_LAWS

__all__ = [
    "ENTRY_LAWS",
    "MODELS",
    "Cost",
    "GradientGroup",
    "MeasuredSpectrum",
    "SimulateOptions",
    "Simulation",
    "cost",
    "learned_part",
    "make_plan",
    "neurons",
    "predict_fresh_rows",
    "run_plan",
    "simulate",
    "spectrum",
]
