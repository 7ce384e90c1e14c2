"""Real networks: sampling, one gradient step, ridge, errors, spectra."""

from onegrad.networks.cost import Cost, cost
from onegrad.networks.one_network import (
    FirstStep,
    LearnedPart,
    MeasuredSpectrum,
    NeuronOverlaps,
    learned_part,
    neurons,
    predict_fresh_rows,
    spectrum,
)
from onegrad.networks.plan import MODELS, GradientGroup, Plan, SimulateOptions, make_plan
from onegrad.networks.run import run_plan
from onegrad.networks.simulation import SampleMean, Simulation, SimulationProvenance, simulate
from onegrad.networks.streams import ENTRY_LAWS

__all__ = [
    "ENTRY_LAWS",
    "MODELS",
    "Cost",
    "FirstStep",
    "GradientGroup",
    "LearnedPart",
    "MeasuredSpectrum",
    "NeuronOverlaps",
    "Plan",
    "SampleMean",
    "SimulateOptions",
    "Simulation",
    "SimulationProvenance",
    "cost",
    "learned_part",
    "make_plan",
    "neurons",
    "predict_fresh_rows",
    "run_plan",
    "simulate",
    "spectrum",
]
