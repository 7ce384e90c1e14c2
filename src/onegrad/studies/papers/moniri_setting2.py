"""Moniri et al., Setting 2: the same drawing as Setting 1, another target."""

from onegrad.studies.papers.moniri_setting1 import draw

__all__ = ["draw"]
