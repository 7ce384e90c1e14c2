"""Pictures of what a command prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from onegrad.errors import InvalidInput
from onegrad.io.files import replacing
from onegrad.problem import FIELDS

GREY = "#666666"
DPI = 160
FORMATS = (".svg", ".png", ".pdf")


def plot_errors(prediction: Any, axes: dict[str, list[float]], path: str) -> None:
    """Train and test error along the first axis, one line for each value of the others."""
    from onegrad.experiments.figures.style import BLUE, GREEN, RED, band, panels
    from onegrad.theory import thresholds

    figure, ((ax,),) = panels(1, width=6.4, height=4.0)
    name, x = next(iter(axes.items()))

    def curves(values: Any, **style: Any) -> None:
        ax.plot(x, np.reshape(values, (len(x), -1)), **style)

    curves(prediction.test, color=RED, label="test error")
    curves(prediction.train, color=BLUE, ls="--", label="train objective")
    for which, colour in (("test", RED), ("train", BLUE)):
        value, bar = getattr(prediction, which), getattr(prediction.accuracy, which)
        lines = (np.reshape(v, (len(x), -1)).T for v in (value, value * bar))
        for y, half_width in zip(*lines, strict=True):
            band(ax, x, y, half_width, colour)
    if name == "alpha":
        for threshold in thresholds(8):
            if min(x) < threshold < max(x):
                ax.axvline(threshold, color=GREY, lw=0.6, ls=":")
    curves(prediction.linear, color=GREEN, lw=1, label="best linear predictor")
    curves(prediction.kernel_bound, color=GREY, lw=1, ls="-.", label="kernel lower bound")
    if FIELDS[name].logarithmic and min(x) > 0 and max(x) > 20 * min(x):
        ax.set_xscale("log")
    handles, labels = ax.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    ax.legend(unique.values(), unique.keys(), frameon=False)
    ax.set(xlabel=FIELDS[name].label, ylabel="error", title=f"{prediction.theory} theory")
    _save(figure, path)


def plot_spectrum(theory: Any, measured: Any, path: str) -> None:
    """Bulk density and spikes; eigenvalues of the networks as a histogram where measured."""
    from onegrad.experiments.figures.style import BLUE, RED, panels

    figure, ((ax,),) = panels(1, width=6.4, height=4.0)
    ax.fill_between(theory.x, theory.rho, color=BLUE, alpha=0.25, lw=0)
    ax.plot(theory.x, theory.rho, color=BLUE, label="bulk, theory")
    top = theory.edge
    for i, spike in enumerate(theory.spikes):
        label = "spike, theory" if i == 0 else None
        ax.axvline(spike.eigenvalue, color=RED, lw=1.5, label=label)
        top = max(top, spike.eigenvalue)
    if measured is not None:
        eigenvalues = np.concatenate([s**2 for s in measured.F]) / measured.problem.n
        kept = eigenvalues[eigenvalues > 1e-9]  # the atom at zero is a number, not a density
        bins = np.linspace(0, top * 1.1, 160)
        weights = np.full(len(kept), 1 / (len(measured.F) * measured.problem.n * np.diff(bins)[0]))
        ax.hist(kept, bins, weights=weights, color=GREY, alpha=0.5, label="networks")
    ax.set_ylim(0, 1.1 * np.quantile(theory.rho, 0.98) if len(theory.rho) else None)
    ax.set(xlabel=r"eigenvalue of $FF^\top/n$", ylabel="density", xlim=(0, 1.1 * top))
    ax.legend(frameon=False)
    _save(figure, path)


def _save(figure: Any, path: str) -> None:
    with replacing(Path(path)) as file:
        figure.savefig(file, dpi=DPI, format=Path(path).suffix[1:].lower())


def check_plot_path(path: str) -> None:
    """Complain before anything is computed when the picture could not be written."""
    if Path(path).suffix.lower() not in FORMATS:
        raise InvalidInput(f"--plot must end in {', '.join(FORMATS)}; got {path!r:.60}")
    if not Path(path).parent.is_dir():
        raise InvalidInput(f"--plot must be in a folder that exists; got {path!r:.200}")
