"""Pictures of a fitted model: predictions against truth, importances, intervals, calibration."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.pictures import style

MAX_BARS = 20  # columns whose importance is drawn
CALIBRATION_BINS = 10


def draw_importances(ax: Any, names: Sequence[str], importances: Floats) -> Any:
    """Draw the importances of the columns that matter most as bars, the largest on top."""
    order = np.argsort(importances, kind="stable")[-MAX_BARS:]
    with style.styled_axes(ax) as ax:
        ax.barh([names[j] for j in order], importances[order], color=style.BLUE)
        ax.set_xlabel("importance")
        return ax


def draw_predictions(ax: Any, predicted: Floats, true: Floats) -> Any:
    """Draw predictions against true values, beside the line where they are equal."""
    ends = [min(predicted.min(), true.min()), max(predicted.max(), true.max())]
    with style.styled_axes(ax) as ax:
        ax.plot(ends, ends, color=style.GREY, linestyle=style.SHORT_DASHES, label="equal")
        ax.plot(predicted, true, ".", color=style.BLUE, alpha=0.6, label=f"{len(true)} rows")
        ax.set(xlabel="predicted", ylabel="true")
        style.add_legend(ax)
        return ax


def draw_intervals(ax: Any, predicted: Floats, low: Floats, high: Floats, true: Floats) -> Any:
    """Draw intervals in the order of predictions, and true values inside and outside of them."""
    order = np.argsort(predicted, kind="stable")
    inside = ((low <= true) & (true <= high))[order]
    # rows stand side by side whatever their predictions, as many of them may be equal
    rows = np.arange(len(order))
    with style.styled_axes(ax) as ax:
        ax.fill_between(rows, low[order], high[order], color=style.SKY, alpha=0.4, label="interval")
        ax.plot(rows, predicted[order], color=style.BLUE, label="predicted")
        for those, colour, name in ((inside, style.BLACK, "in"), (~inside, style.RED, "outside")):
            label = f"{those.mean():.0%} {name}"
            ax.plot(rows[those], true[order][those], ".", color=colour, ms=3, label=label)
        ax.set_xlabel("rows, by prediction")
        style.add_legend(ax)
        return ax


def draw_calibration(ax: Any, confidence: Floats, correct: Floats) -> Any:
    """Draw the share of correct predictions against their probability, in bins of equal size."""
    order = np.argsort(confidence, kind="stable")
    bins = [part for part in np.array_split(order, CALIBRATION_BINS) if len(part)]
    x = np.array([confidence[part].mean() for part in bins])
    y = np.array([correct[part].mean() for part in bins])
    # the standard error of a share: every row is right or not
    se = np.sqrt(np.maximum(y * (1 - y), 0.0) / [len(part) for part in bins])
    ends = [float(min(x.min(), y.min())), 1.0]
    with style.styled_axes(ax) as ax:
        ax.plot(ends, ends, color=style.GREY, linestyle=style.SHORT_DASHES, label="equal")
        style.markers(ax, style.Curve(x, y, se), 0, f"{len(order)} rows, ± two standard errors")
        ax.set(xlabel="probability of the predicted class", ylabel="share that is right")
        style.add_legend(ax)
        return ax
