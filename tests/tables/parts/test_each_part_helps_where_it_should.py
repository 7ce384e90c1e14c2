"""Each part makes a kind of table cheap that ridge on neurons is bad at, and no other."""

import numpy as np
import pytest

import onegrad as og
from onegrad.tables.parts import networks, trees
from onegrad.tables.parts.neighbours import local_means
from onegrad.tables.parts.table import PART_KINDS

pytestmark = pytest.mark.full

RNG = np.random.default_rng(0)
PLANE = RNG.uniform(0, 16, (2600, 2))
CELLS = RNG.random((16, 16))[tuple(PLANE.astype(int).T)]  # no ridge, no direction, no trend
SIDES = RNG.permuted(np.tile([False, True], (2, 8)), axis=1)  # of 16 values of two inputs
VALUES = np.column_stack([RNG.integers(0, 16, (2600, 2)), RNG.standard_normal(2600)])
NORMAL = RNG.standard_normal((2600, 6))
BOX = (np.abs(NORMAL[:, 0]) < 0.7) & (np.abs(NORMAL[:, 1]) < 0.7) & (np.abs(NORMAL[:, 2]) < 0.9)
FAST = {"budget": "fast", "rounds": 0, "random_state": 0}
SMALL = {"rounds": 0, "random_state": 0}
PARITY = np.logical_xor.reduce(
    [side[x.astype(int)] for side, x in zip(SIDES, VALUES.T, strict=False)]
)
# by part: an estimator, a table, rows to learn from, the share of its errors that may be left
CASES = {
    "neighbours": (og.AlternatingRegressor(**FAST), PLANE, CELLS, 2000, 0.85),
    "neighbours of classes": (og.AlternatingClassifier(**FAST), PLANE, CELLS > 0.5, 2000, 0.95),
    "networks": (og.AlternatingClassifier(**SMALL), VALUES, PARITY, 1600, 0.2),
    "trees": (og.AlternatingRegressor(100, members=1, **SMALL), NORMAL, BOX * 1.0, 1600, 0.7),
    "trees of classes": (
        og.AlternatingClassifier(100, members=1, **FAST), NORMAL, BOX + (NORMAL[:, 3] > 0.5), 1600,
        0.9,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_errors_are_lower_with_it(case):
    model, X, y, n, share = CASES[case]
    name = case.partition(" ")[0]
    errors = []
    for corrections in ("auto", "none"):
        model.set_params(corrections=corrections).fit(X[:n], y[:n])
        errors.append(1 - model.score(X[n:], y[n:]))
        assert any(type(p) is PART_KINDS[name].part for p in model.fitted_.parts) == (
            corrections == "auto"
        )
    assert errors[0] < share * errors[1]


def test_parts_are_left_out_where_they_cannot_help(monkeypatch):
    """Neighbours, networks on codes and trees know nothing of a line that ridge does not."""
    for module in (networks, trees):
        monkeypatch.setattr(module, "MANY_ROWS", 1000)
    line = PLANE @ [1.0, -2.0] + 3 * RNG.standard_normal(len(PLANE))
    model = og.AlternatingRegressor(50, rounds=0, corrections="auto", random_state=0)
    model.fit(PLANE[:2000], line[:2000])
    assert model.fitted_.parts == ()
    assert not any(name.endswith("_weight") for name in model.choice_)


class Memory:
    """In place of trees: as good on held-out rows as neighbours are."""

    def __init__(self, training_set):
        self.means = local_means(training_set, np.eye(2), (1,))[1]

    def __call__(self, z):
        return self.means[: len(z)]

    def scaled(self, factor):
        return self


def test_neighbours_are_chosen_before_parts_that_stay(monkeypatch):
    """Both explain the same; held-out rows join the neighbours after the fit."""
    monkeypatch.setattr(trees, "grow_trees", lambda rows, *_: Memory(rows))
    model = og.AlternatingRegressor(**FAST).fit(PLANE[:2000], CELLS[:2000])
    assert model.choice_["neighbours_weight"] > 0.3
    assert model.fitted_.fixed_parts == ()
