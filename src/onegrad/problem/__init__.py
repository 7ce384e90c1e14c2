"""The learning problem in one convention, with conversions from each paper's own."""

from onegrad.problem.definition import (
    FIELDS,
    PRECONDITIONER_SHIFT,
    RATIO_FIELDS,
    Problem,
    check_axes,
    representation_warnings,
)
from onegrad.problem.fields import PAPERS, Field, list_axes
from onegrad.problem.laws import INPUT_LAWS, NOISE_LAWS, Law, LawParameter

__all__ = [
    "FIELDS",
    "INPUT_LAWS",
    "NOISE_LAWS",
    "PAPERS",
    "PRECONDITIONER_SHIFT",
    "RATIO_FIELDS",
    "Field",
    "Law",
    "LawParameter",
    "Problem",
    "check_axes",
    "list_axes",
    "representation_warnings",
]
