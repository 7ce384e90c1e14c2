"""Rows from anywhere: sources and their parts, tables, encoding, samples, folds."""

from onegrad.data.fold import fold
from onegrad.data.parts import Block
from onegrad.data.sample import Sample
from onegrad.data.sources import Source, source

__all__ = ["Block", "Sample", "Source", "fold", "source"]
