"""Repeated rows and weights: rows that are repeated are rows of a larger weight."""

import warnings

import numpy as np

import onegrad as og
from soak.ledger import AttackCounts, attempt

MAX_DIFFERENCE = 1e-6  # of predictions, in standard deviations of the targets
MIN_COVERED = 0.75  # of the rows of the law itself, by intervals of 90 %


def repeat_rows(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Fit repeated rows, and distinct ones with whole weights: the same model, honest intervals."""
    counts = AttackCounts()
    for i in range(count):
        X, y = _rows(rng, 400)
        times = rng.integers(1, 6, len(y))
        order = rng.permutation(int(times.sum()))
        name, seed = f"{where}.{i}", int(rng.integers(1000))
        with attempt(counts, name, (og.InvalidInput,)), warnings.catch_warnings():
            warnings.simplefilter("ignore", og.AssumptionWarning)
            repeated, weighted = (_model(seed) for _ in range(2))
            repeated.fit(np.repeat(X, times, 0)[order], np.repeat(y, times)[order])
            weighted.fit(X, y, sample_weight=times.astype(float))
            first, second = repeated.predict(X), weighted.predict(X)
            if np.abs(first - second).max() > MAX_DIFFERENCE * y.std():
                counts.fault("wrong", name, f"{np.abs(first - second).max()} apart")
            probe = rng.choice(len(y), 2000, p=times / times.sum())
            low, high = repeated.predict_interval(X[probe], 0.9)
            covered = np.mean((y[probe] >= low) & (y[probe] <= high))
            if covered < MIN_COVERED:
                counts.fault("wrong", name, f"intervals of 90 % cover {covered:.2f}")
            counts.ends["the same model"] += 1
    return counts


def _model(seed: int) -> og.OneStepRegressor:
    return og.OneStepRegressor(width=20, random_state=seed)


def _rows(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of which some are hard and few in kind, the others easy and all different."""
    X = rng.standard_normal((rows, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(rows)
    hard = rng.random(rows) < rng.uniform(0, 0.7)
    X[hard] = rng.integers(0, 2, (int(hard.sum()), 1)) * 0.5
    y[hard] = rng.choice([-5.0, 5.0], int(hard.sum()))
    return X, y
