"""Errors as pictures: a theory's lines in the bands of their accuracy, networks as markers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onegrad.arrays import Floats, standard_error
from onegrad.exceptions import check_choice
from onegrad.pictures.layout import Layout, read_in_factors
from onegrad.pictures.style import (
    BLACK,
    BLUE,
    DASHES,
    GREEN,
    MARKERS,
    ORANGE,
    RED,
    band,
    colour,
    drawing,
    entitled,
)  # fmt: skip

WORDS = {
    "test": "test error",
    "train": "train objective",
    "risk": "risk",
    "squared_loss": "squared loss",
    "leave_one_out": "leave-one-out error",
}
COLOURS = {"test": RED, "train": BLUE, "risk": ORANGE, "squared_loss": GREEN}
SHARED = ("alpha", "eta", "ridge")  # axes along which a seed keeps its samples
STRANDS = 60  # networks that are drawn one by one
NEAR = 0.5  # of the height of the picture: further off a level is left out
THIN = 0.8  # lines of all quantities but the first, where colours tell the series apart


def chosen(quantities: str | Sequence[str], known: Sequence[str]) -> list[str]:
    """The quantities to draw, or the complaint that one is none of those known."""
    names = [quantities] if isinstance(quantities, str) else list(quantities)
    for name in names:
        check_choice("quantities", name, known)
    return names


def predicted(
    ax: Any,
    theory: str,
    axes: dict[str, list[Any]],
    found: Mapping[str, Any],
    levels: Mapping[str, Any],
    *,
    dash: Any = None,
    jumps: bool | None = None,
    **line: Any,
) -> Any:
    """Draw what a theory says.

    Parameters
    ----------
    theory : the theory's name in the legend.
    axes : the listed values of the grid, in the order of the arrays' axes.
    found : by quantity: values, how far the mean may lie off, and the spread of one network.
    levels : by name: errors that others reach, drawn where they are one number.
    dash : matplotlib's line style of the theory; by default that of its name, or a solid line.
    jumps : whether the theory jumps at the thresholds of alpha, so that no line joins both sides.
    line : options of matplotlib's lines, such as color and label; they have the last word.
    """
    dash = DASHES.get(theory, "-") if dash is None else dash
    jumps = theory.startswith("staircase") if jumps is None else jumps
    layout = Layout.of(axes)
    with drawing(ax) as ax:
        for k, (quantity, (values, off, spread)) in enumerate(found.items()):
            if layout.name is None:
                _point(ax, quantity, theory, float(values), float(off), float(spread))
                continue
            for i, (y, half) in enumerate(zip(*map(layout.lines, (values, off)), strict=True)):
                style = _style(quantity, i, k, len(layout.series)) | {"linestyle": dash}
                style |= {"label": _label(layout, quantity, f"{theory} theory", i, k)} | line
                style |= {"marker": "_"} if len(y) == 1 or jumps else {}
                x, y, half = _broken(layout, jumps, y, half)
                ax.plot(x, y, gid="error", **style)
                band(ax, x, y, half, style["color"], "accuracy, 95 %")
        _keys(ax, layout, list(found), f"{theory} theory", linestyle=dash)
        _levels(ax, levels)
        layout.dress(ax)
        return _finished(ax, layout, list(found))


def measured(
    ax: Any, who: str, axes: dict[str, list[Any]], found: Mapping[str, Floats], **line: Any
) -> Any:
    """Draw what networks did: means with two standard errors, and thin lines of single networks.

    found : by quantity, a value per seed and point. Where the networks of a seed share their
    samples along x, a line joins them: the means then lie off together, by chance, not by bias.
    """
    layout = Layout.of(axes)
    with drawing(ax) as ax:
        for k, (quantity, values) in enumerate(found.items()):
            if layout.name is None:
                _networks(ax, quantity, who, values)
                continue
            lines = layout.lines(values)  # (seeds, series, along x)
            for i in range(len(layout.series)):
                style = _style(quantity, i, k, len(layout.series))
                style["label"] = _label(layout, quantity, who, i, k)
                style |= {"marker": MARKERS[k], "markersize": 4.5, "linestyle": "none"} | line
                alone = len(layout.series) == 1 and 1 < len(lines) <= STRANDS
                if alone and layout.name in SHARED:
                    ax.plot(layout.x, lines[:, i].T, color=style["color"], lw=0.5, alpha=0.25)
                y, se = lines[:, i].mean(0), standard_error(lines[:, i])
                ax.errorbar(
                    layout.x, y, yerr=2 * np.nan_to_num(se), capsize=2.0, zorder=4, gid="error",
                    markerfacecolor="white", **style,
                )  # fmt: skip
        _keys(ax, layout, list(found), who, marker="o", linestyle="none")
        layout.dress(ax)
        return _finished(ax, layout, list(found))


def _point(ax: Any, quantity: str, theory: str, y: float, off: float, spread: float) -> None:
    """One problem: the prediction, the bar of its accuracy, the bar of two spreads."""
    place, style = _place(ax, quantity), {"color": COLOURS.get(quantity, BLACK)}
    ax.plot(place, y, "_", markersize=26, label=f"{theory} theory", gid="error", **style)
    if np.isfinite(off):
        ax.errorbar(place, y, yerr=off, linewidth=9, alpha=0.3, label="accuracy, 95 %", **style)
    if np.isfinite(spread):
        ax.errorbar(place, y, yerr=2 * spread, linewidth=1, capsize=5, label="two spreads", **style)


def _networks(ax: Any, quantity: str, who: str, values: Floats) -> None:
    """One problem: every network as a dot beside the mean and its two standard errors."""
    place, style = _place(ax, quantity) + 0.15, {"color": COLOURS.get(quantity, BLACK)}
    across = place + 0.1 + 0.1 * np.linspace(0, 1, len(values))
    ax.plot(across, values, ".", markersize=3, alpha=0.6, label="single networks", **style)
    se = 2 * np.nan_to_num(standard_error(values))
    ax.errorbar(place, values.mean(), se, fmt="o", capsize=2, label=who, gid="error", **style)


def _place(ax: Any, quantity: str) -> float:
    """Where a quantity of a single problem stands along x; a tick where it is new."""
    ticks = dict(zip((t.get_text() for t in ax.get_xticklabels()), ax.get_xticks(), strict=True))
    named = {name: x for name, x in ticks.items() if name in WORDS.values()}
    if WORDS[quantity] not in named:
        named[WORDS[quantity]] = float(len(named))
        ax.set_xticks(list(named.values()), list(named))
        ax.set_xlim(-0.5, len(named) - 0.2)
    return float(named[WORDS[quantity]])


def _style(quantity: str, i: int, k: int, count: int) -> dict[str, Any]:
    """Colour and width of series i of the k-th quantity."""
    if count == 1:
        return {"color": COLOURS.get(quantity, BLACK)}
    return {"color": colour(i, count)} | ({"linewidth": THIN} if k else {})


def _label(layout: Layout, quantity: str, who: str, i: int, k: int) -> str | None:
    """A curve alone says what it is and whose; in a grid its first quantity names the series."""
    if len(layout.series) == 1:
        return f"{WORDS[quantity]}, {who}"
    return None if k else layout.series[i]


def _keys(ax: Any, layout: Layout, quantities: list[str], who: str, **style: Any) -> None:
    """What the labels of a grid do not say: whose its lines or markers are, and of what."""
    if layout.name is None or len(layout.series) == 1:
        return
    for k, quantity in enumerate(quantities):
        own = {"marker": MARKERS[k]} if "marker" in style else {"linewidth": THIN} if k else {}
        words = f"{WORDS[quantity]}, {who}"
        ax.plot([], [], label=words, color="#555555", markerfacecolor="white", **(style | own))


def _levels(ax: Any, levels: Mapping[str, Any]) -> None:
    """Errors that others reach, one line for all names of the same number; each once.

    One that is far from the curves would flatten them, and is left out.
    """
    drawn = {line.get_gid() for line in ax.get_lines()}
    low, high = ax.get_ylim()
    room = NEAR * (high - low)
    names: dict[float, list[str]] = {}
    for name, value in levels.items():
        for number in {round(float(v), 12) for v in np.ravel(value)}:
            names.setdefault(number, []).append(name)
    for number, words in names.items():
        label = " = ".join(words)
        if len(names) == 1 and label not in drawn and low - room < number < high + room:
            style = {"color": "#555555", "linestyle": (0, (3, 3)), "linewidth": 1.0}
            ax.axhline(number, label=label, zorder=1, gid=label, **style)


def _broken(layout: Layout, jumps: bool, y: Floats, half: Floats) -> tuple[Floats, Floats, Floats]:
    """Return x, y and the band in order of x, with a gap at each threshold if the theory jumps."""
    order = np.argsort(layout.x, kind="stable")
    x, y, half = (values[order] for values in (layout.x, y, half))
    if layout.name != "alpha" or not jumps:
        return x, y, half
    stairs = [(k - 1) / (2 * k) for k in range(1, 40)]
    gaps = [int(i) for i in np.unique(np.searchsorted(x, stairs, "right")) if 0 < i < len(x)]
    return np.insert(x, gaps, np.nan), np.insert(y, gaps, np.nan), np.insert(half, gaps, np.nan)


def _finished(ax: Any, layout: Layout, quantities: list[str]) -> Any:
    """Scale, label and legend."""
    read_in_factors(ax)
    words = WORDS[quantities[0]] if len(quantities) == 1 and layout.name else "error"
    ax.set_ylabel(words if ax.get_ylabel() in ("", words) else "error")
    entitled(ax)
    return ax
