"""Real data: the estimators against what people use, five splits a set, one thread.

    python benchmarks/real_data.py --data DIR [--sets a,b] [--models x;y] [--splits 5] [--rows 3000]
                                   [--jobs 1] [--out FILE]

DIR holds NAME.npz files with X and y, and the numbers of the columns that are categories as
`categorical` where there are any; a y stored as integers is classes (more about those:
benchmarks/classes.py). Each split shuffles the rows, tests on a fifth of them (at most 10,000) and
trains on at most `--rows` others. Every model chooses its settings on its training rows alone (see
benchmarks/peers.py). Errors are divided by those of random features (OneStep with eta=0): RMSE for
regression, error rate (plus half a test row) for classification. Beside them: the share of test
targets in the 90 % intervals, and the expected calibration error of the probabilities (15 bins of
the largest one). Finished cells are kept in FILE (JSON lines) and not computed again. Seconds are
CPU seconds of the fit; run with OMP_NUM_THREADS=1.
"""

import argparse
import json
import pickle
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from peers import BASE, models

TEST = 10_000
COVERAGE, BINS = 0.9, 15
MIN_PROBABILITY = 1e-15  # what a model that is certain and wrong is charged for


def split(X: Any, y: Any, seed: int, rows: int) -> tuple[Any, Any, Any, Any]:
    """Training and test rows of one split."""
    order = np.random.default_rng(seed).permutation(len(X))
    n_test = min(len(X) // 5, TEST)
    test, train = order[:n_test], order[n_test:][:rows]
    return X[train], y[train], X[test], y[test]


def calibration_error(p: Any, truth: Any) -> float:
    """Mean over rows of |confidence - accuracy| of the bin that a row's confidence falls into."""
    confidence, right = p.max(1), p.argmax(1) == truth
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    total = 0.0
    for b in np.unique(bins):
        some = bins == b
        total += some.sum() * abs(confidence[some].mean() - right[some].mean())
    return float(total / len(p))


def class_measures(p: Any, classes: Any, y: Any) -> dict[str, float]:
    """Balanced accuracy, log-loss and calibration error of probabilities p, by name.

    A class that the training rows did not have is never right, and has no probability.
    """
    truth = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    seen = classes[truth] == y
    truth = np.where(seen, truth, -1)
    right = p.argmax(1) == truth
    present = np.unique(truth)
    true_probability = np.where(seen, p[np.arange(len(p)), truth], 0.0)
    return {
        "balanced_accuracy": float(np.mean([right[truth == k].mean() for k in present])),
        "log_loss": float(-np.log(np.maximum(true_probability, MIN_PROBABILITY)).mean()),
        "calibration": calibration_error(p, truth),
    }


def load_split(path: Path, number: int, rows: int) -> tuple[bool, list[int], tuple[Any, ...]]:
    """Whether a set has classes, the numbers of its categories, and the rows of one split."""
    with np.load(path) as file:
        X, y = file["X"].astype(np.float64), file["y"]
        categories = file["categorical"].tolist() if "categorical" in file else []
    classify = y.dtype.kind in "iu"
    return classify, categories, split(X, y if classify else y.astype(np.float64), number, rows)


def test_measures(estimator: Any, predicted: Any, X: Any, y: Any) -> dict[str, float | None]:
    """Error, coverage and measures of probabilities on test rows, by name."""
    covered = None
    if hasattr(estimator, "predict_interval"):
        low, high = estimator.predict_interval(X, COVERAGE)
        covered = float(np.mean((low <= y) & (y <= high)))
    if y.dtype.kind not in "iu":
        error = float(np.sqrt(np.mean((predicted - y) ** 2)) / y.std())
        return {"error": error, "covered": covered}
    error = float((np.sum(predicted != y) + 0.5) / len(y))
    of_classes: dict[str, float] = {}
    if hasattr(estimator, "predict_proba"):
        of_classes = class_measures(estimator.predict_proba(X), estimator.classes_, y)
    return {"error": error, "covered": covered, **of_classes}


def cell(path: Path, model: str, number: int, rows: int) -> dict[str, Any]:
    """One model on one split of one set."""
    classify, categories, (X, y, X_test, y_test) = load_split(path, number, rows)
    estimator = models(classify)[model](number)
    if categories and "categorical_features" in estimator.get_params():
        estimator.set_params(categorical_features=categories)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # iterations of the MLP, names in LightGBM
        estimator.fit(X, y)
        seconds = time.process_time() - start
        start = time.process_time()
        predicted = np.ravel(estimator.predict(X_test))  # CatBoost: (n, 1) for several classes
        predict_seconds = time.process_time() - start
        measures = test_measures(estimator, predicted, X_test, y_test)
    return {
        "set": path.stem, "model": model, "split": number, "classes": classify,
        "rows": rows, "seconds": seconds, "predict_seconds": predict_seconds,
        "megabytes": len(pickle.dumps(estimator)) / 1e6, **measures,
    }  # fmt: skip


def cells(jobs: list[tuple[Path, str, int, int]], processes: int) -> Iterator[dict[str, Any]]:
    if processes == 1:
        yield from (cell(*job) for job in jobs)
        return
    with ProcessPoolExecutor(processes) as pool:
        for future in as_completed([pool.submit(cell, *job) for job in jobs]):
            yield future.result()


# -- what the cells say --------------------------------------------------------------------------


def table(results: list[dict[str, Any]], sets: list[str], value: str) -> dict[str, Any]:
    """model -> (splits, sets) of a value; NaN where there is none."""
    splits = 1 + max(c["split"] for c in results)
    by_model: dict[str, Any] = {}
    for c in results:
        if c["set"] in sets and c.get(value) is not None:
            values = by_model.setdefault(c["model"], np.full((splits, len(sets)), np.nan))
            values[c["split"], sets.index(c["set"])] = c[value]
    return by_model


def mean_over_splits(values: Any) -> Any:
    """(sets,) geometric mean of what is there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.exp(np.nanmean(np.log(values), 0))


def interval(ratios: Any) -> str:
    """Twice the standard error over splits of the geometric mean over sets, in per cent."""
    per_split = np.nanmean(np.log(ratios), 1)
    per_split = per_split[np.isfinite(per_split)]
    if len(per_split) < 2:
        return "–"
    return f"{100 * 2 * per_split.std(ddof=1) / np.sqrt(len(per_split)):.1f} %"


def summary(results: list[dict[str, Any]], sets: list[str], title: str) -> None:
    """Relative errors, ranks, wins, seconds, coverage and calibration by model, errors by set."""
    errors, seconds = table(results, sets, "error"), table(results, sets, "seconds")
    names = [m for m in (*models(False), *errors) if m in errors]
    names = list(dict.fromkeys(names))
    means = np.array([mean_over_splits(errors[m]) for m in names])
    whole = np.isfinite(means).all(1)  # ranks among those that ran on all sets
    ranks = means[whole].argsort(0).argsort(0) + 1
    base = means[names.index(BASE)] if BASE in names else np.ones(len(sets))
    print(f"\n### {title}: {len(sets)} sets ({', '.join(sets)})\n")
    print("| model | geometric mean | ± over splits | median | mean rank | wins | CPU s |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for number, model in enumerate(names):
        ratio = means[number] / base
        ok = np.isfinite(ratio)
        place = ranks[whole[:number].sum()] if whole[number] else None
        note = "" if ok.all() else f" ({ok.sum()} sets)"
        rank = "– | –" if place is None else f"{place.mean():.2f} | {(place == 1).sum()}"
        relative = errors[model] / errors[BASE] if BASE in errors else errors[model]
        print(
            f"| {model}{note} | {np.exp(np.mean(np.log(ratio[ok]))):.3f} | {interval(relative)} "
            f"| {np.median(ratio[ok]):.3f} | {rank} | {np.nanmedian(seconds[model]):.2f} |"
        )
    for value, what in (("covered", "covered by 90 % intervals"), ("calibration", "ECE")):
        for model, values in table(results, sets, value).items():
            by_set = np.nanmean(values, 0)
            worst = (np.nanargmin if value == "covered" else np.nanargmax)(by_set)
            print(
                f"\n{model}, {what}: mean {np.nanmean(by_set):.4f}, "
                f"worst {sets[worst]} {by_set[worst]:.4f}"
            )
    print(f"\n| set | {' | '.join(names)} |\n|---|{'--:|' * len(names)}")
    for j, s in enumerate(sets):
        print(f"| {s} | {' | '.join(f'{row[j]:.4f}' for row in means)} |")


def arguments(description: str, out: str) -> argparse.Namespace:
    """The options of this benchmark, and of benchmarks/classes.py."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", help="names, comma-separated (default: all)")
    parser.add_argument("--models", help="names, semicolon-separated (default: all)")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=3000, help="most training rows")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=Path(out))
    return parser.parse_args()


def measure(args: argparse.Namespace, sets: list[str]) -> list[dict[str, Any]]:
    """All cells of these sets: those in the file, then the others, which are added to it."""
    args.out.parent.mkdir(parents=True, exist_ok=True)
    results = (
        [json.loads(line) for line in args.out.open(encoding="utf-8")] if args.out.exists() else []
    )
    results = [c for c in results if c["rows"] == args.rows and c["split"] < args.splits]
    done = {(c["set"], c["model"], c["split"]) for c in results}
    jobs = [
        (args.data / f"{name}.npz", model, number, args.rows)
        for number in range(args.splits)
        for name in sets
        for model in chosen_models(args)
        if (name, model, number) not in done
    ]
    for result in cells(jobs, args.jobs):
        results.append(result)
        with args.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        print(f"{result['set']:12s} {result['model']:30s} {result['split']} "
              f"{result['error']:.4f} {result['seconds']:.1f} s", flush=True)  # fmt: skip
    return [c for c in results if c["set"] in sets and c["model"] in chosen_models(args)]


def chosen_models(args: argparse.Namespace) -> list[str]:
    return args.models.split(";") if args.models else list(models(False))


def set_names(args: argparse.Namespace) -> list[str]:
    return args.sets.split(",") if args.sets else sorted(p.stem for p in args.data.glob("*.npz"))


def main() -> None:
    args = arguments(__doc__.splitlines()[0], "out/real_data.jsonl")
    sets = set_names(args)
    results = measure(args, sets)
    kinds = {c["set"]: c["classes"] for c in results}
    for classes, title in ((False, "regression"), (True, "classification")):
        group = [s for s in sets if kinds.get(s) is classes]
        if group:
            summary([c for c in results if c["set"] in group], group, title)


if __name__ == "__main__":
    main()
