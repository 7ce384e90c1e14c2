"""Rows from anywhere: sources and their parts, tables, encoding, samples, folds."""

from onegrad.data.partition_sum import sum_over_partitions
from onegrad.data.sources import Source, source

__all__ = ["Source", "source", "sum_over_partitions"]
