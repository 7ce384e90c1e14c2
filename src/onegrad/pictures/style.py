"""The style of figures: colours that survive colour-blindness, lines that survive print.

Okabe and Ito's palette; series differ in marker and theories in dashes as well as in colour, so a
black-and-white print can still be read.
"""

import importlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onegrad.arrays import Floats

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, RED, PINK = "#0072B2", "#D55E00", "#CC79A7"
GREY, DARK_GREY = "#7F7F7F", "#555555"
SERIES = (BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK, GREY)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MIN_LOG_TICKS = 4
STEP_EXPONENT = r"step exponent $\alpha$,  $\eta = n^\alpha$"  # the label of an axis
SOLID: Any = "-"
LONG_DASHES: Any = (0, (6, 2))
SHORT_DASHES: Any = (0, (2, 1))
DOTS: Any = (0, (1, 1.5))
DASH_DOTS: Any = (0, (4, 1.5, 1, 1.5))
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
    "svg.fonttype": "none",  # text stays text, which a page can search
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "svg.hashsalt": "onegrad",  # the same picture has the same bytes
    "figure.dpi": 100,
}


@dataclass(frozen=True)
class Curve:
    """A quantity along an axis.

    Parameters
    ----------
    x, y, se : positions, means and their standard errors.
    band : half-width of the band of a theory's accuracy; None where it has none.
    freedom : degrees of freedom of the standard errors; infinite for a theory.
    """

    x: Floats
    y: Floats
    se: Floats
    band: Floats | None = None
    freedom: Floats | float = math.inf


def load_library(name: str, feature: str) -> Any:
    """Import a library that only `feature` needs; the ImportError says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        message = f"{feature} needs {package}: pip install {package}"
        raise ImportError(message, name=package) from None


def panels(columns: int, rows: int = 1, *, width: float, height: float) -> Any:
    """Return a figure and its axes, an array of shape (rows, columns), each of this size."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def markers(ax: Any, curve: Curve, i: int, label: str | None = None, **options: Any) -> None:
    """Draw simulated means as markers of series i, with bars of two standard errors."""
    style: dict[str, Any] = {"marker": MARKERS[i % len(MARKERS)], "color": SERIES[i % len(SERIES)]}
    style |= {"markerfacecolor": "white", "markeredgewidth": 1.2, "capsize": 2.0, "zorder": 4}
    style |= {"linestyle": "none"} | options
    ax.errorbar(curve.x, curve.y, yerr=2 * curve.se, label=label, **style)


def dodged(curve: Curve, shift: float) -> Curve:
    """Return a curve moved along x, so that the bars of several can be told apart."""
    return replace(curve, x=curve.x + shift)


def line(
    ax: Any, curve: Curve, i: int, label: str | None = None, *, dash: Any = SOLID, **options: Any
) -> None:
    """Draw a theory as a line in the colour of series i, in the band of its accuracy."""
    style = {"color": SERIES[i % len(SERIES)], "linestyle": dash} | options
    ax.plot(curve.x, curve.y, label=label, **style)
    if curve.band is not None:
        band(ax, curve.x, curve.y, curve.band, style["color"])


def band(ax: Any, x: Any, y: Any, half_width: Any, colour: str, label: str | None = None) -> None:
    """Draw the band that holds the mean of many networks with probability 95 %, where known."""
    if np.any(np.isfinite(half_width)):
        low, high = y - half_width, y + half_width
        ax.fill_between(x, low, high, color=colour, alpha=0.18, lw=0, label=label)


def legend_entry(ax: Any, label: str, dash: Any = SOLID) -> None:
    """Add an entry to the legend for the lines of a theory, whatever their colours."""
    ax.plot([], [], color=DARK_GREY, linestyle=dash, label=label)


def level(ax: Any, value: float, label: str, colour: str = BLACK, **options: Any) -> None:
    """Draw a horizontal reference line."""
    style: dict[str, Any] = {"linestyle": (0, (3, 3)), "linewidth": 1.0, "zorder": 1} | options
    ax.axhline(value, color=colour, label=label, **style)


def legend(ax: Any, columns: int = 3, title: str | None = None) -> None:
    """Put the legend, with the panel's title if it has one, above the axes: it covers no data."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, title=title)


def heading(ax: Any, text: str, side: str = "right") -> None:
    """Write the title of a panel inside it: the legend stands where a title would."""
    place = {"xycoords": "axes fraction", "ha": side, "va": "top", "fontsize": 8.5}
    ax.annotate(text, (0.98 if side == "right" else 0.03, 0.97), **place)


def power_of_ten(n: int) -> str:
    """Return 100 as 10², and so on."""
    return "10" + str(len(str(n)) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def log_axis(ax: Any, axis: str, ticks: Sequence[float] | None = None) -> None:
    """Make an axis logarithmic, with ticks written as plain numbers.

    ticks : where they are; by default round numbers, at least four in what is drawn so far.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    getattr(ax, f"set_{axis}scale")("log")
    which = getattr(ax, f"{axis}axis")
    chosen = _round_numbers(*getattr(ax, f"get_{axis}lim")()) if ticks is None else list(ticks)
    which.set_major_locator(FixedLocator(chosen))
    which.set_major_formatter(FuncFormatter(lambda value, _: _tick_label(value)))
    which.set_minor_locator(NullLocator())


def _tick_label(value: float) -> str:
    """Return 0.1, 100, 2000, and large powers of ten as such."""
    power = round(math.log10(value))
    large = power >= 4 and math.isclose(value, 10.0**power)
    return f"$10^{{{power}}}$" if large else f"{value:g}"


def _round_numbers(low: float, high: float) -> list[float]:
    """Return round numbers from low to high: 1, 10, ..., or finer where those are too few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 5, 7), (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)):
        # read as text: 3 * 10**-1 is 0.30000000000000004
        values = [float(f"{k}e{p}") for p in powers for k in steps]
        inside = [x for x in values if low <= x <= high]
        if len(inside) >= MIN_LOG_TICKS:
            break
    return inside


def mark_thresholds(ax: Any, *, low: float = 0.0, high: float = 0.5) -> None:
    """Mark each exponent (k - 1)/(2k), between both ends, at which spike k is added."""
    # several plots on the same axes mark each threshold once
    already_marked = {line.get_gid() for line in ax.get_lines()}
    named = -math.inf  # where the last name stands: the next one does not cover it
    for k, text in enumerate(("0", "1/4", "1/3", "3/8"), start=1):
        value, name = (k - 1) / (2 * k), f"threshold-{k}"
        if low < value < high and name not in already_marked:
            ax.axvline(value, color="#888888", linewidth=0.8, linestyle=":", zorder=0, gid=name)
            if value - named < 0.05 * (high - low):
                continue
            named = value
            place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            words = {"fontsize": 7, "color": DARK_GREY, "va": "top"}
            ax.annotate(text, (value, 1.0), (2, -1), **words, **place)


@contextmanager
def styled_axes(ax: Any) -> Iterator[Any]:
    """Give the axes, or new ones for None, this style while something is drawn on them."""
    matplotlib = load_library("matplotlib", "plot")
    figure = None
    if ax is None:
        # outside the context: the first figure loads a backend, whose settings must stay
        pyplot = load_library("matplotlib.pyplot", "plot")
        figure = pyplot.figure(figsize=(6.4, 4.2), layout="constrained", dpi=RC["figure.dpi"])
    with matplotlib.rc_context(RC):
        if figure is not None:
            ax = figure.add_subplot()
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(visible=True, color=RC["grid.color"], linewidth=RC["grid.linewidth"])
        ax.set_axisbelow(True)
        yield ax


def add_legend(ax: Any) -> None:
    """Put a legend above the axes with every label once, in as many columns as fit."""
    handles, labels = ax.get_legend_handles_labels()
    unique: dict[str, Any] = {}
    for label, handle in zip(labels, handles, strict=True):
        unique.setdefault(label, handle)
    if unique:
        characters = max(map(len, unique)) + 6  # the handle is six characters wide
        columns = int(ax.bbox.width / ax.figure.dpi * 18 / characters)  # 18 characters to the inch
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
        ax.legend(unique.values(), unique.keys(), ncols=max(1, min(columns, 4)), **place)


def series_colour(i: int, count: int) -> Any:
    """Return a colour of the palette for series i of `count`, or a shade if they are too many."""
    if count <= len(SERIES):
        return SERIES[i]
    return load_library("matplotlib", "plot").colormaps["viridis"](0.9 * i / (count - 1))
