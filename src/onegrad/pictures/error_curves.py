"""Plots of errors: a theory's lines in the bands of their accuracy, networks as markers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onegrad.arrays import Floats, standard_error
from onegrad.exceptions import check_choice
from onegrad.pictures import style
from onegrad.pictures.layout import Layout, choose_y_scale

QUANTITY_NAMES = {
    "test": "test error",
    "train": "train objective",
    "risk": "risk",
    "squared_loss": "squared loss",
    "leave_one_out": "leave-one-out error",
}
_QUANTITY_COLOURS = {
    "test": style.RED,
    "train": style.BLUE,
    "risk": style.ORANGE,
    "squared_loss": style.GREEN,
    "leave_one_out": style.BLACK,
}
_SHARED_SAMPLES = ("alpha", "eta", "ridge")  # axes along which a seed keeps its samples
_MAX_SINGLE_NETWORKS = 60  # networks that are drawn one by one
_MAX_LEVEL_DISTANCE = 0.5  # heights of the picture beyond which a level is left out
_THIN_LINE = 0.8  # for all quantities but the first, where colours tell the series apart


def check_quantities(quantities: str | Sequence[str], choices: Sequence[str]) -> list[str]:
    """Return the quantities to draw as a list, and raise InvalidInput for an unknown one."""
    names = [quantities] if isinstance(quantities, str) else list(quantities)
    return [check_choice("quantities", name, choices) for name in names]


def draw_predicted_errors(
    ax: Any,
    theory: str,
    axes: dict[str, list[Any]],
    predictions: Mapping[str, tuple[Any, Any, Any]],
    levels: Mapping[str, Any],
    *,
    dash: Any,
    jumps: bool,
    **line: Any,
) -> Any:
    """Draw the errors that a theory predicts.

    Parameters
    ----------
    theory : name of the theory in the legend.
    axes : the listed values of the grid, in the order of the arrays' axes.
    predictions : by quantity: values, half-width of the band, and spread of a single network.
    levels : by name: errors that others reach, drawn where they are one number.
    dash : matplotlib's line style of the theory.
    jumps : whether the theory jumps at the thresholds of alpha, so that no line joins both sides.
    line : options of matplotlib's lines, such as color and label; they have the last word.
    """
    layout = Layout.of(axes)
    with style.styled_axes(ax) as ax:
        for k, (quantity, (values, half_width, spread)) in enumerate(predictions.items()):
            if layout.name is None:
                _one_prediction(ax, quantity, theory, *map(float, (values, half_width, spread)))
                continue
            lines = zip(layout.lines(values), layout.lines(half_width), strict=True)
            for i, (means, half_widths) in enumerate(lines):
                options = _series_options(layout, quantity, f"{theory} theory", i, k)
                options |= {"linestyle": dash} | line
                # a line through one point, or between two gaps, would be invisible
                options |= {"marker": "_"} if len(means) == 1 or jumps else {}
                x, y, half = _in_order(layout, jumps, means, half_widths)
                ax.plot(x, y, gid="error", **options)
                style.band(ax, x, y, half, options["color"], "accuracy, 95 %")
        _quantity_legend(ax, layout, list(predictions), f"{theory} theory", linestyle=dash)
        _draw_levels(ax, levels)
        return _format_axes(ax, layout, list(predictions))


def draw_measured_errors(
    ax: Any,
    source: str,
    axes: dict[str, list[Any]],
    measurements: Mapping[str, Floats],
    **line: Any,
) -> Any:
    """Draw means over networks with two standard errors, and thin lines of single networks.

    Where the networks of a seed share their samples along x, a line joins them: the means then
    deviate together, by chance and not by bias.

    Parameters
    ----------
    source : name of the networks in the legend.
    axes : the listed values of the grid, in the order of the arrays' axes.
    measurements : by quantity: values of shape (seeds, *grid).
    line : options of matplotlib's errorbar, such as color and label; they have the last word.
    """
    layout = Layout.of(axes)
    with style.styled_axes(ax) as ax:
        for k, (quantity, values) in enumerate(measurements.items()):
            if layout.name is None:
                _one_measurement(ax, quantity, source, values)
                continue
            lines = layout.lines(values)  # (seeds, series, along x)
            joins = len(layout.series) == 1 and layout.name in _SHARED_SAMPLES
            for i in range(len(layout.series)):
                options = _series_options(layout, quantity, source, i, k)
                options |= {"linestyle": "none", "marker": style.MARKERS[k], "markersize": 4.5}
                options |= line
                if joins and 1 < len(lines) <= _MAX_SINGLE_NETWORKS:
                    ax.plot(layout.x, lines[:, i].T, color=options["color"], lw=0.5, alpha=0.25)
                options |= {"capsize": 2.0, "zorder": 4, "markerfacecolor": "white"}
                y, se = lines[:, i].mean(0), standard_error(lines[:, i])
                ax.errorbar(layout.x, y, yerr=2 * np.nan_to_num(se), gid="error", **options)
        _quantity_legend(ax, layout, list(measurements), source, marker="o", linestyle="none")
        return _format_axes(ax, layout, list(measurements))


def _one_prediction(
    ax: Any, quantity: str, theory: str, y: float, half_width: float, spread: float
) -> None:
    """Draw the prediction for one problem, a bar of its accuracy, and a bar of two spreads."""
    x, colour = _place(ax, quantity), _QUANTITY_COLOURS[quantity]
    ax.plot(x, y, "_", markersize=26, label=f"{theory} theory", gid="error", color=colour)
    if np.isfinite(half_width):
        accuracy = {"linewidth": 9, "alpha": 0.3, "label": "accuracy, 95 %"}
        ax.errorbar(x, y, yerr=half_width, color=colour, **accuracy)
    if np.isfinite(spread):
        spreads = {"linewidth": 1, "capsize": 5, "label": "two spreads"}
        ax.errorbar(x, y, yerr=2 * spread, color=colour, **spreads)


def _one_measurement(ax: Any, quantity: str, source: str, values: Floats) -> None:
    """Draw every network of one problem as a dot beside the mean and its two standard errors."""
    x, colour = _place(ax, quantity) + 0.15, _QUANTITY_COLOURS[quantity]
    dots = x + 0.1 + 0.1 * np.linspace(0, 1, len(values))
    ax.plot(dots, values, ".", markersize=3, alpha=0.6, label="single networks", color=colour)
    bar = 2 * np.nan_to_num(standard_error(values))
    options = {"label": source, "color": colour, "gid": "error"}
    ax.errorbar(x, values.mean(), bar, fmt="o", capsize=2, **options)


def _place(ax: Any, quantity: str) -> float:
    """Return the position of a quantity of a single problem along x, with a tick if it is new."""
    labels = (text.get_text() for text in ax.get_xticklabels())
    ticks = dict(zip(labels, ax.get_xticks(), strict=True))
    places = {name: x for name, x in ticks.items() if name in QUANTITY_NAMES.values()}
    name = QUANTITY_NAMES[quantity]
    if name not in places:
        places[name] = float(len(places))
        ax.set_xticks(list(places.values()), list(places))
        ax.set_xlim(-0.5, len(places) - 0.2)
    return float(places[name])


def _series_options(layout: Layout, quantity: str, source: str, i: int, k: int) -> dict[str, Any]:
    """Return colour, width and label of series i of the k-th quantity.

    A single curve has the colour and the name of its quantity; in a grid they tell the series
    apart, and the first quantity has the labels.
    """
    if len(layout.series) == 1:
        label = f"{QUANTITY_NAMES[quantity]}, {source}"
        return {"color": _QUANTITY_COLOURS[quantity], "label": label}
    colour = style.series_colour(i, len(layout.series))
    return {"color": colour, "label": None if k else layout.series[i]} | _line_width(k)


def _line_width(k: int) -> dict[str, Any]:
    return {"linewidth": _THIN_LINE} if k else {}


def _quantity_legend(
    ax: Any, layout: Layout, quantities: list[str], source: str, **options: Any
) -> None:
    """Add to the legend of a grid what its labels do not say: the quantities and their source."""
    if layout.name is None or len(layout.series) == 1:
        return
    options |= {"color": style.DARK_GREY, "markerfacecolor": "white"}
    for k, quantity in enumerate(quantities):
        own = {"marker": style.MARKERS[k]} if "marker" in options else _line_width(k)
        ax.plot([], [], label=f"{QUANTITY_NAMES[quantity]}, {source}", **(options | own))


def _draw_levels(ax: Any, levels: Mapping[str, Any]) -> None:
    """Draw one line for all names of the same error, once.

    A level that is far from the curves would flatten them, and is left out.
    """
    labels_drawn = {line.get_gid() for line in ax.get_lines()}
    low, high = ax.get_ylim()
    margin = _MAX_LEVEL_DISTANCE * (high - low)
    names: dict[float, list[str]] = {}
    for name, value in levels.items():
        for error in {round(float(v), 12) for v in np.ravel(value)}:  # equal but for rounding
            names.setdefault(error, []).append(name)
    if len(names) == 1:
        ((error, same),) = names.items()
        label = " = ".join(same)
        if label not in labels_drawn and low - margin < error < high + margin:
            style.level(ax, error, label, style.DARK_GREY, gid=label)


def _in_order(
    layout: Layout, jumps: bool, y: Floats, half_width: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return x, y and the band in order of x, with a gap at each threshold if the theory jumps."""
    order = np.argsort(layout.x, kind="stable")
    columns = [values[order] for values in (layout.x, y, half_width)]
    if layout.name == "alpha" and jumps:
        stairs = [(k - 1) / (2 * k) for k in range(1, 40)]
        places = np.unique(np.searchsorted(columns[0], stairs, "right"))
        gaps = [int(i) for i in places if 0 < i < len(order)]
        columns = [np.insert(values, gaps, np.nan) for values in columns]
    x, y, half_width = columns
    return x, y, half_width


def _format_axes(ax: Any, layout: Layout, quantities: list[str]) -> Any:
    """Set scales, labels and the legend."""
    layout.format_x_axis(ax)
    choose_y_scale(ax)
    label = QUANTITY_NAMES[quantities[0]] if len(quantities) == 1 and layout.name else "error"
    ax.set_ylabel(label if ax.get_ylabel() in ("", label) else "error")
    style.add_legend(ax)
    return ax
