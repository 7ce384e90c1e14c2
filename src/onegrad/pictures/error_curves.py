"""Plots of errors: a theory's lines in the bands of their accuracy, networks as markers.

A grid of problems has one field along x, and a series for each combination of the other values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from onegrad.arrays import Floats, standard_error
from onegrad.exceptions import check_choice
from onegrad.pictures import style
from onegrad.pictures.result_tables import field_text, is_number
from onegrad.problem import FIELDS

QUANTITY_NAMES = {
    "test": "test error",
    "train": "train objective",
    "risk": "risk",
    "squared_loss": "squared loss",
    "leave_one_out": "leave-one-out error",
}
_COLOURS = (style.RED, style.BLUE, style.ORANGE, style.GREEN, style.BLACK)
_QUANTITY_COLOURS = dict(zip(QUANTITY_NAMES, _COLOURS, strict=True))
_SHARED_SAMPLES = ("alpha", "eta", "ridge")  # axes along which a seed keeps its samples
_MAX_SINGLE_NETWORKS = 60  # networks that are drawn one by one
_MAX_LEVEL_DISTANCE = 0.5  # heights of the picture beyond which a level is left out
_THIN_LINE = 0.8  # for all quantities but the first, where colours tell the series apart
MIN_LOG_RATIO = 20.0  # an axis whose largest and smallest value differ by more is logarithmic
MAX_LEGEND_CHARACTERS = 24  # of one value in the legend


@dataclass(frozen=True)
class Layout:
    """The place of every point of a grid.

    Parameters
    ----------
    name : field along x; None for a single problem.
    values : values of that field.
    series : name of each series in the legend.
    order : axes of the grid, with the one along x last.
    """

    name: str | None
    values: list[Any]
    series: list[str]
    order: tuple[int, ...]

    @classmethod
    def of(cls, axes: dict[str, list[Any]]) -> Layout:
        """Put the first axis of numbers along x, or the first axis if none has numbers."""
        if not axes:
            return cls(None, [], [""], ())
        names = list(axes)
        along = next((name for name in names if _are_numbers(axes[name])), names[0])
        others = [name for name in names if name != along]
        texts = [
            [f"{FIELDS[name].symbol or name} = {_short_text(value)}" for value in axes[name]]
            for name in others
        ]
        series = [", ".join(point) for point in product(*texts)]
        order = tuple(names.index(name) for name in (*others, along))
        return cls(along, list(axes[along]), series, order)

    @property
    def x(self) -> Floats:
        """Positions along x: the numbers themselves, or 0, 1, ... for names."""
        if self.name is None or not _are_numbers(self.values):
            return np.arange(len(self.values), dtype=float)
        return np.array(self.values, dtype=float)

    def lines(self, values: Any) -> Floats:
        """Reshape an array of shape (..., *grid) to (..., series, along x)."""
        array = np.asarray(values, dtype=float)
        lead = array.ndim - len(self.order)
        moved = array.transpose(*range(lead), *(lead + i for i in self.order))
        return moved.reshape(*array.shape[:lead], len(self.series), len(self.values))

    def format_x_axis(self, ax: Any) -> None:
        """Set label and scale of the x axis, and mark the thresholds if it is that of alpha."""
        if self.name is None:
            return
        field = FIELDS[self.name]
        ax.set_xlabel(field.label)
        if not _are_numbers(self.values):
            ax.set_xticks(self.x, [_short_text(value) for value in self.values])
            return
        positive = self.x[self.x > 0]
        if field.logarithmic and len(positive) and self.x.max() > MIN_LOG_RATIO * positive.min():
            if self.x.min() < 0 or len(positive) < len(self.x):  # eta = 0, the untrained network
                ax.set_xscale("symlog", linthresh=float(positive.min()))
            else:
                ax.set_xscale("log")
        if self.name == "alpha":
            # a threshold at an end of the axis is marked, too
            style.mark_thresholds(ax, low=self.x.min() - 1e-9, high=self.x.max() + 1e-9)


def check_quantities(quantities: str | Sequence[str], choices: Sequence[str]) -> list[str]:
    """Return the quantities to draw as a list, and raise InvalidInput for an unknown one."""
    names = [quantities] if isinstance(quantities, str) else list(quantities)
    return [check_choice("quantities", name, choices) for name in names]


def draw_predicted_errors(
    ax: Any,
    theory: str,
    axes: dict[str, list[Any]],
    predictions: Mapping[str, tuple[Any, Any, Any]],
    kernel_bound: Any = (),
    *,
    dash: Any = style.SOLID,
    jumps: bool = False,
    **line: Any,
) -> Any:
    """Draw the errors that a theory predicts.

    Parameters
    ----------
    theory : name of the theory in the legend.
    axes : the listed values of the grid, in the order of the arrays' axes.
    predictions : by quantity: values, half-width of the band, and spread of a single network.
    kernel_bound : that of every point, drawn where it is one number.
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
        _draw_kernel_bound(ax, kernel_bound)
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

    The measurements of a quantity have shape (seeds, *grid); `source` names the networks in the
    legend, and the rest is as in `draw_predicted_errors`, with options of matplotlib's errorbar.
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
    """Draw the prediction for one problem, its accuracy, and two spreads of a network."""
    x, colour = _place(ax, quantity), _QUANTITY_COLOURS[quantity]
    ax.plot(x, y, "_", markersize=26, label=f"{theory} theory", gid="error", color=colour)
    if np.isfinite(half_width):
        accuracy = {"linewidth": 9, "alpha": 0.3, "label": "accuracy, 95 %"}
        ax.errorbar(x, y, yerr=half_width, color=colour, **accuracy)
    if np.isfinite(spread):
        spreads = {"linewidth": 1, "capsize": 5, "label": "single networks, ± 2 s.d."}
        ax.errorbar(x, y, yerr=2 * spread, color=colour, **spreads)


def _one_measurement(ax: Any, quantity: str, source: str, values: Floats) -> None:
    """Draw every network of one problem as a dot beside the mean and its two standard errors."""
    # beside the prediction, which may be on the same axes
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
    # new axes have ticks, which name no quantity
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


def _draw_kernel_bound(ax: Any, kernel_bound: Any) -> None:
    """Draw the bound once; far from the curves it would flatten them, and is left out."""
    low, high = ax.get_ylim()
    margin, label = _MAX_LEVEL_DISTANCE * (high - low), "kernel bound"
    # theories that are drawn on the same axes share it
    is_new = label not in {line.get_gid() for line in ax.get_lines()}
    errors = {round(float(v), 12) for v in np.ravel(kernel_bound)}  # equal but for rounding
    if is_new and len(errors) == 1 and low - margin < (error := errors.pop()) < high + margin:
        style.level(ax, error, label, style.DARK_GREY, gid=label)


def _in_order(
    layout: Layout, jumps: bool, y: Floats, half_width: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return x, y and the band in order of x, with a gap at each threshold if the theory jumps."""
    order = np.argsort(layout.x, kind="stable")
    x, y, half_width = (values[order] for values in (layout.x, y, half_width))
    if layout.name == "alpha" and jumps:
        stairs = [(k - 1) / (2 * k) for k in range(1, 40)]
        places = np.unique(np.searchsorted(x, stairs, "right"))
        gaps = [int(i) for i in places if 0 < i < len(order)]
        x, y, half_width = (np.insert(values, gaps, np.nan) for values in (x, y, half_width))
    return x, y, half_width


def _format_axes(ax: Any, layout: Layout, quantities: list[str]) -> Any:
    layout.format_x_axis(ax)
    _choose_y_scale(ax)
    label = QUANTITY_NAMES[quantities[0]] if len(quantities) == 1 and layout.name else "error"
    ax.set_ylabel(label if ax.get_ylabel() in ("", label) else "error")
    style.add_legend(ax)
    return ax


def _choose_y_scale(ax: Any) -> None:
    """Make the y axis logarithmic if the errors are positive and span orders of magnitude."""
    # the gid tells errors from levels, thresholds and single networks
    curves = [line.get_ydata(orig=False) for line in ax.get_lines() if line.get_gid() == "error"]
    values = np.concatenate([np.ravel(y) for y in curves]) if curves else np.ones(1)
    values = values[np.isfinite(values)]
    if len(values) and values.min() > 0 and values.max() > MIN_LOG_RATIO * values.min():
        ax.set_yscale("log")


def _are_numbers(values: list[Any]) -> bool:
    return all(map(is_number, values))


def _short_text(value: Any) -> str:
    return field_text(value)[:MAX_LEGEND_CHARACTERS]
