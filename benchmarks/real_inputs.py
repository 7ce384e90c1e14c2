"""Prediction and networks on real inputs: the picture and the numbers of docs/input_covariance.md.

    OMP_NUM_THREADS=1 python benchmarks/real_inputs.py --data DIR [--seeds 8] [--standardised]

Inputs are the digits of scikit-learn and, from DIR, `mnist.npz` and `fashion.npz` (an array X of
pixels, one row per image): as they are, between 0 and 1, or standardised column by column. Labels
are those of a random teacher; networks take their rows from the images, each at most once. Writes
OUT/images/real_inputs.png and OUT/real_inputs.json: for every step the errors of both, deviations
in standard deviations (z, standard error and stated accuracy together) and those of the theory
that takes the inputs for isotropic.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import onegrad as og
from onegrad.comparison import deviations

ALPHAS = [0.0, 0.3]
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
    return {"inputs": name, "kind": kind, "d": problem.d, "seeds": seeds,
            "seconds": round(seconds, 2), "results": rows}  # fmt: skip


def draw(cases: list[dict[str, Any]], path: Path) -> None:
    """Draw test and training errors, theory as lines and networks as points."""
    figure, panels = plt.subplots(1, len(cases), figsize=(3 * len(cases), 3.2), squeeze=False)
    for panel, case in zip(panels[0], cases, strict=True):
        for q, colour in (("test", "C0"), ("train", "C1")):
            values = {
                k: np.array([row[q][k] for row in case["results"]])
                for k in ("networks", "se", "theory", "accuracy", "isotropic")
            }
            half = values["theory"] * values["accuracy"]
            panel.fill_between(
                ALPHAS, values["theory"] - half, values["theory"] + half, color=colour, alpha=0.15
            )
            panel.plot(ALPHAS, values["theory"], color=colour, label=f"{q}, theory")
            panel.plot(ALPHAS, values["isotropic"], ":", color=colour, label="inputs as isotropic")
            panel.errorbar(
                ALPHAS,
                values["networks"],
                2 * values["se"],
                fmt="o",
                color=colour,
                label="networks",
            )
        panel.set_yscale("log")
        panel.set_title(f"{case['inputs']}, {case['kind']}", fontsize=9)
        panel.set_xlabel("step exponent α")
    panels[0, 0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of mnist.npz and fashion.npz")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--standardised", action="store_true", help="columns of unit variance")
    parser.add_argument("--out", type=Path, default=Path("docs"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", og.AssumptionWarning)
    cases = []
    for name in ("digits", "mnist", "fashion") if options.data else ("digits",):
        X = pixels(name, options.data)
        kind = "standardised" if options.standardised else "pixels"
        rows = standardised(X) if options.standardised else X
        cases.append(compare(name, kind, rows, options.seeds))
        print(json.dumps(cases[-1]), flush=True)
    (options.out / "real_inputs.json").write_text(json.dumps(cases, indent=1) + "\n")
    draw(cases, options.out / "images" / "real_inputs.png")


if __name__ == "__main__":
    main()
