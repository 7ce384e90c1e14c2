"""Moniri et al., Setting 2: the same drawing as Setting 1, another target."""

from onegrad.experiments.figures.papers.moniri_setting1 import draw

__all__ = ["draw"]
