"""Spectra as pictures: the scale of the explorer's page, singular values s of F over √n.

The axis is logarithmic, and densities are those of log s, so that areas stay masses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.pictures import needed
from onegrad.pictures.style import BLUE, GREEN, ORANGE, PINK, RED, SKY, drawing, entitled

DEGREES = ("", "linear", "quadratic", "cubic", "quartic")
COLOURS = ("#555555", RED, GREEN, PINK, ORANGE, SKY)
GREY = "#9a9a9a"
BINS = 70
EMPTY = 0.004  # of the highest density: below it there is nothing to see
TOP = 4  # singular values that are ticks where the edge is not known


def dominant(alignment: Mapping[int, float]) -> tuple[int, float]:
    """The degree that a spike points at and its squared cosine; degree 0: at none."""
    degree, aligned = max(alignment.items(), key=lambda pair: pair[1], default=(0, 0.0))
    return (degree, aligned) if aligned >= 0.01 else (0, 0.0)


def predicted(
    ax: Any, method: str, density: tuple[Floats, Floats], edge: float,
    spikes: Sequence[tuple[float, Mapping[int, float]]],
) -> Any:  # fmt: skip
    """The bulk as an area, and every spike as a line that says what it is.

    density : eigenvalues x and rho(x); spikes : eigenvalue and alignments of each.
    """
    x, rho = density
    s, height = np.sqrt(x), 2 * x * rho  # ds/s = dx/2x
    with drawing(ax) as ax:
        ax.fill_between(s, height, color=BLUE, alpha=0.2, lw=0)
        ax.plot(s, height, color=BLUE, label=f"bulk, {method} theory", gid="bulk")
        _named(ax, np.sqrt(edge), "edge", "#888888", linestyle=":", linewidth=0.9)
        for eigenvalue, alignment in spikes:
            degree, aligned = dominant(alignment)
            name = DEGREES[degree] if degree < len(DEGREES) else f"degree {degree}"
            words = f"{name} {aligned:.0%}" if degree else "untrained"
            shade = COLOURS[degree % len(COLOURS)]
            _named(ax, np.sqrt(eigenvalue), words, shade, linewidth=1.4, gid="spike")
        if spikes:
            ax.plot([], [], color="#555555", linewidth=1.4, label=f"spike, {method} theory")
        ends = [np.sqrt(edge), *(np.sqrt(value) for value, _ in spikes)]
        start = s[max(int(np.argmax(height > EMPTY * height.max())) - 1, 0)]
        return _finished(ax, 0.85 * min(start, np.sqrt(edge) / 4), 1.3 * max(ends))


def measured(ax: Any, values: Floats, n: int, edge: float | None) -> Any:
    """Networks: their bulk as a histogram of all n eigenvalues, each spike as a tick of its own.

    values : singular values of F, a row a network; edge : of the eigenvalues of F F^T/n.
    """
    s = values / np.sqrt(n)
    who = "one network" if len(s) == 1 else f"{len(s)} networks"
    beyond = s[s > np.sqrt(edge)] if edge is not None else s[:, :TOP].ravel()
    kept = s[s > 1e-3 * s.max()]  # the atom at zero is no density
    bins = np.geomspace(kept.min(), 1.0001 * kept.max(), BINS + 1)
    counts, _ = np.histogram(kept, bins)
    share = counts / (len(s) * n) / np.diff(np.log(bins))
    with drawing(ax) as ax:
        ax.stairs(share, bins, fill=True, color=GREY, alpha=0.5, label=who, zorder=0)
        low = kept.min() if not ax.get_lines() else min(ax.get_xlim()[0], kept.min())
        high = max([1.3 * kept.max(), *([ax.get_xlim()[1]] if ax.get_lines() else [])])
        if len(beyond):
            words = f"beyond the edge, {who}" if edge is not None else f"top {TOP}, {who}"
            ax.vlines(
                beyond, 0, 0.07, transform=ax.get_xaxis_transform(), color="black", lw=1.8,
                zorder=5, label=words,
            )  # fmt: skip
        return _finished(ax, low, high)


def _named(ax: Any, x: float, words: str, shade: str, **line: Any) -> None:
    """A vertical line with its name along it."""
    ax.axvline(x, color=shade, zorder=3, **line)
    place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    ax.annotate(
        words, (x, 0.98), (-2, 0), rotation=90, ha="right", va="top", color=shade, fontsize=7.5,
        **place,
    )  # fmt: skip


def _finished(ax: Any, low: float, high: float) -> Any:
    ticker = needed("matplotlib.ticker", "plot")
    ax.set(xscale="log", xlim=(low, high), ylabel="density of log s")
    ax.set_ylim(bottom=0, auto=True)
    ax.set_xlabel("singular values s of F, over √n")
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(ticker.NullFormatter())
    entitled(ax)
    return ax
