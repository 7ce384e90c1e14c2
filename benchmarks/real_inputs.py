"""Prediction and networks on real inputs: the picture and the numbers of docs/uniform.md.

    OMP_NUM_THREADS=1 python benchmarks/real_inputs.py --data DIR [--seeds 256] [--kinds pixels]

Inputs are the digits of scikit-learn and, from DIR, `mnist.npz` and `fashion.npz` (an array X of
pixels, one row per image): as they are, between 0 and 1, and standardised column by column. Labels
are those of a random teacher; networks take their rows from the images, each at most once. Prints a
table and writes OUT/images/real_inputs.png and OUT/real_inputs.json: for every step the errors of
both, deviations in standard deviations (z, standard error and stated accuracy together) and those
of the theory that takes the inputs for isotropic. Cases in OUT that are not measured again stay.
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator
from sklearn.datasets import load_digits

import onegrad as og
from onegrad.comparison import deviations

ALPHAS = [0.0, 0.2, 0.4]
KINDS = ("pixels", "standardised")
SIZES = {
    "digits": {"n": 500, "N": 300},
    "mnist": {"n": 400, "N": 250},
    "fashion": {"n": 400, "N": 250},
}
MAX_IMAGES = 5000
SETTING = {"activation": "tanh", "teacher": "H1 + H2/4", "noise": 0.3, "ridge": 0.01}


def pixels(name: str, folder: Path | None) -> np.ndarray:
    """Return images as rows of numbers between 0 and 1."""
    if name == "digits":
        return load_digits().data / 16
    assert folder is not None
    X = np.load(folder / f"{name}.npz")["X"].reshape(-1, 784)
    some = np.random.default_rng(0).permutation(len(X))[:MAX_IMAGES]
    return X[some].astype(float) / X.max()


def standardised(X: np.ndarray) -> np.ndarray:
    """Return every column less its mean over its deviation, constant columns left out."""
    deviation = X.std(0)
    return (X - X.mean(0))[:, deviation > 0] / deviation[deviation > 0]


def compare(name: str, kind: str, X: np.ndarray, seeds: int) -> dict[str, Any]:
    """Return errors of theory and networks on these inputs."""
    problem = og.Problem(d=X.shape[1], **SIZES[name], **SETTING)
    spare = len(X) - problem.n - problem.rows_of_step
    simulation = og.simulate(problem, seeds, rows=X, n_test=min(1000, spare), alpha=ALPHAS)
    start = time.process_time()
    prediction = og.predict(problem, rows=X, alpha=ALPHAS)
    seconds = time.process_time() - start
    isotropic = og.predict(problem, alpha=ALPHAS)
    rows = []
    for i, alpha in enumerate(ALPHAS):
        row: dict[str, Any] = {"alpha": alpha}
        for q in ("train", "test"):
            measured, predicted = getattr(simulation, q), getattr(prediction, q)[i]
            z = np.ravel(deviations(prediction, simulation, q))[i]
            row[q] = {
                "networks": round(float(measured.mean[i]), 6),
                "se": round(float(measured.se[i]), 6),
                "theory": round(float(predicted), 6),
                "accuracy": round(float(getattr(prediction.accuracy, q)[i]), 4),
                "z": round(float(z), 2),
                "isotropic": round(float(getattr(isotropic, q)[i]), 6),
            }
        rows.append(row)
    return {"inputs": name, "kind": kind, "d": problem.d, **SIZES[name], "seeds": seeds,
            "seconds": round(seconds, 2), "results": rows}  # fmt: skip


def print_table(cases: list[dict[str, Any]]) -> None:
    """Print one line per error."""
    head = ("inputs", "α", "error", "networks", "theory", "off", "bar", "z", "taken for isotropic")
    print("| " + " | ".join(head) + " |\n|---|--:|---|" + "--:|" * (len(head) - 3))
    for case in cases:
        for row in case["results"]:
            for q in ("train", "test"):
                x = row[q]
                off, isotropic = (x[k] / x["networks"] - 1 for k in ("theory", "isotropic"))
                print(
                    f"| {case['inputs']}, {case['kind']} | {row['alpha']:g} | {q} | "
                    f"{x['networks']:.4f} ± {x['se']:.4f} | {x['theory']:.4f} | {off:+.1%} | "
                    f"{x['accuracy']:.0%} | {x['z']:+.1f} | {isotropic:+.0%} |"
                )


def draw(cases: list[dict[str, Any]], path: Path) -> None:
    """Draw test and training errors, theory as lines and networks as points."""
    columns = min(3, len(cases))
    rows = -(-len(cases) // columns)
    figure, panels = plt.subplots(
        rows, columns, figsize=(3.2 * columns, 2.6 * rows + 0.6), sharex=True, squeeze=False
    )
    for panel in panels.flat[len(cases) :]:
        panel.set_axis_off()
    for panel, case in zip(panels.flat, cases, strict=False):
        for q, colour in (("test", "C0"), ("train", "C1")):
            draw_error(panel, case, q, colour)
        panel.set_yscale("log")
        panel.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
        for set_formatter in (panel.yaxis.set_major_formatter, panel.yaxis.set_minor_formatter):
            set_formatter("{x:.2g}")
        panel.tick_params(axis="y", which="both", labelsize=7)
        panel.set_title(f"{case['inputs']}, {case['kind']} (d = {case['d']})", fontsize=9)
    for panel in panels[-1]:
        panel.set_xlabel("step exponent α")
    for panel in panels[:, 0]:
        panel.set_ylabel("error")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, ncols=3, loc="lower center")
    figure.tight_layout(rect=(0, 0.16 / rows, 1, 1))
    figure.savefig(path, dpi=110)


def draw_error(panel: Axes, case: dict[str, Any], q: str, colour: str) -> None:
    """Draw one error against the step: theory with its bar, networks, inputs as isotropic."""
    networks, se, theory, accuracy, isotropic = (
        np.array([row[q][k] for row in case["results"]])
        for k in ("networks", "se", "theory", "accuracy", "isotropic")
    )
    low, high = theory * np.maximum(1 - accuracy, 0.1), theory * (1 + accuracy)
    panel.fill_between(ALPHAS, low, high, color=colour, alpha=0.15)
    panel.plot(ALPHAS, theory, color=colour, label=f"{q}: theory, its accuracy shaded")
    panel.errorbar(ALPHAS, networks, 2 * se, fmt="o", ms=4, color=colour, label=f"{q}: networks")
    panel.plot(ALPHAS, isotropic, ":", color=colour, label=f"{q}: inputs taken for isotropic")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of mnist.npz and fashion.npz")
    parser.add_argument("--seeds", type=int, default=256)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--out", type=Path, default=Path("docs"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", og.AssumptionWarning)
    path = options.out / "real_inputs.json"
    cases = json.loads(path.read_text("utf-8")) if path.exists() else []
    for kind in options.kinds:
        for name in ("digits", "mnist", "fashion") if options.data else ("digits",):
            X = pixels(name, options.data)
            rows = standardised(X) if kind == "standardised" else X
            case = compare(name, kind, rows, options.seeds)
            others = [c for c in cases if (c["inputs"], c["kind"]) != (name, kind)]
            cases = sorted([*others, case], key=lambda c: (KINDS.index(c["kind"]), -c["n"]))
            path.write_text(json.dumps(cases, indent=1) + "\n", "utf-8")
    print_table(cases)
    draw(cases, options.out / "images" / "real_inputs.png")


if __name__ == "__main__":
    main()
