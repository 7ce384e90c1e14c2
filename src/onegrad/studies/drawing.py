"""Figures in groups, one module each: from finished points to a drawing. See gallery.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from onegrad.experiments.checks import Check
from onegrad.pictures import style as style


@dataclass(frozen=True)
class Drawing:
    """What a figure's module returns: the picture, its checks, and remarks with numbers.

    finding : what the numbers say, in a sentence; for open questions.
    """

    figure: Any  # matplotlib.figure.Figure
    checks: Sequence[Check] = ()
    notes: Sequence[str] = ()
    finding: str = ""
