"""What each part of the alternating estimators is worth: errors and seconds of fits without it.

    python benchmarks/ablation.py --data DIR [--sets a,b] [--without x;y] [--splits 5] [--rows 3000]
                                  [--out FILE]
    python benchmarks/ablation.py --out benchmarks/measured/ablation.jsonl

The sets and splits of benchmarks/real_data.py. A fit without a part makes all choices anew: rounds,
ridge, weights on held-out rows. The parts are switched off inside this file: they are no options.
Finished cells are kept in FILE (JSON lines) and not computed again; without DIR, the tables are
those of the cells in FILE, which may have parts that are no longer in the code. Run with
OMP_NUM_THREADS=1.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from real_data import load_split, set_names, test_measures

import onegrad as og
from onegrad.tables.parts import table

FULL = "nothing"
VALUES = ("error", "log_loss", "covered")
Cell = dict[str, Any]


# -- parts switched off --------------------------------------------------------------------------


@dataclass(frozen=True)
class Variant:
    """A fit without some parts, or with other parameters; and the fits to which it applies."""

    applies: Callable[[bool, int], bool]  # (whether there are classes, training rows)
    parts: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)


MANY = 8_000
VARIANTS = {
    FULL: Variant(lambda classes, n: True),
    "linear head": Variant(lambda classes, n: classes and n <= 2000, ("head",)),
    "networks on codes": Variant(lambda classes, n: classes or n >= MANY, ("networks",)),
    "trees": Variant(lambda classes, n: True, ("trees",)),
    "networks on codes and trees": Variant(
        lambda classes, n: classes or n >= MANY, ("networks", "trees")
    ),
    "neighbours": Variant(lambda classes, n: True, ("neighbours",)),
    "third member": Variant(
        lambda classes, n: n <= 600 or (not classes and n < MANY), parameters={"members": 2}
    ),
    "second and third member": Variant(lambda classes, n: n < MANY, parameters={"members": 1}),
    "both scales": Variant(lambda classes, n: classes, parameters={"inputs": "standard"}),
    "the default's budget": Variant(lambda classes, n: True, parameters={"budget": "fast"}),
}


def switched_off(variant: Variant) -> AbstractContextManager[Any]:
    """Take the parts of a variant out of the table."""
    parts = {name: kind for name, kind in table.PART_KINDS.items() if name not in variant.parts}
    return patch.object(table, "PART_KINDS", parts)


def cell(path: Path, number: int, rows: int, name: str) -> Cell | None:
    """A fit without one part, on one split of one set; None where fits do not have the part."""
    classify, categories, (X, y, X_test, y_test) = load_split(path, number, rows)
    variant = VARIANTS[name]
    if not variant.applies(classify, len(X)):
        return None
    kind = og.AlternatingClassifier if classify else og.AlternatingRegressor
    options = {"random_state": number, "categorical_features": categories or None}
    with switched_off(variant):
        start = time.process_time()
        estimator = kind(**options, **variant.parameters).fit(X, y)
        seconds = time.process_time() - start
    measures = test_measures(estimator, estimator.predict(X_test), X_test, y_test)
    return {
        "set": path.stem, "split": number, "rows": rows, "trained": len(X),
        "without": name, "classes": classify, "seconds": round(seconds, 2),
        **{k: float(f"{v:.5g}") for k, v in measures.items() if k in VALUES and v is not None},
    }  # fmt: skip


def measure(args: argparse.Namespace) -> list[Cell]:
    """All cells that were asked for: those in the file, then the others, which are added to it."""
    args.out.parent.mkdir(parents=True, exist_ok=True)
    results = (
        [json.loads(line) for line in args.out.open(encoding="utf-8")] if args.out.exists() else []
    )
    if args.data is None:
        return results
    results = [c for c in results if c["rows"] == args.rows and c["split"] < args.splits]
    done = {(c["set"], c["split"], c["without"]) for c in results}
    names = args.without.split(";") if args.without else list(VARIANTS)
    variants, sets = dict.fromkeys([FULL, *names]), set_names(args)
    for number, name, without in product(range(args.splits), sets, variants):
        if (name, number, without) in done:
            continue
        result = cell(args.data / f"{name}.npz", number, args.rows, without)
        if result is not None:
            results.append(result)
            with args.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
            print(f"{name:14s} {number} without {without:27s} {result['error']:.5f} "
                  f"{result['seconds']:.1f} s", flush=True)  # fmt: skip
    return [c for c in results if c["set"] in sets and c["without"] in variants]


# -- what the cells say --------------------------------------------------------------------------


def log_ratios(results: list[Cell], without: str, value: str) -> dict[str, Any]:
    """set -> (splits,) log of a value without a part, relative to the value with all of them."""
    full = {(c["set"], c["split"]): c[value] for c in results if c["without"] == FULL if value in c}
    by_set: dict[str, list[float]] = {}
    for c in results:
        if c["without"] == without and (key := (c["set"], c["split"])) in full and value in c:
            by_set.setdefault(c["set"], []).append(np.log(c[value] / full[key]))
    return {name: np.array(values) for name, values in sorted(by_set.items())}


def standard_error(values: Any) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def summary(results: list[Cell], title: str) -> None:
    """A row per part: geometric means over sets of ratios without and with it."""
    print(f"\n### {title}\n")
    print("| without | sets | error | ± over sets | worst set | log-loss | CPU s |")
    print("|---|--:|--:|--:|---|--:|--:|")
    for without in dict.fromkeys([*VARIANTS, *(c["without"] for c in results)]):
        errors = log_ratios(results, without, "error")
        if without == FULL or not errors:
            continue
        means = {name: values.mean() for name, values in errors.items()}
        worst = max(means, key=lambda name: means[name])
        noise = standard_error(errors[worst])
        others = []
        for value in ("log_loss", "seconds"):
            ratios = [v.mean() for v in log_ratios(results, without, value).values()]
            others.append(f"{np.exp(np.mean(ratios)):.3f}" if ratios else "–")
        print(
            f"| {without} | {len(means)} | {np.exp(np.mean([*means.values()])):.3f} "
            f"| {standard_error([*means.values()]):.3f} "
            f"| {worst} {np.exp(means[worst]):.3f} ± {noise:.3f} | {' | '.join(others)} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", help="names, comma-separated (default: all)")
    parser.add_argument("--without", help="names, semicolon-separated (default: all)")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=3000, help="most training rows")
    parser.add_argument("--out", type=Path, default=Path("out/ablation.jsonl"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = measure(parser.parse_args())
    for rows, classes in product(sorted({c["rows"] for c in results}), (False, True)):
        if some := [c for c in results if c["rows"] == rows and c["classes"] is classes]:
            summary(some, f"{'classification' if classes else 'regression'}, {rows} rows")


if __name__ == "__main__":
    main()
