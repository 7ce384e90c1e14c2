"""The two-pass fit as sums of block statistics."""

from onegrad.stream.fold import fold
from onegrad.stream.layer import Layer, Scaling
from onegrad.stream.parts import Block
from onegrad.stream.passes import MomentsPass, SamplePass
from onegrad.stream.ridge import NormalEquations, Readout
from onegrad.stream.sample import Sample
from onegrad.stream.sources import Source, source
from onegrad.stream.statistics import Moments, moments

__all__ = [
    "Block",
    "Layer",
    "Moments",
    "MomentsPass",
    "NormalEquations",
    "Readout",
    "Sample",
    "SamplePass",
    "Scaling",
    "Source",
    "fold",
    "moments",
    "source",
]
