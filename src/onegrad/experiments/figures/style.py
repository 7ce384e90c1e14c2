"""How figures look: colours that survive colour-blindness, lines that survive print.

Okabe and Ito's palette; series differ in marker and theories in dashes as well as in colour, so a
black-and-white print can still be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onegrad.experiments.results import Curve

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = COLOURS = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
GREY = "#7F7F7F"
SERIES = (BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK, GREY)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = {
    "uniform": "-",
    "corrected staircase": (0, (6, 2)),
    "printed staircase": (0, (1, 1.5)),
    "small step": (0, (4, 1.5, 1, 1.5)),
    "random features": "-",
}
RC: Any = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.5,
    "legend.fontsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "svg.hashsalt": "onegrad",
    "figure.dpi": 100,
}


def panels(columns: int, rows: int = 1, *, width: float = 3.6, height: float = 3.0) -> Any:
    """A figure and its grid of axes, (rows, columns)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def markers(ax: Any, curve: Curve, i: int, label: str | None = None, **options: Any) -> None:
    """Simulation: bars of two standard errors and markers, in colour and shape of series i."""
    style: dict[str, Any] = {"marker": MARKERS[i % len(MARKERS)], "color": SERIES[i % len(SERIES)]}
    style |= {"markerfacecolor": "white", "markeredgewidth": 1.2, "capsize": 2.0, "zorder": 4}
    style |= {"linestyle": "none"} | options
    ax.errorbar(curve.x, curve.y, yerr=2 * curve.se, label=label, **style)


def line(
    ax: Any, curve: Curve, i: int, kind: str, label: str | None = None, **options: Any
) -> None:
    """Theory: a line whose dashes say which one, in the band of its accuracy where it has one."""
    style = {"color": SERIES[i % len(SERIES)], "linestyle": DASHES[kind]} | options
    ax.plot(curve.x, curve.y, label=label, **style)
    if curve.band is not None:
        band(ax, curve.x, curve.y, curve.band, style["color"])


def band(ax: Any, x: Any, y: Any, half_width: Any, colour: str) -> None:
    """Where the mean over many networks is with 95 %; nothing where that is not known."""
    if np.any(np.isfinite(half_width)):
        ax.fill_between(x, y - half_width, y + half_width, color=colour, alpha=0.18, lw=0)


def key(ax: Any, label: str, kind: str = "uniform") -> None:
    """An entry of the legend for the lines of a theory, whatever their colours."""
    ax.plot([], [], color="#555555", linestyle=DASHES[kind], label=label)


def level(ax: Any, value: float, label: str, colour: str = BLACK) -> None:
    """A horizontal reference line."""
    ax.axhline(value, color=colour, linestyle=(0, (3, 3)), linewidth=1.0, label=label, zorder=1)


def legend(ax: Any, columns: int = 3) -> None:
    """A legend above the axes, where it covers no data."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns)


def heading(ax: Any, text: str) -> None:
    """What a panel is about, inside it: its legend stands where a title would."""
    place = {"xycoords": "axes fraction", "ha": "right", "va": "top", "fontsize": 8.5}
    ax.annotate(text, (0.98, 0.98), **place)


def power_of_ten(n: int) -> str:
    """100 as 10², and so on."""
    return "10" + str(len(str(n)) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def log_axis(ax: Any, axis: str, ticks: Sequence[float]) -> None:
    """A logarithmic axis with these ticks, written as plain numbers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    getattr(ax, f"set_{axis}scale")("log")
    which = getattr(ax, f"{axis}axis")
    which.set_major_locator(FixedLocator(list(ticks)))
    which.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    which.set_minor_locator(NullLocator())


def thresholds(ax: Any, *, most: float = 0.5) -> None:
    """The exponents 1/4, 1/3, 3/8 at which a spike is added."""
    for value, text in ((1 / 4, "1/4"), (1 / 3, "1/3"), (3 / 8, "3/8")):
        if value < most:
            ax.axvline(value, color="#888888", linewidth=0.8, linestyle=":", zorder=0)
            ax.annotate(
                text, (value, 0.0), (2, 3), xycoords=("data", "axes fraction"), fontsize=7,
                textcoords="offset points", color="#555555",
            )  # fmt: skip
