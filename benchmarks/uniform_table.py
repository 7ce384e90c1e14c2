"""The uniform theory against every reference simulation: a Markdown table, and a figure.

    python benchmarks/uniform_table.py [--figure docs/images/uniform_against_simulation.png]

Each cell is (prediction/simulation - 1) in percent, test error, with a star where it exceeds both
the tolerance (1 % for odd activations, else 2 %) and three standard errors; train errors follow.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from onegrad import AssumptionWarning, Problem
from onegrad.theory import predict as asymptotic
from onegrad.theory.uniform import uniform_errors

DATA = Path(__file__).parents[1] / "tests" / "numbers"
ODD = ("tanh", "erf")
DRAWN = (0, 1, 7, 16)  # settings of the figure


def compare(setting: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(prediction, relative error, z), each (steps, 2)."""
    base = Problem(**setting["problem"])
    curve = uniform_errors([base.replace(eta=eta) for eta in setting["eta"]])
    ours = np.column_stack([curve.train, curve.test])
    mean, se = np.array(setting["mean"]), np.array(setting["se"])
    return ours, ours / mean - 1, (ours - mean) / se


def label(setting: dict[str, Any]) -> str:
    p = setting["problem"]
    kind = " (full residual)" if p["residual"] == "full" else ""
    return (
        f"{p['activation']} / {p['teacher']}, noise {p['noise']:g}, n={p['n']}, d={p['d']}, "
        f"N={p['N']}, ridge {p['ridge']:g}{kind}; {setting['seeds']} seeds"
    )


def table(settings: list[dict[str, Any]], which: int) -> None:
    alphas = ["0 (none)", "0", "0.1", "0.2", "0.25", "0.3", "0.35", "0.4", "0.45", "0.5"]
    print("| setting | " + " | ".join(alphas) + " |")
    print("|---|" + "--:|" * len(alphas))
    for setting in settings:
        _, relative, z = compare(setting)
        tolerance = 0.01 if setting["problem"]["activation"] in ODD else 0.02
        bad = (abs(relative) > tolerance) & (abs(z) > 3)
        cells = [
            f"{100 * r:+.1f}{'*' if b else ''}"
            for r, b in zip(relative[:, which], bad[:, which], strict=True)
        ]
        print(f"| {label(setting)} | " + " | ".join(cells) + " |")


def summary(settings: list[dict[str, Any]]) -> None:
    kinds = {
        "tanh, erf": ODD,
        "relu, softplus": ("relu", "softplus"),
        "cubic": ("H1 + H2/2 + H3/6",),
    }
    print(
        "\n| activations | points | in tolerance or 3 s.e. | mean abs | largest abs | mean abs z |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    for kind, names in kinds.items():
        parts = [compare(s) for s in settings if s["problem"]["activation"] in names]
        relative, z = (np.concatenate([p[i] for p in parts]) for i in (1, 2))
        ok = (abs(relative) <= (0.01 if names == ODD else 0.02)) | (abs(z) <= 3)
        print(
            f"| {kind} | {ok.size} | {100 * ok.mean():.1f} % | {100 * abs(relative).mean():.2f} % "
            f"| {100 * abs(relative).max():.2f} % | {abs(z).mean():.2f} |"
        )


def figure(settings: list[dict[str, Any]], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(2, 2, figsize=(9, 6.4), constrained_layout=True)
    alpha = np.linspace(-0.1, 0.5, 61)
    for ax, i in zip(axes.flat, DRAWN, strict=True):
        setting = settings[i]
        base = Problem(**setting["problem"])
        problems = [base.replace(alpha=float(x)) for x in alpha]
        ax.plot(alpha, uniform_errors(problems).test, color="C0", label="uniform theory")
        limit = asymptotic(base, theory="staircase", alpha=alpha[alpha > 0.005].tolist())
        ax.plot(limit.alpha, limit.test, color="0.6", lw=1, label="staircase, n to infinity")
        trained = np.array(setting["eta"]) >= 1
        at = np.log(np.array(setting["eta"])[trained]) / np.log(base.n)
        mean, se = (np.array(setting[k])[trained, 1] for k in ("mean", "se"))
        ax.errorbar(at, mean, yerr=2 * se, fmt="o", ms=4, color="C3", label="simulation, ± 2 s.e.")
        kind = ", full residual" if base.residual == "full" else ""
        ax.set_title(label(setting).split(", d=")[0] + kind, fontsize=9)
        ax.set_xlabel("step exponent alpha")
        ax.set_ylabel("test error")
        spread = mean.max() - mean.min()
        ax.set_ylim(mean.min() - 0.6 * spread, mean.max() + 0.4 * spread)
    axes[0, 0].legend(fontsize=8)
    fig.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", help="also draw the comparison to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore", AssumptionWarning)
    settings = json.loads((DATA / "uniform_simulations.json").read_text())["settings"]
    print("Test error, percent off, by step exponent alpha:\n")
    table(settings, 1)
    print("\nTraining objective, percent off:\n")
    table(settings, 0)
    summary(settings)
    if options.figure:
        figure(settings, options.figure)


if __name__ == "__main__":
    main()
