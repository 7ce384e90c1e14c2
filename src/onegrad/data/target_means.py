r"""Values of many kinds as what their targets were: one number for each output.

.. math:: s(v) = \frac{\sum_{i: v_i = v} w_i t_i + m\,\bar t}{\sum_{i: v_i = v} w_i + m}

for each frequent value v of a column of text, with the mean of all targets for other values. Rows
fall into folds by a hash of their inputs, and a row that is learned from gets the statistic of the
*other* folds, so that no target explains itself; a row to be predicted gets that of all. The fold
does not depend on the target: else the folds would, for rows that differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Floats

FOLDS = 5
MAX_VALUES_WITH_MEANS = 4096
STRENGTHS = (1.0, 1000.0)  # between which m is kept

Codes = np.ndarray[Any, np.dtype[np.intp]]


@dataclass(frozen=True)
class TargetMeans:
    """Sums over the rows of a sample, by fold and value.

    Parameters
    ----------
    values : the values that have a statistic of their own, in order.
    weights, sums : (folds, values) sums of weights, (folds, values, K) of weighted targets.
    mean : (K,) of the targets of all rows.
    strength : m, how many rows the mean counts for.
    seed : of the keys that make the folds.
    """

    values: tuple[str, ...]
    weights: Floats
    sums: Floats
    mean: Floats
    strength: float
    seed: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TargetMeans) and self.to_dict() == other.to_dict()

    @property
    def outputs(self) -> int:
        return len(self.mean)

    @cached_property
    def table(self) -> Floats:
        """(folds + 1, values + 1, K): without each fold, then without none; unknown values last."""
        weights = self.weights.sum(0) - np.concatenate([self.weights, 0 * self.weights[:1]])
        sums = self.sums.sum(0) - np.concatenate([self.sums, 0 * self.sums[:1]])
        own = (sums + self.strength * self.mean) / (weights + self.strength)[:, :, None]
        others = np.broadcast_to(self.mean, (len(own), 1, self.outputs))
        return np.concatenate([own, others], 1)

    def __call__(self, codes: Codes, folds: Codes | None) -> Floats:
        """(K, n) statistics of values by their number in `values`, -1 for others."""
        which = np.full(len(codes), FOLDS) if folds is None else folds
        found: Floats = self.table[which, codes].T  # -1 is the last
        return found

    @classmethod
    def of(
        cls, values: Sequence[str], codes: Codes, t: Floats, w: Floats, folds: Codes, seed: int
    ) -> TargetMeans:
        """Of rows with these values (by number, -1 for others), targets, weights and folds."""
        known = codes >= 0
        V, K = len(values), t.shape[1]
        place = (folds * V + codes)[known]
        weights: Floats = np.bincount(place, w[known], FOLDS * V).reshape(FOLDS, V).astype(float)
        each = [np.bincount(place, (w * t[:, k])[known], FOLDS * V) for k in range(K)]
        sums: Floats = np.stack(each, 1).reshape(FOLDS, V, K).astype(float)
        mean = w @ t / w.sum()
        squares = w[known] @ (t[known] - mean) ** 2
        strength = _strength(weights.sum(0), sums.sum(0), mean, squares)
        return cls(tuple(values), weights, sums, mean, strength, seed)

    def to_dict(self) -> dict[str, Any]:
        return {
            "values": list(self.values),
            "weights": self.weights.tolist(),
            "sums": self.sums.tolist(),
            "mean": self.mean.tolist(),
            "strength": self.strength,
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> TargetMeans:
        values = tuple(map(str, given["values"]))
        mean = np.array(given["mean"], dtype=np.float64)
        weights = np.array(given["weights"], dtype=np.float64).reshape(FOLDS, len(values))
        sums = np.array(given["sums"], dtype=np.float64).reshape(FOLDS, len(values), len(mean))
        return cls(values, weights, sums, mean, float(given["strength"]), int(given["seed"]))


def folds_of(keys: np.ndarray[Any, np.dtype[np.uint64]]) -> Codes:
    """The fold of each row, by its key."""
    return (keys % np.uint64(FOLDS)).astype(np.intp)


def _strength(weights: Floats, sums: Floats, mean: Floats, squares: Floats) -> float:
    """Variance within values over variance between them, of all outputs together."""
    between = ((sums - weights[:, None] * mean) ** 2 / np.maximum(weights, 1e-300)[:, None]).sum()
    total = weights.sum()
    freedom = max(total - len(weights), 1.0)
    within = max(squares.sum() - between, 0.0) / freedom
    spread = (between - len(weights) * within) / max(total, 1e-300)
    low, high = STRENGTHS
    return float(np.clip(within / spread, low, high)) if spread > 0 else high
