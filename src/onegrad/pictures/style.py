"""How figures look: colours that survive colour-blindness, lines that survive print.

Okabe and Ito's palette; series differ in marker and theories in dashes as well as in colour, so a
black-and-white print can still be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from onegrad.pictures import needed
from onegrad.pictures.curve import Curve

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = COLOURS = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
GREY = "#7F7F7F"
SERIES = (BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK, GREY)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: dict[str, Any] = {
    "uniform": "-",
    "corrected staircase": (0, (6, 2)),
    "printed staircase": (0, (1, 1.5)),
    "small step": (0, (4, 1.5, 1, 1.5)),
    "random features": "-",
}
DASHES |= {  # as `predict` calls them
    "staircase": DASHES["corrected staircase"],
    "staircase as printed": DASHES["printed staircase"],
    "small-step": DASHES["small step"],
    "random-features": (0, (2, 1)),
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


def strands(ax: Any, x: Any, values: Any, i: int, label: str | None = None) -> None:
    """Single networks, (x, seeds): thin lines, since a seed that is high at one x is so at all."""
    style: dict[str, Any] = {"color": SERIES[i % len(SERIES)], "linewidth": 0.5}
    ax.plot(x, values, zorder=1, alpha=0.22, **style)
    if label:
        ax.plot([], [], alpha=0.7, label=label, **style)


def line(
    ax: Any, curve: Curve, i: int, kind: str, label: str | None = None, **options: Any
) -> None:
    """Theory: a line whose dashes say which one, in the band of its accuracy where it has one."""
    style = {"color": SERIES[i % len(SERIES)], "linestyle": DASHES.get(kind, "-")} | options
    ax.plot(curve.x, curve.y, label=label, **style)
    if curve.band is not None:
        band(ax, curve.x, curve.y, curve.band, style["color"])


def band(ax: Any, x: Any, y: Any, half_width: Any, colour: str, label: str | None = None) -> None:
    """Where the mean over many networks is with 95 %; nothing where that is not known."""
    if np.any(np.isfinite(half_width)):
        low, high = y - half_width, y + half_width
        ax.fill_between(x, low, high, color=colour, alpha=0.18, lw=0, label=label)


def key(ax: Any, label: str, kind: str = "uniform") -> None:
    """An entry of the legend for the lines of a theory, whatever their colours."""
    ax.plot([], [], color="#555555", linestyle=DASHES.get(kind, "-"), label=label)


def level(ax: Any, value: float, label: str, colour: str = BLACK) -> None:
    """A horizontal reference line."""
    ax.axhline(value, color=colour, linestyle=(0, (3, 3)), linewidth=1.0, label=label, zorder=1)


def legend(ax: Any, columns: int = 3) -> None:
    """A legend above the axes, where it covers no data."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns)


def heading(ax: Any, text: str, side: str = "right") -> None:
    """What a panel is about, inside it: its legend stands where a title would."""
    place = {"xycoords": "axes fraction", "ha": side, "va": "top", "fontsize": 8.5}
    ax.annotate(text, (0.98 if side == "right" else 0.03, 0.97), **place)


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


def thresholds(ax: Any, *, least: float = 0.0, most: float = 0.5) -> None:
    """The exponents (k - 1)/(2k) between both ends at which spike k is added, named; once."""
    drawn = {line.get_gid() for line in ax.get_lines()}
    for k, text in enumerate(("0", "1/4", "1/3", "3/8"), start=1):
        value, name = (k - 1) / (2 * k), f"threshold-{k}"
        if least < value < most and name not in drawn:
            ax.axvline(value, color="#888888", linewidth=0.8, linestyle=":", zorder=0, gid=name)
            ax.annotate(
                text, (value, 0.0), (2, 3), xycoords=("data", "axes fraction"), fontsize=7,
                textcoords="offset points", color="#555555",
            )  # fmt: skip


@contextmanager
def drawing(ax: Any = None) -> Iterator[Any]:
    """The axes in this style while something is drawn on them; new ones where none are given."""
    matplotlib = needed("matplotlib", "plot")
    with matplotlib.rc_context(RC):
        if ax is None:
            pyplot = needed("matplotlib.pyplot", "plot")
            _, ax = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(visible=True, color=RC["grid.color"], linewidth=RC["grid.linewidth"])
        ax.set_axisbelow(True)
        yield ax


def entitled(ax: Any) -> None:
    """A legend above the axes with every label once, in as many columns as fit."""
    handles, labels = ax.get_legend_handles_labels()
    unique: dict[str, Any] = {}
    for label, handle in zip(labels, handles, strict=True):
        unique.setdefault(label, handle)
    if unique:
        letters = max(map(len, unique)) + 6  # the handle takes as much as six of them
        fit = int(ax.bbox.width / ax.figure.dpi * 18 / letters)  # eighteen letters to the inch
        ax.legend(
            unique.values(), unique.keys(), loc="lower center", bbox_to_anchor=(0.5, 1.0),
            ncols=max(1, min(fit, 4)),
        )  # fmt: skip


def colour(i: int, count: int) -> Any:
    """Of series i among so many: told apart by all eyes, or shades where they are too many."""
    if count <= len(SERIES):
        return SERIES[i]
    return needed("matplotlib", "plot").colormaps["viridis"](0.9 * i / (count - 1))
