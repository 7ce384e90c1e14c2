"""Classes: accuracy, balance, probabilities, seconds and size beside what people use.

    python benchmarks/classes.py --data DIR [--sets a,b] [--models x;y] [--splits 5] [--rows 3000]
                                 [--jobs 1] [--out FILE]

The sets of DIR whose targets are classes, with the splits, models and options of
benchmarks/real_data.py. For every model: mean accuracy and balanced accuracy (the mean over classes
of the share that is right), the log-loss (a probability counts 1e-15 at least), the expected
calibration error, CPU seconds of a fit and of predicting, megabytes of the pickled model, the mean
rank by accuracy, and the set on which its errors are the largest multiple of the best model's.
"""

from pathlib import Path
from typing import Any

import numpy as np
from real_data import arguments, mean_over_splits, measure, set_names, table

VALUES = ("error", "balanced_accuracy", "log_loss", "calibration", "seconds", "predict_seconds",
          "megabytes")  # fmt: skip


def has_classes(path: Path) -> bool:
    """Whether the targets of a file are integers."""
    with np.load(path) as file:
        return bool(file["y"].dtype.kind in "iu")


def summary(results: list[dict[str, Any]], sets: list[str]) -> None:
    """A row per model, then accuracy and log-loss by set."""
    tables = {value: table(results, sets, value) for value in VALUES}
    names = list(tables["error"])
    errors = np.array([mean_over_splits(tables["error"][m]) for m in names])
    with np.errstate(invalid="ignore"):
        ranks = np.where(np.isfinite(errors), errors.argsort(0).argsort(0) + 1.0, np.nan)
        excess = errors / np.nanmin(errors, 0)
    print(f"\n### {len(sets)} sets ({', '.join(sets)})\n")
    head = "accuracy | balanced | log-loss | ECE | mean rank | wins | fit, CPU s | predict, s | MB"
    print(f"| model | {head} | worst set |\n|---|{'--:|' * 9}---|")
    for number, model in enumerate(names):

        def mean(value: str, model: str = model) -> float:
            values = tables[value].get(model)
            return float("nan") if values is None else float(np.nanmean(np.nanmean(values, 0)))

        def median(value: str, model: str = model) -> float:
            return float(np.nanmedian(tables[value][model]))

        worst = int(np.nanargmax(excess[number]))
        print(
            f"| {model} | {100 * (1 - mean('error')):.2f} | {100 * mean('balanced_accuracy'):.2f} "
            f"| {mean('log_loss'):.4f} | {mean('calibration'):.4f} "
            f"| {np.nanmean(ranks[number]):.2f} | {int((ranks[number] == 1).sum())} "
            f"| {median('seconds'):.2f} | {median('predict_seconds'):.3f} "
            f"| {median('megabytes'):.1f} | {sets[worst]} {excess[number][worst]:.2f} |"
        )
    for value, title in (("error", "error rate"), ("log_loss", "log-loss")):
        print(f"\n| {title} | {' | '.join(names)} |\n|---|{'--:|' * len(names)}")
        by_model = [tables[value].get(m) for m in names]
        for j, s in enumerate(sets):
            cells = ["–" if v is None else f"{np.nanmean(v[:, j]):.4f}" for v in by_model]
            print(f"| {s} | {' | '.join(cells)} |")


def main() -> None:
    args = arguments(__doc__.splitlines()[0], "out/classes.jsonl")
    sets = [name for name in set_names(args) if has_classes(args.data / f"{name}.npz")]
    results = measure(args, sets)
    summary(results, sets)


if __name__ == "__main__":
    main()
