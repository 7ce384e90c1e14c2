"""The dot plot of docs/real_data.md, from stored results of benchmarks/real_data.py.

    python benchmarks/draw_real_data.py [--cells benchmarks/measured/real_data.jsonl]
                                        [--out docs/images/real-data.svg]

One row per set, in the order of the default's error; a dot per model: its error relative to that
of random features on the same rows, the geometric mean over the splits that all of them have.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

ROOT = Path(__file__).parent.parent
BASE = "random features"
ROWS = 3000  # most training rows of the cells that are drawn
MODELS = {  # name in the results: (label, colour, marker)
    "HistGradientBoosting": ("HistGradientBoosting", "#b0b0b0", "s"),
    "alternating, fast": ("AlternatingClassifier, …Regressor, fast", "#8fb8de", "o"),
    "alternating": ("AlternatingClassifier, …Regressor", "#12508c", "o"),
}


def relative_errors(cells: list[dict[str, Any]], classes: bool) -> dict[str, dict[str, float]]:
    """Return, by set and model, the error relative to random features."""
    errors: dict[str, dict[str, dict[int, float]]] = {}
    for cell in cells:
        if cell["classes"] == classes:
            by_model = errors.setdefault(cell["set"], {})
            by_model.setdefault(cell["model"], {})[cell["split"]] = cell["error"]
    result = {}
    for name, by_model in errors.items():
        if not {BASE, *MODELS} <= set(by_model):
            continue
        splits = set.intersection(*(set(by_model[model]) for model in (BASE, *MODELS)))
        result[name] = {
            model: float(
                np.exp(np.mean([np.log(by_model[model][k] / by_model[BASE][k]) for k in splits]))
            )
            for model in MODELS
        }
    return result


def draw(cells: list[dict[str, Any]]) -> Figure:
    """Two panels, numbers and classes."""
    panels = {"regression": False, "classification": True}
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    axes = figure.subplots(1, 2)
    for ax, (title, classes) in zip(axes, panels.items(), strict=True):
        ratios = relative_errors(cells, classes)
        sets = sorted(ratios, key=lambda name: -ratios[name]["alternating"])
        for y, name in enumerate(sets):
            ax.plot([*ratios[name].values()], [y] * len(MODELS), color="#e0e0e0", lw=2, zorder=1)
        for model, (label, colour, marker) in MODELS.items():
            x = [ratios[name][model] for name in sets]
            ax.scatter(x, range(len(sets)), s=28, c=colour, marker=marker, label=label, zorder=2)
        ax.axvline(1.0, color="black", lw=0.8, ls=":")
        ax.set_xscale("log")
        ticks = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0] if not classes else [0.1, 0.2, 0.5, 1.0]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.set_yticks(range(len(sets)), [name.replace("_", " ") for name in sets], fontsize=8)
        ax.set_title(f"{title}, {len(sets)} sets", fontsize=10)
        ax.set_xlabel("error relative to random features", fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=Path, default=ROOT / "benchmarks/measured/real_data.jsonl")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/images/real-data.svg")
    args = parser.parse_args()
    cells = [
        cell for cell in map(json.loads, args.cells.open(encoding="utf-8")) if cell["rows"] == ROWS
    ]
    mpl.rcParams["svg.hashsalt"] = "onegrad"  # the same bytes for the same results
    figure = draw(cells)
    figure.savefig(args.out, metadata={"Date": None} if args.out.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
