"""Real networks: sampling, one gradient step, ridge, errors, spectra."""

from __future__ import annotations

from onegrad.networks.replicate import MODELS, Cell, cell, cells
from onegrad.networks.simulation import Measured, Provenance, Simulation, simulate
from onegrad.networks.spectrum import MeasuredSpectrum, spectrum

__all__ = [
    "MODELS",
    "Cell",
    "Measured",
    "MeasuredSpectrum",
    "Provenance",
    "Simulation",
    "cell",
    "cells",
    "simulate",
    "spectrum",
]
