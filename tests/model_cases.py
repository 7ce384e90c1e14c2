"""Small models of every kind: a property of all models is tested once, over this table."""

from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import onegrad as og

RNG = np.random.default_rng(0)
CELLS = RNG.random((16, 16))
NUMBERS = RNG.uniform(0, 16, (1300, 2))
LOCAL = CELLS[tuple(NUMBERS.astype(int).T)]  # no ridge, no direction: what neighbours explain
STEPS = 3.0 * (NUMBERS[:, 0] > 5.3) + NUMBERS[:, 1] // 1 % 2  # what trees do
WAVE = np.sin(NUMBERS[:, 0]) + NUMBERS[:, 1] / 8
DAYS = np.array(["2020-01-01", "2021-01-01", "2022-01-01"], "M8[D]")
TABLE = {
    "a": np.where(RNG.random(1300) < 0.1, np.nan, NUMBERS[:, 0]),
    "b": NUMBERS[:, 1],
    "c": np.where(NUMBERS[:, 1] > 9, "up", None).astype(object),
    "city": np.array([f"c{i:02d}" for i in RNG.integers(0, 80, 1300)]),
}
OF_PARTS = {"width": 60, "rounds": 0, "budget": "fast", "corrections": "auto", "random_state": 0}


@dataclass(frozen=True, eq=False)  # a key of the cache
class Case:
    """An estimator, the first `rows` rows that it is fitted on, and X and y of more of them."""

    estimator: Any
    rows: int
    X: Any
    y: Any

    def take(self, rows):
        """Rows of X and y."""
        if isinstance(self.X, dict):
            return {name: column[rows] for name, column in self.X.items()}, self.y[rows]
        return self.X[rows], self.y[rows]

    @cache  # noqa: B019 -- as long as the tests run
    def _fitted(self):
        return self.estimator.fit(*self.take(slice(self.rows)))

    def fit(self):
        """A fitted estimator that may be changed: its state is a value."""
        return copy(self._fitted())


def one_step(kind=og.OneStepRegressor, width=60, **settings):
    return kind(width, random_state=0, **settings)


CASES = {
    "one step": Case(one_step(), 200, NUMBERS, WAVE),
    "sums": Case(one_step(width=4), 200, NUMBERS, np.column_stack([WAVE, -WAVE])),
    "fresh rows": Case(one_step(rows="fresh"), 200, NUMBERS, WAVE),
    "literal": Case(
        og.OneStepRegressor.literal(og.Problem(n=40, d=2, N=40, alpha=0.2), random_state=0),
        200, NUMBERS, WAVE,
    ),
    "features": Case(one_step(og.OneStepFeatures, activation="tanh"), 200, NUMBERS, WAVE),
    "dates": Case(one_step(og.OneStepClassifier), 200, NUMBERS, DAYS[np.digitize(WAVE, [0, 1])]),
    "weights": Case(
        one_step(og.OneStepClassifier, class_weight={0: 1, 1: 5}), 200, NUMBERS, 1 * (WAVE > 1)
    ),
    "labels": Case(
        og.AlternatingClassifier(60, rounds=2, random_state=0), 200, TABLE,
        1 * (np.column_stack([WAVE, LOCAL]) > 0.5),
    ),
    "table": Case(og.AlternatingRegressor(60, rounds=2, random_state=0), 300, TABLE, WAVE),
    "committee": Case(
        og.AlternatingRegressor(30, members=3, rounds=2, random_state=0), 200, NUMBERS, WAVE
    ),
    "neighbours": Case(og.AlternatingRegressor(members=2, **OF_PARTS), 1000, NUMBERS, LOCAL),
    "trees": Case(og.AlternatingRegressor(members=1, **OF_PARTS), 600, NUMBERS, STEPS),
    "head": Case(og.AlternatingClassifier(members=1, **OF_PARTS), 300, NUMBERS, WAVE > 1),
}  # fmt: skip
