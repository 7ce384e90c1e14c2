"""Ba et al., Figure 3(b): risk against width for steps of order one."""

from __future__ import annotations

from onegrad.experiments.results import Results
from onegrad.studies.drawing import Drawing
from onegrad.studies.papers.ba_figure3a import risk_along


def draw(results: Results) -> Drawing:
    return risk_along("N", results, "width N/d")
