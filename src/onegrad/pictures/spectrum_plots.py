"""Plots of spectra on the scale of the explorer's page: singular values s of F over √n.

The axis is logarithmic, and densities are those of log s, so that areas stay masses.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.pictures import style
from onegrad.pictures.result_tables import network_count

DEGREE_NAMES = ("", "linear", "quadratic", "cubic", "quartic")
_DEGREE_COLOURS = (style.DARK_GREY, style.RED, style.GREEN, style.PINK, style.ORANGE, style.SKY)
_HISTOGRAM_BINS, _HISTOGRAM_GREY = 70, "#9a9a9a"  # bins: for the eye, not tuned
_MIN_DENSITY = 0.004  # of the highest density: below it there is nothing to see
_BEYOND_EDGE = 1.02  # times the edge: closer values of a network are its bulk's, as on the page
_TICKS_WITHOUT_EDGE = 4  # singular values that are ticks where the edge is not known


def draw_predicted_spectrum(
    ax: Any,
    method: str,
    density: tuple[Floats, Floats],
    edge: float,
    spikes: Sequence[tuple[float, Mapping[int, float]]],
) -> Any:
    """Draw the bulk as an area, and every spike as a line labelled with its degree.

    Parameters
    ----------
    method : name of the theory in the legend.
    density : eigenvalues x and their density rho(x).
    edge : right edge of the bulk.
    spikes : eigenvalue and alignments of each spike.
    """
    x, rho = density
    s, height = np.sqrt(x), 2 * x * rho  # ds/s = dx/2x
    # a large step deforms the bulk of a network, which only the uniform method follows
    bulk = "bulk" if method == "uniform" else "bulk without a step"
    with style.styled_axes(ax) as ax:
        ax.fill_between(s, height, color=style.BLUE, alpha=0.2, lw=0)
        ax.plot(s, height, color=style.BLUE, label=f"{bulk}, {method} theory", gid="bulk")
        _vertical_line(ax, np.sqrt(edge), "edge", "#888888", linestyle=":", linewidth=0.9)
        for eigenvalue, alignment in spikes:
            degree, squared_cosine = max(alignment.items(), key=lambda x: x[1], default=(0, 0.0))
            degree = degree if squared_cosine >= 0.01 else 0  # below that it points at none
            name = DEGREE_NAMES[degree] if degree < len(DEGREE_NAMES) else f"degree {degree}"
            label = f"{name} {squared_cosine:.0%}" if degree else "untrained"
            colour = _DEGREE_COLOURS[degree % len(_DEGREE_COLOURS)]
            _vertical_line(ax, np.sqrt(eigenvalue), label, colour, linewidth=1.4, gid="spike")
        if spikes:
            ax.plot([], [], color=style.DARK_GREY, linewidth=1.4, label=f"spike, {method} theory")
        right = max([np.sqrt(edge), *(np.sqrt(eigenvalue) for eigenvalue, _ in spikes)])
        left = s[max(int(np.argmax(height > _MIN_DENSITY * height.max())) - 1, 0)]
        return _format_axes(ax, 0.85 * min(left, np.sqrt(edge) / 4), 1.3 * right)


def draw_measured_spectrum(ax: Any, singular_values: Floats, n: int, edge: float | None) -> Any:
    """Draw the bulk of networks as a histogram of all n eigenvalues, and each spike as a tick.

    Parameters
    ----------
    singular_values : those of F, one row per network.
    n : rows of F.
    edge : edge of the eigenvalues of F F^T/n, where it is known.
    """
    s = singular_values / np.sqrt(n)
    networks = network_count(len(s))
    if edge is None:
        ticks = s[:, :_TICKS_WITHOUT_EDGE].ravel()
    else:
        ticks = s[s > _BEYOND_EDGE * np.sqrt(edge)]
    nonzero = s[s > 1e-3 * s.max()]  # the atom at zero is no density
    bins = np.geomspace(nonzero.min(), 1.0001 * nonzero.max(), _HISTOGRAM_BINS + 1)
    counts, _ = np.histogram(nonzero, bins)
    density = counts / (len(s) * n) / np.diff(np.log(bins))
    with style.styled_axes(ax) as ax:
        ax.stairs(
            density, bins, fill=True, color=_HISTOGRAM_GREY, alpha=0.5, label=networks, zorder=0
        )
        low, high = nonzero.min(), 1.3 * nonzero.max()
        # networks beside a theory: both stay in sight
        if ax.get_lines():
            low, high = min(ax.get_xlim()[0], low), max(ax.get_xlim()[1], high)
        if len(ticks):
            where = "beyond the edge" if edge is not None else f"top {_TICKS_WITHOUT_EDGE}"
            options = {"color": "black", "lw": 1.8, "zorder": 5, "label": f"{where}, {networks}"}
            ax.vlines(ticks, 0, 0.07, transform=ax.get_xaxis_transform(), **options)
        return _format_axes(ax, low, high)


def _vertical_line(ax: Any, x: float, label: str, colour: str, **line: Any) -> None:
    ax.axvline(x, color=colour, zorder=3, **line)
    place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    text = {"rotation": 90, "ha": "right", "va": "top", "color": colour, "fontsize": 7.5}
    ax.annotate(label, (x, 0.98), (-2, 0), **place, **text)


def _format_axes(ax: Any, low: float, high: float) -> Any:
    ticker = style.load_library("matplotlib.ticker", "plot")
    ax.set(xscale="log", xlim=(low, high))
    ax.set(xlabel="singular values s of F, over √n", ylabel="density of log s")
    # auto: what is drawn on these axes later may be higher
    ax.set_ylim(bottom=0, auto=True)
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(ticker.NullFormatter())
    style.add_legend(ax)
    return ax
