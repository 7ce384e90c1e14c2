"""What a cell can measure: a name, a pure function of the cell, and the options it reads."""

from onegrad.experiments.measures import deeper, open, papers, training
from onegrad.experiments.measures.papers import origin
from onegrad.experiments.measures.registry import MEASURES, Measure, Values, register

__all__ = [
    "MEASURES", "Measure", "Values", "deeper", "open", "origin", "papers", "register", "training",
]  # fmt: skip
