"""The models that benchmarks/real_data.py compares, each a function of the split's number.

Settings and budgets: ours and scikit-learn's at their defaults unless the name says otherwise;
"10 draws": the best of ten random settings, of spaces as their authors suggest, on a fifth of the
training rows; "3 settings": likewise, of three. What is not installed does not take part.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, ShuffleSplit
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onegrad as og

BASE = "random features"
WIDTH = 1000  # of random features and of one step
DRAWS = 10
INNER = ShuffleSplit(1, test_size=0.2, random_state=0)

Model = Callable[[int], Any]


class XRFM(BaseEstimator):
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


def models(classify: bool) -> dict[str, Model]:
    """All that can take part, by name."""
    return ours(classify) | of_scikit_learn(classify) | installed(classify)


def ours(classify: bool) -> dict[str, Model]:
    kind = "Classifier" if classify else "Regressor"
    one_step, alternating = (getattr(og, name + kind) for name in ("OneStep", "Alternating"))
    return {
        BASE: lambda seed: one_step(WIDTH, eta=0.0, random_state=seed),
        "one step": lambda seed: one_step(WIDTH, random_state=seed),
        "alternating, fast": lambda seed: alternating(budget="fast", random_state=seed),
        "alternating": lambda seed: alternating(random_state=seed),
        "alternating, uncorrected": lambda seed: alternating(
            inputs="standard", corrections="none", sample_rows=20_000, random_state=seed
        ),
        "alternating, best": lambda seed: alternating(budget="best", random_state=seed),
    }


def of_scikit_learn(classify: bool) -> dict[str, Model]:
    boosting = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    network = MLPClassifier if classify else MLPRegressor
    trees = ExtraTreesClassifier if classify else ExtraTreesRegressor
    ridge = (RidgeClassifierCV if classify else RidgeCV)(np.logspace(-3, 4, 15))
    space = {
        "learning_rate": loguniform(0.01, 0.3),
        "max_iter": randint(100, 600),
        "max_leaf_nodes": randint(4, 64),
        "min_samples_leaf": randint(2, 50),
        "l2_regularization": loguniform(1e-6, 10),
    }
    return {
        "ridge on inputs": lambda seed: make_pipeline(StandardScaler(), clone(ridge)),
        "HistGradientBoosting": lambda seed: boosting(random_state=seed),
        "HistGradientBoosting, 10 draws": lambda seed: RandomizedSearchCV(
            boosting(random_state=seed), space, n_iter=DRAWS, cv=INNER, random_state=seed
        ),
        "ExtraTrees 300": lambda seed: trees(300, random_state=seed),
        "MLP 256x256": lambda seed: make_pipeline(
            StandardScaler(),
            network(
                hidden_layer_sizes=(256, 256), early_stopping=True, max_iter=500, random_state=seed
            ),
        ),
    }


def installed(classify: bool) -> dict[str, Model]:
    """Packages that are no dependency of this one."""
    kind = "Classifier" if classify else "Regressor"
    packages: dict[str, Model] = {}

    def package(name: str, member: str) -> Any:
        if importlib.util.find_spec(name) is None:
            return None
        return getattr(importlib.import_module(name), member)

    if make := package("lightgbm", f"LGBM{kind}"):
        settings = {"verbose": -1, "n_jobs": 1, "n_estimators": 500, "learning_rate": 0.05}
        packages["LightGBM, 3 settings"] = lambda seed: GridSearchCV(
            make(random_state=seed, **settings), {"num_leaves": [7, 31, 127]}, cv=INNER
        )
    if xgboost := package("xgboost", f"XGB{kind}"):
        packages["XGBoost"] = lambda seed: xgboost(random_state=seed, n_jobs=1)
    if catboost := package("catboost", f"CatBoost{kind}"):
        packages["CatBoost"] = lambda seed: catboost(
            random_seed=seed, thread_count=1, verbose=0, allow_writing_files=False
        )
    for name in ("RealMLP_TD", "TabM_D"):
        if peer := package("pytabkit", f"{name}_{kind}"):
            packages[name.replace("_", "-")] = lambda seed, peer=peer: peer(
                random_state=seed, n_threads=1, device="cpu"
            )
    if importlib.util.find_spec("xrfm"):
        packages["xRFM, 3 settings"] = lambda seed: XRFM(classify)
    return packages
