"""Fit accuracy and spread of the uniform theory to simulated settings, and verify them.

    OMP_NUM_THREADS=1 python benchmarks/calibrate_accuracy.py FILE...

Each file is a list of settings with fields of Problem, `id`, `alphas` (null for eta = 0), and per
step the `mean` and standard error `se` over networks of (train, test). Settings with an even id are
used to fit; the table is of all, by file and half. Standard errors of those settings are about as
large as the theory's error, so the reference simulations of the tests, which have up to 1000
networks, take part in every fit. The printed coefficients belong into
theory/uniform/accuracy.py and spread.py.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize

from onegrad import AssumptionWarning, Problem
from onegrad.theory.uniform import accuracy, spread
from onegrad.theory.uniform.preparation import prepare_constants
from onegrad.theory.uniform.refinement import QUADRATURE_TOLERANCE, SPACINGS, refine

REFERENCE = Path(__file__).parents[1] / "tests" / "numbers" / "uniform_simulations.json"
FIELDS = ("n", "d", "N", "n_step", "activation", "teacher", "noise", "ridge", "weights", "readout",
          "residual")  # fmt: skip
QUANTILE = 0.98  # of what is left beyond two standard errors
MARGIN = 1.2  # for settings that were not seen
# smallest coefficients of terms on which the settings say nothing
MIN_COEFFICIENTS = {"any": 1.0, "small": 1.0, "signs": 0.08, "constant": 0.3, "threshold": 0.1}
NAMES = ("train", "test")
Rows = dict[str, Any]


def settings(path: Path) -> Iterator[tuple[Problem, int, list[float | None], Any, Any]]:
    """Problem without a step, id, exponents (or steps), means and standard errors."""
    content = json.loads(path.read_text())
    if isinstance(content, dict):
        for i, s in enumerate(content["settings"]):
            problems = [Problem(**s["problem"], eta=eta) for eta in s["eta"]]
            yield problems[0], i, [p.alpha for p in problems], s["mean"], s["se"]
    else:
        for s in content:
            problem = Problem(**{k: s[k] for k in FIELDS})
            yield problem, s["id"], s["alphas"], s["mean"], s["se"]


def predicted(path: Path) -> list[Rows]:
    """One row for each step of each setting."""
    rows = []
    for base, number, alphas, means, errors in settings(path):
        start, spacings = None, SPACINGS
        for alpha, mean, se in zip(alphas, means, errors, strict=True):
            problem = base.replace(eta=0.0) if alpha is None else base.replace(alpha=alpha)
            prepared = prepare_constants(problem)
            refined = refine(*prepared, QUADRATURE_TOLERANCE, start, spacings)
            start, spacings = refined.last, refined.spacings
            step, values = prepared[1][0].step, refined.finest.values[0]
            stated = accuracy.accuracy(problem, step, values)[0]
            rows.append({
                "file": path.stem, "even": number % 2 == 0, "reference": path == REFERENCE,
                "terms": accuracy.neglected_sizes(problem, step, values),
                "quadrature": refined.quadrature_error, "values": refined.finest,
                "accuracy": stated.map(lambda bar, r=refined: bar + r.quadrature_error),
                "spread": spread.spread(problem, values),
                "mean": np.array(mean), "se": np.array(se), "noise": problem.noise, "n": problem.n,
                "variances": spread.variance_terms(problem, values),
            })  # fmt: skip
    return rows


def columns(rows: list[Rows], j: int) -> dict[str, np.ndarray]:
    """Return the arrays that a fit of train (j = 0) or test (1) needs."""
    mean, se = (np.array([r[k][j] for r in rows]) for k in ("mean", "se"))
    value = np.array([getattr(r["values"], NAMES[j]) for r in rows])
    return {
        "off": np.abs(value / mean - 1), "se": se / mean, "value": value, "mean": mean,
        "quadrature": np.array([r["quadrature"] for r in rows]),
        "terms": np.array([list(r["terms"].values()) for r in rows]),
        "bar": np.array([getattr(r["accuracy"], NAMES[j]) for r in rows]),
        "spread": np.array([getattr(r["spread"], NAMES[j]) for r in rows]),
    }  # fmt: skip


def fit_accuracy(rows: list[Rows], j: int) -> dict[str, float]:
    """Fit coefficients >= 0 to a quantile of the error beyond two standard errors."""
    fitted_rows = [r for r in rows if r["even"] or r["reference"]]
    c = columns(fitted_rows, j)
    reference = np.array([r["reference"] for r in fitted_rows])
    unexplained = c["off"] - np.where(reference, 1, 2) * c["se"] - c["quadrature"]
    files = [r["file"] for r in fitted_rows]
    weight = np.array([1 / files.count(f) for f in files])  # files count alike
    terms, m = c["terms"], len(fitted_rows)
    names = list(fitted_rows[0]["terms"])
    cost = np.concatenate([np.zeros(len(names)), weight * QUANTILE, weight * (1 - QUANTILE)])
    matrix = np.hstack([terms, np.eye(m), -np.eye(m)])
    low = [MIN_COEFFICIENTS.get(name, 0.0) / MARGIN for name in names]
    bounds = [(b, None) for b in low] + [(0, None)] * (2 * m)
    coefficients = linprog(cost, A_eq=matrix, b_eq=unexplained, bounds=bounds, method="highs").x[
        : len(names)
    ]
    return {name: float(f"{MARGIN * x:.2g}") for name, x in zip(names, coefficients, strict=True)}


def fit_spread(rows: list[Rows], j: int, networks: int, test_rows: int) -> list[float]:
    """Fit logarithms by least absolute deviation, without the sampling error of the test rows."""
    c = columns(rows, j)
    terms = np.array([r["variances"][j] for r in rows])
    count = terms.shape[1]
    if j:
        excess = 1 - np.array([r["noise"] for r in rows]) ** 2 / c["value"]
        kurtosis = terms[:, 1] * np.array([r["n"] for r in rows])  # less one
        terms = np.column_stack([terms * excess[:, None] ** 2, kurtosis / test_rows])

    def distance(log: np.ndarray) -> float:
        return float(np.abs(np.log(c["se"] ** 2 * networks / (terms @ np.exp(log)))).sum())

    start = np.full(terms.shape[1], -1.0)
    logarithms = minimize(distance, start, method="Powell", bounds=[(-9, 3)] * len(start)).x
    return [float(f"{np.exp(x):.2g}") for x in logarithms][:count]


def table(rows: list[Rows], coefficients: dict[str, dict[str, float]]) -> None:
    """Coverage, median and largest accuracy, with the coefficients just fitted."""
    print("\n| settings | half | error | covered | median | 90 % | largest | worst off | old |")
    print("|---|---|---|--:|--:|--:|--:|--:|--:|")
    for file in dict.fromkeys(r["file"] for r in rows):
        for half in (True, False):
            part = [r for r in rows if r["file"] == file and r["even"] == half]
            for j, name in enumerate(NAMES):
                c = columns(part, j)
                bar = c["quadrature"] + c["terms"] @ np.array(list(coefficients[name].values()))
                covered = np.mean(c["off"] <= bar + 2 * c["se"])
                old = np.mean(c["off"] <= c["bar"] + 2 * c["se"])
                beyond = np.max(c["off"] - 2 * c["se"])
                print(f"| {file} | {'even' if half else 'odd'} | {name} | {covered:.1%} | "
                      f"{np.median(bar):.2%} | {np.quantile(bar, 0.9):.1%} | {bar.max():.1%} | "
                      f"{beyond:.1%} | {old:.1%} |")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit accuracy and spread of the uniform theory.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--networks", type=int, default=40, help="per setting of the first file")
    parser.add_argument("--test-rows", type=int, default=4000, help="of the first file")
    args = parser.parse_args()
    warnings.simplefilter("ignore", AssumptionWarning)
    rows = [row for path in [*args.files, REFERENCE] for row in predicted(path)]
    coefficients = {name: fit_accuracy(rows, j) for j, name in enumerate(NAMES)}
    for term in accuracy.NEGLECTED_TERMS:
        print(f"accuracy.NEGLECTED_TERMS, {term}:", *(coefficients[name][term] for name in NAMES))
    first = [r for r in rows if r["file"] == args.files[0].stem]
    even, odd = ([r for r in first if r["even"] == half] for half in (True, False))
    for j, name in enumerate(NAMES):
        print(
            f"spread.{name.upper()}_VARIANCE = {fit_spread(even, j, args.networks, args.test_rows)}"
        )
        c = columns(odd, j)
        seen = (c["se"] * c["mean"]) ** 2 * args.networks
        if j:
            seen = np.maximum(seen - 2 / args.test_rows * c["mean"] ** 2, 1e-3 * seen)
        ratio = np.quantile(np.sqrt(seen) / c["spread"], [0.1, 0.5, 0.9])
        print(f"  odd half, seen over spread as it is: {ratio.round(2).tolist()} (10, 50, 90 %)")
    table(rows, coefficients)


if __name__ == "__main__":
    main()
