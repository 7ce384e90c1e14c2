"""Simulate what the uniform theory was extended to, one group of settings for each extension.

    python benchmarks/uniform_extensions.py --device cuda --seeds 400 > extensions.json
    python benchmarks/uniform_extensions.py --compare extensions.json

Prints tests/numbers/uniform_extensions.json (with --open: uniform_refused.json), which
tests/theory/uniform reads: each problem with mean and standard error of (train, test) at every step
size. --compare prints how far the theory is from such a file, group by group; what it refuses is
ignored: inputs are then taken for isotropic, rows for fresh.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import onegrad as og

ALPHAS = [0.1, 0.3, 0.45]
BASE = {"n": 1000, "d": 400, "N": 600, "noise": 0.3, "ridge": 0.02}
COUPLED = "H1@1 + H1@1*H1@2"
GROUPS: dict[str, list[dict[str, Any]]] = {
    "intercept": [
        {"intercept": True, "activation": "relu:raw", "teacher": "relu:raw"},
        {"intercept": True, "activation": "tanh", "teacher": "H1 + H2/sqrt(2) + 1:raw"},
        {"intercept": True, "activation": "relu", "teacher": "H1 + H2/sqrt(2)", "ridge": 0.2},
        {"intercept": True, "activation": "softplus:raw", "teacher": "H1 + 2:raw",
         "N": 1500, "ridge": 0.002},
        {"intercept": True, "activation": "tanh", "teacher": "softplus:raw", "residual": "full"},
        {"intercept": True, "activation": "gelu:raw", "teacher": "sin",
         "readout": "constant", "weights": "sphere"},
        {"intercept": True, "activation": "cos", "teacher": "H1 + H2/2",
         "ridge": 0.001, "n_step": 500},
        {"intercept": True, "activation": "sigmoid:raw", "teacher": "H1 + 1:raw",
         "readout": "rademacher", "ridge": 1.0},
    ],
    "noise": [
        {"activation": "tanh", "teacher": "H1", "noise": 1.0, "noise_law": "student-t(5)"},
        {"activation": "relu", "teacher": "H1 + H2/sqrt(2)", "noise": 1.0,
         "noise_law": "student-t(5)"},
        {"activation": "relu", "teacher": "H1", "noise": 1.5, "noise_law": "rademacher"},
        {"activation": "softplus", "teacher": "tanh", "noise": 1.0, "noise_law": "uniform",
         "n_step": 500},
        {"activation": "tanh", "teacher": "H1", "noise": 1.0, "noise_law": "student-t(3)"},
        {"activation": "gelu", "teacher": "relu", "noise": 0.5, "noise_law": "student-t(3)",
         "readout": "constant"},
        {"activation": "relu", "teacher": "sin", "noise": 2.0, "noise_law": "student-t(4.5)",
         "n_step": 4000},
    ],
    "corrupted": [
        {"activation": "tanh", "teacher": "H1", "corrupted": 0.3},
        {"activation": "relu", "teacher": "H1 + H2/sqrt(2)", "corrupted": 0.5},
        {"activation": "softplus", "teacher": "relu:raw", "corrupted": 0.2},
        {"activation": "gelu", "teacher": "H1 + H2/2 + H3/6", "corrupted": 0.4, "n_step": 3000},
        {"activation": "tanh", "teacher": "H1 + H3/sqrt(6)", "corrupted": 0.1,
         "residual": "full"},
        {"activation": "relu", "teacher": "tanh", "corrupted": 0.9, "readout": "constant"},
        {"activation": "relu:raw", "teacher": "relu:raw", "corrupted": 0.25, "intercept": True,
         "noise_law": "student-t(6)"},
    ],
    "indices": [
        {"activation": "tanh", "teacher": COUPLED},
        {"activation": "relu", "teacher": COUPLED},
        {"activation": "relu", "teacher": "H1@1 + H2@2/sqrt(2)"},
        {"activation": "softplus", "teacher": "0.8*H1@1 + 0.6*H1@2 + H1@1*H1@2", "n_step": 3000},
        {"activation": "relu", "teacher": "H1@1 + H2@1/2 + H1@1*H1@2 + H2@3/2 + H1@1*H1@3/2"},
        {"activation": "tanh", "teacher": "H1@1 + H1@1*H1@2 + H2@1*H1@2/2", "noise": 0.0,
         "residual": "full"},
        {"activation": "gelu", "teacher": "H1@1 + H1@1*H1@2 + H2@2", "n_step": 4000,
         "readout": "constant", "weights": "sphere"},
        {"activation": "relu", "teacher": "H1@1 + H1@2*H1@3 + H1@1*H1@2", "ridge": 0.001,
         "corrupted": 0.2, "intercept": True},
    ],
    "no linear part": [
        {"activation": "tanh", "teacher": "H2", "noise": 0.0},
        {"activation": "relu", "teacher": "H2/sqrt(2)", "noise": 0.0, "n_step": 4000},
        {"activation": "relu", "teacher": "H3/sqrt(6)"},
        {"activation": "softplus", "teacher": "cos", "noise": 0.0, "readout": "constant"},
        {"activation": "tanh", "teacher": "H2 + H4/sqrt(24)", "residual": "full"},
        {"activation": "gelu", "teacher": "H1@1*H1@2", "noise": 0.0, "intercept": True},
        {"activation": "relu", "teacher": "H2@1 - H2@2", "n_step": 500},
    ],
}  # fmt: skip
REFUSED = ("inputs", "ridge_rows")
OPEN: dict[str, list[dict[str, Any]]] = {  # not covered: how far off it is to ignore them
    "spiked": [
        {"activation": "tanh", "teacher": "H1", "inputs": "spiked(4)"},
        {"activation": "relu", "teacher": "H1 + H2/sqrt(2)", "inputs": "spiked(4)"},
        {"activation": "tanh", "teacher": "H1", "inputs": "spiked(100)"},
    ],
    "power-law": [
        {"activation": "tanh", "teacher": "H1", "inputs": "power-law(0.25)"},
        {"activation": "tanh", "teacher": "H1", "inputs": "power-law(1)"},
        {"activation": "relu", "teacher": "H1 + H2/sqrt(2)", "inputs": "power-law(0.5)"},
    ],
    "same rows": [
        {"activation": "tanh", "teacher": "H1", "noise": 1.0, "ridge_rows": "same"},
        {"activation": "relu", "teacher": "H1 + H2/sqrt(2)", "ridge_rows": "same"},
        {"activation": "tanh", "teacher": "H1", "ridge_rows": "same", "ridge": 0.3},
    ],
}


def measured(setting: dict[str, Any], device: str, seeds: int) -> dict[str, Any]:
    """Means and standard errors of (train, test), one pair for each alpha."""
    problem = og.Problem(**setting)
    on_device = device.startswith("cuda") and problem.noise_distribution.name != "student-t"
    random = "device" if on_device else "host"
    s = og.simulate(problem, alpha=ALPHAS, seeds=seeds, device=device, random=random, n_test=8192)
    pairs = {
        name: [[round(float(x), 7) for x in pair] for pair in zip(*both, strict=True)]
        for name, both in {
            "mean": (s.train.mean, s.test.mean),
            "se": (s.train.se, s.test.se),
        }.items()
    }
    return {"problem": setting, "alpha": ALPHAS, **pairs}


def compare(path: Path) -> None:
    """Percent off, standard errors off, and the share within accuracy and two standard errors."""
    print("| group | settings | values | mean abs | largest abs | mean abs z | within accuracy |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, runs in json.loads(path.read_text())["groups"].items():
        rows = []
        for run in runs:
            problem = og.Problem(**{k: v for k, v in run["problem"].items() if k not in REFUSED})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", og.AssumptionWarning)
                prediction = og.predict(problem, alpha=run["alpha"])
            ours = np.stack([prediction.train, prediction.test], 1)
            allowed = ours * np.stack([prediction.accuracy.train, prediction.accuracy.test], 1)
            mean, se = np.array(run["mean"]), np.array(run["se"])
            miss = ours - mean
            rows.append(np.stack([miss / mean, miss / se, allowed + 2 * se, miss], -1))
        off, z, allowed, miss = np.concatenate(rows).reshape(-1, 4).T
        within = np.mean(np.abs(miss) <= allowed)
        print(
            f"| {name} | {len(runs)} | {len(off)} | {100 * np.abs(off).mean():.2f} % "
            f"| {100 * np.abs(off).max():.1f} % | {np.abs(z).mean():.2f} | {100 * within:.0f} % |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--open", action="store_true", help="the cases that are not covered")
    parser.add_argument("--compare", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.compare is not None:
        return compare(options.compare)
    command = "benchmarks/uniform_extensions.py" + " --open" * options.open
    about = f"{command}: {options.seeds} seeds, float64"
    groups = []
    for name, settings in (OPEN if options.open else GROUPS).items():
        rows = [measured(BASE | s, options.device, options.seeds) for s in settings]
        lines = ",\n".join("   " + json.dumps(row) for row in rows)
        groups.append(f"  {json.dumps(name)}: [\n{lines}\n  ]")
    body = ",\n".join(groups)
    print(f'{{\n "about": {json.dumps(about)},\n "groups": {{\n{body}\n }}\n}}')
    return None


if __name__ == "__main__":
    main()
