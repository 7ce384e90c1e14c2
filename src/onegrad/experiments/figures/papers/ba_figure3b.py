"""Ba et al., Figure 3(b): risk against width for steps of order one."""

from __future__ import annotations

from onegrad.experiments.figures import Drawing
from onegrad.experiments.figures.papers.ba_figure3a import risk_along
from onegrad.experiments.results import Results


def draw(results: Results) -> Drawing:
    return risk_along("N", results, "width N/d")
