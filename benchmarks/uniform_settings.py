"""The uniform theory against simulated settings in a file: how far off, by group.

    python benchmarks/uniform_settings.py FILE [--half even|odd] [--json OUT]

FILE is a JSON list of settings: fields of a problem, `alphas` (null for no step), and `mean` and
`se` over networks, a pair (train, test) per step. A deviation is |prediction/mean - 1| less two
relative standard errors, not below zero. Where predictions carry an accuracy, also how many values
lie within it plus two standard errors. --half takes settings with even or odd id.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import onegrad as og

FIELDS = ("n", "d", "N", "n_step", "activation", "teacher", "noise", "ridge", "weights", "readout",
          "residual")  # fmt: skip
GROUPS = ("activation", "teacher", "residual", "readout", "weights", "alpha")
SHOWN = 12  # worst values listed


def compare(setting: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each step and each of train and test."""
    base = og.Problem(**{k: setting[k] for k in FIELDS})
    rows = []
    for i, alpha in enumerate(setting["alphas"]):
        problem = base.replace(eta=0.0) if alpha is None else base.replace(alpha=alpha)
        prediction: Any = None
        try:
            prediction = og.predict(problem)
        except (og.OutOfScope, og.NotConverged) as reason:
            print(f"setting {setting['id']}, alpha {alpha}: {reason}")
        for j, kind in enumerate(("train", "test")):
            mean, se = setting["mean"][i][j], setting["se"][i][j]
            value = getattr(prediction, kind, np.nan)
            accuracy = getattr(getattr(prediction, "accuracy", None), kind, np.nan)
            rows.append(
                {k: setting[k] for k in ("id", *FIELDS)}
                | {"alpha": "none" if alpha is None else alpha, "kind": kind}
                | {"off": value / mean - 1, "se": se / mean, "accuracy": accuracy}
                | {"covered": bool(abs(value - mean) <= accuracy * value + 2 * se)}
                | {"warned": bool(getattr(prediction, "warnings", ()))}
            )
    return rows


def beyond(rows: list[dict[str, Any]]) -> np.ndarray:
    """Deviations beyond two standard errors, in percent; infinite where nothing was predicted."""
    off, se = (np.array([row[k] for row in rows]) for k in ("off", "se"))
    return np.where(np.isnan(off), np.inf, 100 * np.maximum(np.abs(off) - 2 * se, 0.0))


def line(name: str, rows: list[dict[str, Any]]) -> str:
    deviation = beyond(rows)
    silent = np.array([not row["warned"] for row in rows])
    cells = [
        f"{name} | {len(rows)} | {deviation.mean():.3f} | {deviation.max():.2f}",
        f"{max(deviation[silent], default=0.0):.2f}",
        f"{100 * np.mean(deviation > 1):.2f}",
        f"{100 * np.mean(~silent):.1f}",
    ]
    accuracy = np.array([row["accuracy"] for row in rows])
    if not np.isnan(accuracy).all():
        cells += [
            f"{100 * np.mean([row['covered'] for row in rows]):.1f}",
            f"{100 * np.nanmedian(accuracy):.2f}",
        ]
    return "| " + " | ".join(cells) + " |"


def report(rows: list[dict[str, Any]]) -> None:
    head = ["group", "values", "mean %", "worst %", "worst without warning %", "share > 1 % (%)",
            "warned (%)"]  # fmt: skip
    if not np.isnan([row["accuracy"] for row in rows]).all():
        head += ["covered (%)", "median accuracy %"]
    print("| " + " | ".join(head) + " |\n|---|" + "--:|" * (len(head) - 1))
    print(line("all", rows))
    for group in GROUPS:
        for value in sorted({row[group] for row in rows}, key=str):
            print(line(f"{group} {value}", [row for row in rows if row[group] == value]))
    print(f"\nThe {SHOWN} worst (percent off, standard error):")
    deviation = beyond(rows)
    for i in np.argsort(-deviation)[:SHOWN]:
        row = rows[i]
        print(
            f"{row['id']:5d} alpha {row['alpha']} {row['kind']:5s} {100 * row['off']:+6.2f} "
            f"({100 * row['se']:.2f}){' warned' if row['warned'] else ''}: {row['activation']} / "
            f"{row['teacher']}, {row['residual']}, {row['readout']}, {row['weights']}, n={row['n']}"
            f" d={row['d']} N={row['N']} n_step={row['n_step']} noise={row['noise']:g} "
            f"ridge={row['ridge']:.2g}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--half", choices=("even", "odd"), help="settings with even or odd id only")
    parser.add_argument("--json", type=Path, help="write every value to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore", og.AssumptionWarning)
    settings = json.loads(options.file.read_text())
    if options.half:
        settings = [s for s in settings if s["id"] % 2 == (options.half == "odd")]
    rows = [row for setting in settings for row in compare(setting)]
    report(rows)
    if options.json:
        options.json.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
