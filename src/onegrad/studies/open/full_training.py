"""One step, a few steps, all of training, trees: the same rows for all."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.results import Point, Results
from onegrad.studies.drawing import Drawing, style

METHODS = ("untrained", "one-step", "five-steps", "trained", "trees", "alternating")


def draw(results: Results) -> Drawing:
    tasks: dict[str, dict[str, Point]] = {}
    for method in METHODS:
        for p in results[method]:
            tasks.setdefault(p.problem.teacher_function.name, {})[method] = p
        tasks.setdefault("digits ≥ 5", {})[method] = results[f"digits-{method}"][0]
    figure, axes = style.panels(1, width=2.0 + 1.7 * len(tasks), height=4.0)
    ax, lines = axes[0, 0], []
    for i, method in enumerate(METHODS):
        y = [found[method].mean("test") for found in tasks.values()]
        se = [found[method].se("test") for found in tasks.values()]
        x = np.arange(len(tasks)) + 0.14 * (i - 2.5)
        colour = style.SERIES[i % len(style.SERIES)]
        ax.bar(x, y, 0.13, yerr=2 * np.array(se), color=colour, label=method)
    for task, found in tasks.items():
        before, one, all_ = (found[m].mean("test") for m in ("untrained", "one-step", "trained"))
        gains = before > all_
        part = f"{(before - one) / (before - all_):.0%}" if gains else "training gains nothing"
        others = ", ".join(
            f"{m} {found[m].mean('test'):.3f} ± {found[m].se('test'):.3f}" for m in METHODS
        )
        lines.append(f"{task}: {part} ({others})")
    ax.set_xticks(range(len(tasks)), list(tasks), fontsize=7)
    ax.set(xlabel="teacher or data", ylabel="test error / variance of the labels")
    style.legend(ax, 3)
    return Drawing(
        figure, (), (),
        "Gain of one step over the untrained network, as a share of the gain of full training: "
        f"{'; '.join(lines)}.",
    )  # fmt: skip
