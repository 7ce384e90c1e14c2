"""Rows from anywhere: sources and their parts, tables, encoding, samples, folds."""

from onegrad.data.fold import fold
from onegrad.data.sources import Source, source

__all__ = ["Source", "fold", "source"]
