"""An estimator beside published results of other methods, on their splits: TALENT's sets.

    python benchmarks/published.py --published talent.json [--data DIR] [--sets a,b] [--fit-on all]
                                   [--budget default] [--out FILE] [--recorded]

The JSON file holds the published test scores: {"sets": {NAME: {"rows": n, "published_rmse":
{METHOD: score, ...}}, ...}} for regression, "published_accuracy" and "split_seed" for classes. Rows
come from OpenML by name, or from NAME.npz files in DIR with X, y and, where there are any, the
numbers of `categorical` columns. A fifth of the rows is the test set and a fifth of the others the
validation set of the published methods, by scikit-learn's train_test_split with random_state=42
(for classes `split_seed`, stratified). The estimator has its default settings; `--fit-on train`
leaves the validation rows out, `--fit-on all` (default) learns on both. Finished sets are kept in
FILE (JSON lines) and not computed again. With `--recorded`, nothing is fitted: the ranks are those
of the scores that the JSON file itself records for this estimator.

The table has the mean rank of every method over the sets, the best first. Seconds are CPU seconds
of a fit; run with OMP_NUM_THREADS=1.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import train_test_split

NAME = "onegrad"
SEED = 42
MEASURES = {"published_rmse": "rmse", "published_accuracy": "accuracy"}
RECORDED = {"all": "train+val", "train": "train"}  # keys of recorded scores
OPENML_NAMES = {"house_16H_reg": "house_16H", "pol_reg": "pol"}
MAX_VERSION = 6  # of a data set on OpenML


def split(y: Any, seed: int = SEED, stratify: bool = False) -> tuple[Any, Any, Any]:
    """Return the numbers of the rows that train, validate and test."""
    rows = np.arange(len(y))
    rest, test = train_test_split(
        rows, test_size=0.2, random_state=seed, stratify=y if stratify else None
    )
    train, val = train_test_split(
        rest, test_size=0.2, random_state=seed, stratify=y[rest] if stratify else None
    )
    return train, val, test


def mean_ranks(scores: Mapping[str, Mapping[str, float | None]], higher: bool) -> dict[str, float]:
    """Return the mean rank of each method over sets, the best first; ties share their ranks.

    A method without a score on a set, or with None, is last there.

    >>> mean_ranks({"a": {"x": 1.0, "y": 2.0}, "b": {"x": 3.0, "y": 3.0}}, higher=False)
    {'x': 1.25, 'y': 1.75}
    """
    methods = list(dict.fromkeys(method for row in scores.values() for method in row))
    table = np.array([[row.get(m) for m in methods] for row in scores.values()], dtype=float)
    losses = np.where(np.isnan(table), np.inf, -table if higher else table)
    ranks = rankdata(losses, axis=1).mean(0)
    order = np.argsort(ranks, kind="stable")
    return {methods[k]: float(ranks[k]) for k in order}


def load(name: str, folder: Path | None, rows: int) -> tuple[Any, Any, list[int]]:
    """Return inputs, targets and the numbers of the categorical columns; as many rows as said."""
    X, y, categorical = _from_openml(name, rows) if folder is None else _from_folder(name, folder)
    if len(y) != rows:
        raise SystemExit(f"published: {name} has {len(y)} rows here, {rows} in the published table")
    return X, y, categorical


def _from_folder(name: str, folder: Path) -> tuple[Any, Any, list[int]]:
    with np.load(folder / f"{name}.npz", allow_pickle=False) as arrays:
        categorical = arrays["categorical"].tolist() if "categorical" in arrays.files else []
        return arrays["X"], arrays["y"], categorical


def _from_openml(name: str, rows: int) -> tuple[Any, Any, list[int]]:
    """Return the first version of a set that has so many rows."""
    from sklearn.datasets import fetch_openml

    for version in range(1, MAX_VERSION + 1):
        try:
            bunch = fetch_openml(OPENML_NAMES.get(name, name), version=version, as_frame=True)
        except (ValueError, OSError) as error:
            print(f"{name}, version {version}: {error}", file=sys.stderr)
            continue
        if len(bunch.target) == rows:
            frame = bunch.data
            numbers = set(frame.select_dtypes("number").columns)
            kinds = [name not in numbers for name in frame.columns]
            return frame, np.asarray(bunch.target), np.flatnonzero(kinds).tolist()
    raise SystemExit(f"published: no version of {name} on OpenML has {rows} rows")


def evaluate(
    X: Any, y: Any, categorical: list[int], about: Mapping[str, Any], fit_on: str, budget: str
) -> dict[str, float]:
    """Fit the estimator on the published split and return its test score and CPU seconds."""
    import onegrad as og

    classes = "published_accuracy" in about
    train, val, test = split(y, about.get("split_seed", SEED), stratify=classes)
    rows = np.concatenate([train, val]) if fit_on == "all" else train
    kind = og.AlternatingClassifier if classes else og.AlternatingRegressor
    model = kind(budget=budget, random_state=0, categorical_features=categorical or None)
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    start = time.process_time()
    model.fit(take(rows), y[rows])
    seconds = time.process_time() - start
    predicted = model.predict(take(test))
    if classes:
        return {"accuracy": float(np.mean(predicted == y[test])), "cpu_seconds": seconds}
    error = np.sqrt(np.mean((predicted - y[test].astype(float)) ** 2))
    return {"rmse": float(error), "cpu_seconds": seconds}


def recorded_score(about: Mapping[str, Any], measure: str, fit_on: str) -> float | None:
    """Return the score that the file of published results records for this estimator."""
    scores = about.get(RECORDED[fit_on], about if fit_on == "all" else {})
    return scores.get(measure) if isinstance(scores, Mapping) else None


def markdown_table(ranks: Mapping[str, float], sets: int) -> str:
    """Return one row per method: its place and its mean rank."""
    lines = [f"| place | method | mean rank of {len(ranks)} on {sets} sets |", "|--:|---|--:|"]
    lines += [f"| {i} | {m} | {rank:.2f} |" for i, (m, rank) in enumerate(ranks.items(), 1)]
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--published", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets")
    parser.add_argument("--fit-on", choices=tuple(RECORDED), default="all")
    parser.add_argument("--budget", default="default")
    parser.add_argument("--out", type=Path, default=Path("out/published.jsonl"))
    parser.add_argument("--recorded", action="store_true")
    args = parser.parse_args(argv)
    published = json.loads(args.published.read_text(encoding="utf-8"))["sets"]
    names = args.sets.split(",") if args.sets else list(published)
    if unknown := [name for name in names if name not in published]:
        parser.error(f"--sets {unknown[0]}: the file has {', '.join(published)}")
    key = next(key for key in MEASURES if key in published[names[0]])
    lines = args.out.read_text("utf-8").splitlines() if args.out.exists() else []
    cells = [json.loads(line) for line in lines]
    done = {(cell["set"], cell["fit_on"], cell["budget"]): cell for cell in cells}
    scores = {}
    for name in names:
        about = published[name]
        if args.recorded:
            score = recorded_score(about, MEASURES[key], args.fit_on)
        elif about.get("split_seed", SEED) is None:
            print(f"{name}: left out, its split is a file of its own", file=sys.stderr)
            continue
        else:
            where = name, args.fit_on, args.budget
            if where not in done:
                rows = load(name, args.data, about["rows"])
                cell = {"set": name, "fit_on": args.fit_on, "budget": args.budget}
                done[where] = cell | evaluate(*rows, about, args.fit_on, args.budget)
                args.out.parent.mkdir(parents=True, exist_ok=True)
                with args.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(done[where]) + "\n")
            score = done[where][MEASURES[key]]
            print(f"{name}: {score:.5g}, {done[where]['cpu_seconds']:.0f} s", file=sys.stderr)
        if score is not None:
            scores[name] = {**about[key], NAME: score}
    print(markdown_table(mean_ranks(scores, key == "published_accuracy"), len(scores)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
