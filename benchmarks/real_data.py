"""Real data: the estimators against what people use, five splits a set, one thread.

    python benchmarks/real_data.py --data DIR [--sets a,b] [--models x,y] [--splits 5] [--out FILE]

DIR holds NAME.npz files with X and y; a y stored as integers is classes. Each split shuffles the
rows, tests on a fifth of them (at most 10,000) and trains on at most 3,000 others. Every model
chooses its settings on its training rows alone. Errors are divided by those of random features of
the same width (OneStep with eta=0): RMSE for regression, error rate (plus half a test row) for
classification. Finished cells are kept in FILE (JSON lines) and not computed again. LightGBM and
xRFM take part where they are installed. Run with OMP_NUM_THREADS=1: seconds are CPU seconds of the
fit.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onegrad as og

WIDTH, TRAIN, TEST = 1000, 3000, 10_000
BASE = "random features"


def split(X: Any, y: Any, seed: int) -> tuple[Any, Any, Any, Any]:
    """Training and test rows of one split."""
    order = np.random.default_rng(seed).permutation(len(X))
    n_test = min(len(X) // 5, TEST)
    test, train = order[:n_test], order[n_test:][:TRAIN]
    return X[train], y[train], X[test], y[test]


class XRFM:
    """xRFM with a validation set of a fifth of its rows, best of three settings on it."""

    def __init__(self, classify: bool) -> None:
        self.classify = classify

    def fit(self, X: Any, y: Any) -> XRFM:
        import torch
        from xrfm import xRFM

        torch.set_num_threads(1)
        self.scaler = StandardScaler().fit(X)
        self.centre, self.scale = (0.0, 1.0) if self.classify else (y.mean(), y.std())
        Z = torch.tensor(self.scaler.transform(X), dtype=torch.float32)
        t = torch.tensor((y - self.centre) / self.scale, dtype=torch.float32)[:, None]
        if self.classify:
            self.classes = np.unique(y)
            t = torch.tensor(np.searchsorted(self.classes, y))
        order = np.random.default_rng(0).permutation(len(X))
        held, learn = order[: len(X) // 5], order[len(X) // 5 :]
        best = np.inf
        for diag, bandwidth in ((False, 10.0), (True, 10.0), (False, 3.0)):
            model = {"kernel": "l2_high_dim", "exponent": 1.0, "bandwidth": bandwidth,
                     "diag": diag, "bandwidth_mode": "constant"}  # fmt: skip
            fit = {"get_agop_best_model": True, "return_best_params": True, "reg": 1e-3, "iters": 5,
                   "early_stop_rfm": False, "verbose": False}  # fmt: skip
            candidate = xRFM(
                {"model": model, "fit": fit}, device="cpu", verbose=False, random_state=0,
                tuning_metric="accuracy" if self.classify else "mse",
            )  # fmt: skip
            candidate.fit(Z[learn], t[learn], Z[held], t[held])
            wrong = np.asarray(candidate.predict(Z[held])).ravel()
            truth = np.asarray(t[held]).ravel()
            score = np.mean(wrong != truth) if self.classify else np.mean((wrong - truth) ** 2)
            if score < best:
                best, self.model = score, candidate
        return self

    def predict(self, X: Any) -> Any:
        import torch

        Z = torch.tensor(self.scaler.transform(X), dtype=torch.float32)
        out = np.asarray(self.model.predict(Z)).ravel()
        if self.classify:
            return self.classes[out.astype(int)]
        return out * self.scale + self.centre


def models(classify: bool) -> dict[str, Callable[[int], Any]]:
    """Each model as a function of the split's number."""
    kind = "Classifier" if classify else "Regressor"
    boosting = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    network = MLPClassifier if classify else MLPRegressor
    alphas = np.logspace(-3, 4, 15)
    ridge = RidgeClassifierCV(alphas) if classify else RidgeCV(alphas)

    def ours(family: str, **settings: Any) -> Callable[[int], Any]:
        make = getattr(og, family + kind)
        return lambda seed: make(WIDTH, random_state=seed, **settings)

    found: dict[str, Callable[[int], Any]] = {
        "ridge on inputs": lambda seed: make_pipeline(StandardScaler(), clone(ridge)),
        BASE: ours("OneStep", eta=0.0),
        "one step": ours("OneStep"),
        "alternating": ours("Alternating"),
        "HistGradientBoosting": lambda seed: boosting(random_state=seed),
        "MLP 256x256": lambda seed: make_pipeline(
            StandardScaler(),
            network(
                hidden_layer_sizes=(256, 256), early_stopping=True, max_iter=500, random_state=seed
            ),
        ),
    }
    if importlib.util.find_spec("lightgbm"):
        import lightgbm

        make = getattr(lightgbm, "LGBM" + kind)
        found["LightGBM, 3 settings"] = lambda seed: GridSearchCV(
            make(verbose=-1, n_jobs=1, random_state=seed, n_estimators=500, learning_rate=0.05),
            {"num_leaves": [7, 31, 127]},
            cv=ShuffleSplit(1, test_size=0.2, random_state=0),
        )
    if importlib.util.find_spec("xrfm"):
        found["xRFM, 3 settings"] = lambda seed: XRFM(classify)
    return found


def cell(path: Path, name: str, model: str, seed: int) -> dict[str, Any]:
    """One model on one split of one set."""
    with np.load(path) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    classify = y.dtype.kind in "iu"
    X, y, X_test, y_test = split(X, y if classify else y.astype(np.float64), seed)
    estimator = models(classify)[model](seed)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # iterations of the MLP, names in LightGBM
        estimator.fit(X, y)
        seconds = time.process_time() - start
        predicted = estimator.predict(X_test)
    if classify:
        error = (np.sum(predicted != y_test) + 0.5) / len(y_test)
    else:
        error = float(np.sqrt(np.mean((predicted - y_test) ** 2)) / y_test.std())
    return {
        "set": name, "model": model, "split": seed, "classes": classify,
        "error": float(error), "seconds": seconds,
        "held_out": getattr(estimator, "held_out_score_", None),
    }  # fmt: skip


def summary(cells: list[dict[str, Any]], sets: list[str], title: str) -> None:
    """Geometric mean and median over sets of the error relative to random features."""
    errors: dict[tuple[str, str], list[tuple[int, float]]] = {}
    seconds: dict[str, list[float]] = {}
    for c in cells:
        if c["set"] in sets:
            errors.setdefault((c["model"], c["set"]), []).append((c["split"], c["error"]))
            seconds.setdefault(c["model"], []).append(c["seconds"])
    names = [m for m in models(False) if any(m == k[0] for k in errors)]

    def mean(model: str, name: str) -> float:
        values = errors.get((model, name))
        return float(np.exp(np.mean(np.log([e for _, e in values])))) if values else np.nan

    print(f"\n### {title}: {len(sets)} sets ({', '.join(sets)})\n")
    print("| model | geometric mean | median | fit, median CPU s |\n|---|--:|--:|--:|")
    for model in names:
        ratios = np.array([mean(model, s) / mean(BASE, s) for s in sets])
        ok = np.isfinite(ratios)
        note = "" if ok.all() else f" ({ok.sum()} sets)"
        print(
            f"| {model}{note} | {np.exp(np.mean(np.log(ratios[ok]))):.3f} "
            f"| {np.median(ratios[ok]):.3f} | {np.median(seconds[model]):.2f} |"
        )
    print(f"\n| set | {' | '.join(names)} |\n|---|{'--:|' * len(names)}")
    for s in sets:
        print(f"| {s} | {' | '.join(f'{mean(m, s):.4f}' for m in names)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", help="names, comma-separated (default: all)")
    parser.add_argument("--models", help="names, comma-separated (default: all)")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("out/real_data.jsonl"))
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    known = [json.loads(line) for line in args.out.open()] if args.out.exists() else []
    done = {(c["set"], c["model"], c["split"]) for c in known}
    sets = args.sets.split(",") if args.sets else sorted(p.stem for p in args.data.glob("*.npz"))
    chosen = args.models.split(",") if args.models else list(models(False))
    for seed in range(args.splits):
        for name in sets:
            for model in chosen:
                if (name, model, seed) in done:
                    continue
                result = cell(args.data / f"{name}.npz", name, model, seed)
                known.append(result)
                with args.out.open("a") as file:
                    file.write(json.dumps(result) + "\n")
                print(f"{name:12s} {model:22s} {seed} {result['error']:.4f} "
                      f"{result['seconds']:.1f} s", flush=True)  # fmt: skip
    kinds = {c["set"]: c["classes"] for c in known if c["set"] in sets}
    for classes, title in ((False, "regression"), (True, "classification")):
        group = [s for s in sets if kinds.get(s) is classes]
        if group:
            summary(known, group, title)


if __name__ == "__main__":
    main()
