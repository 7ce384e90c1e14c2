"""Problem: what is trained on what, in one convention, with conversions from each paper's own."""

from onegrad.problem.definition import FIELDS, RATIO_FIELDS, Problem

__all__ = ["FIELDS", "RATIO_FIELDS", "Problem"]
