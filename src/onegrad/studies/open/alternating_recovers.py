"""Round by round: how much of the teacher's subspace the metric's leading subspace has."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.results import Curve, Results
from onegrad.studies.drawing import Drawing, style

FOUND = 0.9  # overlap of a subspace that counts as found


def draw(results: Results) -> Drawing:
    rounds = [int(name) for name in results]
    teachers = list(dict.fromkeys(p.problem.teacher for p in results["0"]))
    sizes = results["0"].levels("n")
    figure, axes = style.panels(2, len(teachers), width=4.4, height=3.4)
    told, leads = [], []
    for row, teacher in zip(axes, teachers, strict=True):
        last: dict[int, float] = {}
        for i, n in enumerate(sizes):
            for ax, quantity in zip(row, ("overlap", "risk"), strict=True):
                at = [results[str(r)].where(teacher=teacher, n=n)[0] for r in rounds]
                y = np.array([p.mean(quantity) for p in at])
                se = np.array([p.se(quantity) for p in at])
                curve = Curve(np.array(rounds, dtype=float), y, se)
                style.markers(ax, curve, i, f"n = {n}", linestyle="-", linewidth=0.8)
                if quantity == "overlap":
                    last[n] = float(y[-1])
                    told.append(
                        f"{teacher}, n = {n}: {y[0]:.2f} → {y[1]:.2f} → {y[-1]:.2f} ± {se[-1]:.2f}"
                    )
        row[0].set(xlabel="rounds", ylabel="overlap of the subspaces")
        row[1].set(xlabel="rounds", ylabel="test error / variance")
        row[1].set_title(teacher)
        style.legend(row[0], 3)
        leads.append(lead(teacher, last))
    d = results["0"][0].problem.d
    return Drawing(
        figure, (), (),
        f"{' '.join(leads)} Overlap of the metric's leading subspace with the teacher's at d = {d} "
        f"with at most 0, 1 and {rounds[-1]} rounds (chance is {2 / d:.2f}): {'; '.join(told)}.",
    )  # fmt: skip


def lead(teacher: str, last: dict[int, float]) -> str:
    """From how many rows on the subspace is found."""
    found = [n for n in last if min(v for m, v in last.items() if m >= n) > FOUND]
    how = f"is found from n = {found[0]} on" if found else f"is not found up to n = {max(last)}"
    return f"The subspace of {teacher} {how} (overlap above {FOUND:g})."
