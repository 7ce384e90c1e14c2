r"""Mean targets of the values of a column of text: target encoding, one number per output.

.. math:: s(v) = \frac{\sum_{i: v_i = v} w_i t_i + m\,\bar t}{\sum_{i: v_i = v} w_i + m}

for each frequent value v; other values have the mean of all targets. Rows fall into folds by a hash
of their inputs. A row that is learned from gets the mean over the *other* folds, so that no target
explains itself (scikit-learn's TargetEncoder calls it cross fitting); a row to be predicted gets
that over all folds. The fold does not depend on the target: else rows that differ in nothing else
would show theirs by their fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Floats

FOLDS = 5  # as many as scikit-learn's TargetEncoder has
MAX_VALUES_WITH_MEANS = 4096  # bounds the tables of sums in a model's file; not tuned
TINY = 1e-300  # against division by zero

Codes = np.ndarray[Any, np.dtype[np.intp]]


@dataclass(frozen=True)
class TargetMeans:
    """Sums over the rows of a sample, by fold and value.

    Parameters
    ----------
    values : the values that have a mean of their own, in order.
    weights, sums : (folds, values) sums of weights, (folds, values, K) of weighted targets.
    mean : (K,) mean of the targets of all rows.
    strength : m, how many rows the mean of all targets counts for.
    seed : of the keys that make the folds.
    """

    values: tuple[str, ...]
    weights: Floats
    sums: Floats
    mean: Floats
    strength: float
    seed: int

    @property
    def outputs(self) -> int:
        return len(self.mean)

    @cached_property
    def table(self) -> Floats:
        """(folds + 1, values + 1, K) means without each fold, then over all; other values last."""
        weights = self.weights.sum(0) - np.concatenate([self.weights, 0 * self.weights[:1]])
        sums = self.sums.sum(0) - np.concatenate([self.sums, 0 * self.sums[:1]])
        means = (sums + self.strength * self.mean) / (weights + self.strength)[:, :, None]
        other_values = np.broadcast_to(self.mean, (len(means), 1, self.outputs))
        return np.concatenate([means, other_values], 1)

    def __call__(self, codes: Codes, folds: Codes | None) -> Floats:
        """(K, n) means of values by their number in `values`, -1 for others."""
        return self.table[FOLDS if folds is None else folds, codes].T  # -1 is the last

    @classmethod
    def of(
        cls, values: Sequence[str], codes: Codes, t: Floats, w: Floats, folds: Codes, seed: int
    ) -> TargetMeans:
        """Sum over rows with these values (by number, -1 for others), targets, weights, folds."""
        frequent = codes >= 0
        V, K = len(values), t.shape[1]
        cell = (folds * V + codes)[frequent]
        weights = np.bincount(cell, w[frequent], FOLDS * V).reshape(FOLDS, V).astype(float)
        per_output = [np.bincount(cell, (w * t[:, k])[frequent], FOLDS * V) for k in range(K)]
        sums = np.stack(per_output, 1).reshape(FOLDS, V, K).astype(float)
        mean = w @ t / w.sum()
        squares = w[frequent] @ (t[frequent] - mean) ** 2
        strength = _strength(weights.sum(0), sums.sum(0), mean, squares)
        return cls(tuple(values), weights, sums, mean, strength, seed)

    @classmethod
    def from_dict(cls, json_values: Mapping[str, Any]) -> TargetMeans:
        """Return the sums of JSON values, in the shapes that they must have."""
        arrays = (np.array(json_values[name], np.float64) for name in ("weights", "sums", "mean"))
        weights, sums, mean = arrays
        values = tuple(map(str, json_values["values"]))
        return cls(
            values,
            weights.reshape(FOLDS, len(values)),
            sums.reshape(FOLDS, len(values), len(mean)),
            mean,
            float(json_values["strength"]),
            int(json_values["seed"]),
        )


def folds_of(keys: np.ndarray[Any, np.dtype[np.uint64]]) -> Codes:
    """(n,) the fold of each row, by its key."""
    return (keys % np.uint64(FOLDS)).astype(np.intp)


def _strength(weights: Floats, sums: Floats, mean: Floats, squares: Floats) -> float:
    """Return the variance within values over that between them, of all outputs together.

    With the true ratio a shrunk mean is the best linear prediction of its value's own. Estimated
    from few rows the ratio can be anything: it is held within 1 to 1000 rows.
    """
    between = ((sums - weights[:, None] * mean) ** 2 / np.maximum(weights, TINY)[:, None]).sum()
    total = weights.sum()
    freedom = max(total - len(weights), 1.0)
    within = max(squares.sum() - between, 0.0) / freedom
    spread = (between - len(weights) * within) / max(total, TINY)
    return float(np.clip(within / spread if spread > 0 else np.inf, 1.0, 1000.0))
