"""Fit the spread of single networks around the prediction to simulated settings, and verify it.

    OMP_NUM_THREADS=1 python benchmarks/calibrate_spread.py [FILE] [--networks 40] [--test-rows N]

FILE is a path or a name in benchmarks/settings, random_settings by default. Settings of the even
half are fitted, those of the odd half verify. The printed coefficients belong into
theory/uniform/spread.py.
"""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from settings_files import named_files, read_settings

import onegrad as og
from onegrad.theory.uniform import spread
from onegrad.theory.uniform.refine import QUADRATURE_TOLERANCE, refine

NAMES = ("train", "test")
Rows = dict[str, Any]


def predicted(path: Path) -> list[Rows]:
    """Return one row for each step of each setting."""
    rows = []
    for setting in read_settings(path):
        start = None
        for problem, mean, se in zip(setting.problems(), setting.mean, setting.se, strict=True):
            refined = refine(problem, QUADRATURE_TOLERANCE, start)
            start, values = refined.last, refined.cases[0]
            rows.append({
                "half": setting.half, "mean": mean, "se": se, "noise": problem.noise,
                "n": problem.n, "value": np.array([values.train, values.test]),
                "spread": spread.spread(problem, values),
                "terms": spread.variance_terms(problem, values),
            })  # fmt: skip
    return rows


def fit_spread(rows: list[Rows], j: int, networks: int, test_rows: int) -> list[float]:
    """Fit logarithms by least absolute deviation, without the sampling error of the test rows."""
    mean, se, value = (np.array([r[k][j] for r in rows]) for k in ("mean", "se", "value"))
    terms = np.array([r["terms"][j] for r in rows])
    count = terms.shape[1]
    if j:
        excess = 1 - np.array([r["noise"] for r in rows]) ** 2 / value
        kurtosis = terms[:, 1] * np.array([r["n"] for r in rows])  # less one
        terms = np.column_stack([terms * excess[:, None] ** 2, kurtosis / test_rows])

    def distance(log: np.ndarray) -> float:
        return float(np.abs(np.log((se / mean) ** 2 * networks / (terms @ np.exp(log)))).sum())

    start = np.full(terms.shape[1], -1.0)
    logarithms = minimize(distance, start, method="Powell", bounds=[(-9, 3)] * len(start)).x
    return [float(f"{np.exp(x):.2g}") for x in logarithms][:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=Path("random_settings"))
    parser.add_argument("--networks", type=int, default=40, help="per setting")
    parser.add_argument("--test-rows", type=int, default=4000)
    args = parser.parse_args()
    warnings.simplefilter("ignore", og.AssumptionWarning)
    rows = predicted(named_files([args.file])[0])
    even, odd = ([r for r in rows if r["half"] == half] for half in ("even", "odd"))
    for j, name in enumerate(NAMES):
        fitted = fit_spread(even, j, args.networks, args.test_rows)
        print(f"spread.{name.upper()}_VARIANCE = {fitted}")
        mean, se = (np.array([r[k][j] for r in odd]) for k in ("mean", "se"))
        seen = se**2 * args.networks
        if j:
            seen = np.maximum(seen - 2 / args.test_rows * mean**2, 1e-3 * seen)
        stated = np.array([getattr(r["spread"], name) for r in odd])
        ratio = np.quantile(np.sqrt(seen) / stated, [0.1, 0.5, 0.9])
        print(f"  odd half, seen over spread as it is: {ratio.round(2).tolist()} (10, 50, 90 %)")


if __name__ == "__main__":
    main()
