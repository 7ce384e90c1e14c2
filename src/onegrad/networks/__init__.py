"""Real networks: sampling, one gradient step, ridge, errors, spectra."""

from onegrad.networks.cost import Cost, cost
from onegrad.networks.one_network import (
    FirstStep,
    LearnedPart,
    NeuronOverlaps,
    learned_part,
    neurons,
    predict_fresh_rows,
)
from onegrad.networks.options import MODELS, Limits, Options
from onegrad.networks.replicate import Group, Replicate, replicates
from onegrad.networks.simulation import Measured, Origin, Simulation, simulate
from onegrad.networks.spectrum import MeasuredSpectrum, spectrum

__all__ = [
    "MODELS",
    "Cost",
    "FirstStep",
    "Group",
    "LearnedPart",
    "Limits",
    "Measured",
    "MeasuredSpectrum",
    "NeuronOverlaps",
    "Options",
    "Origin",
    "Replicate",
    "Simulation",
    "cost",
    "learned_part",
    "neurons",
    "predict_fresh_rows",
    "replicates",
    "simulate",
    "spectrum",
]
