"""Draw docs/images/performance.png from the numbers of benchmarks/measured/h200.json.

    python docs/make_performance.py

The file holds what the commands that it names printed on one machine.
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt

ROOT = Path(__file__).parent
MEASURED = ROOT.parent / "benchmarks" / "measured" / "h200.json"
COLOURS = {"exact": "0.6", "single": "#0072B2", "fast": "#D55E00"}
LABELS = {
    "one large": "one large network\nn = N = 16384\nd = 8192",
    "stacked": "many networks\nn = 5120, d = 512\nN = 1024",
    "8 eta x 10 ridges": "the same\n8 steps\n× 10 ridges",
}


def main() -> None:
    numbers = json.loads(MEASURED.read_text())
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, (speed, error) = plt.subplots(1, 2, figsize=(9.5, 3.4), width_ratios=(1.5, 1))
    cases = list(LABELS)
    for row in numbers["runs"]:
        offset = (list(COLOURS).index(row["precision"]) - 1) * 0.27
        x, rate = cases.index(row["case"]) + offset, row["rate"] / 1e12
        label = row["precision"] if row["case"] == cases[0] else None
        speed.bar(x, rate, 0.25, color=COLOURS[row["precision"]], label=label)
        speed.text(x, rate, f"{rate:.0f}", ha="center", va="bottom")
    speed.set_xticks(range(len(cases)), LABELS.values())
    speed.set_ylabel("useful TFLOP/s, everything included")
    speed.legend(frameon=False, title="precision")
    for precision in ("single", "fast"):
        rows = [row for row in numbers["errors"] if row["precision"] == precision]
        off = np.sort([abs(row["test_measured"]) for row in rows])
        error.plot(off, np.arange(1, len(off) + 1), "o-", ms=3, color=COLOURS[precision],
                   label=precision)  # fmt: skip
    errors_of_means = np.sort([row["test_se"] for row in rows])
    error.plot(errors_of_means, np.arange(1, len(errors_of_means) + 1), ":", color="k",
               label="standard error of\nthe mean, 32 networks")  # fmt: skip
    error.set(xscale="log", xlabel="relative error of the mean test error",
              ylabel="of 20 random problems", ylim=(0, 28))  # fmt: skip
    error.set_yticks(range(0, 21, 5))
    error.legend(frameon=False, loc="upper left", bbox_to_anchor=(-0.02, 1.02), fontsize=8)
    figure.tight_layout()
    figure.savefig(ROOT / "images" / "performance.png", dpi=110)


if __name__ == "__main__":
    main()
