"""Ba et al., Figure 2: where neurons go in the mean-field and in the NTK scaling."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.experiments.results import Results
from onegrad.pictures import style
from onegrad.studies.text import Facts

TITLES = {"mean-field": "mean-field scaling", "ntk": "NTK scaling"}


def draw(results: Results) -> Any:
    """Draw the paths of the neurons in the plane of the teacher, one panel per scaling."""
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Rectangle

    figure, axes = style.panels(2, width=4.2, height=4.6)
    for ax, (name, title) in zip(axes[0], TITLES.items(), strict=True):
        paths = results[name][0].values["paths"][0]  # (times, neurons, 2)
        reach = 1.05 * float(np.abs(paths).max())
        segments = np.stack([paths[:-1], paths[1:]], axis=2).reshape(-1, 2, 2)
        times = np.repeat(np.linspace(0, 1, len(paths) - 1), paths.shape[1])
        lines = LineCollection(list(segments), array=times, cmap=colormaps["viridis"])
        lines.set(linewidth=0.8, rasterized=True)  # thousands of segments
        ax.add_collection(lines)
        ax.scatter(*paths[0].T, s=3, color="black", zorder=3)
        ax.set(title=title, xlabel="w · β₁", xlim=(-reach, reach), ylim=(-reach, reach))
        ax.axhline(0, color="black", linestyle="--", linewidth=0.8)
        ax.axvline(0, color="black", linestyle="--", linewidth=0.8)
        ax.set_box_aspect(1)
    axes[0, 0].set_ylabel("w · β₂")
    corner = axes[0, 1].get_xlim()[0]
    frame: Any = {"fill": False, "color": style.RED, "label": "frame of the right panel"}
    axes[0, 0].add_patch(Rectangle((corner, corner), -2 * corner, -2 * corner, **frame))
    axes[0, 0].legend(loc="lower left")
    return figure


def facts(results: Results) -> Facts:
    """Return steps, final loss and distance travelled for each scaling."""
    scalings = []
    for name, title in TITLES.items():
        values = results[name][0].values
        paths = values["paths"][0]
        distance = np.linalg.norm(paths[-1] - paths[0], axis=1)
        scalings.append(
            {
                "title": title,
                "steps": int(values["steps"][0]),
                "loss": float(values["loss"][0]),
                "distance": float(np.mean(distance)),
                "spread": float(np.std(paths[0])),
            }
        )
    return {"scalings": scalings}
