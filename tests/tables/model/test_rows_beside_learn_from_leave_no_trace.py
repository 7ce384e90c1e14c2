"""What is learned comes from chosen rows; to remove another leaves the model that never saw it."""

import re

import numpy as np
import pytest

import onegrad as og
from onegrad.exceptions import AssumptionWarning, InvalidInput
from onegrad.tables import load
from onegrad.tables.parts.table import PART_KINDS, name_of

RNG = np.random.default_rng(0)
N = 150
CELLS = RNG.random((16, 16))
NUMBERS = RNG.uniform(0, 16, (1300, 2))
Y = CELLS[tuple(NUMBERS.astype(int).T)]  # what neighbours explain
STEPS = 3.0 * (NUMBERS[:, 0] > 5.3) + NUMBERS[:, 1] // 1 % 2  # what trees do
FRAME = {
    "a": NUMBERS[:, 0],
    "b": NUMBERS[:, 1],
    "c": np.where(NUMBERS[:, 1] > 9, "up", None).astype(object),
}
LOCAL = {"budget": "fast", "rounds": 0, "random_state": 0}
CASES = {
    "rows": (og.OneStepRegressor(60, random_state=0), NUMBERS, Y, 200),
    "sums": (og.OneStepRegressor(4, random_state=0), NUMBERS, np.column_stack([Y, -Y]), 200),
    "a table": (og.AlternatingClassifier(60, rounds=2, random_state=0), FRAME, Y > 0.5, 200),
    "neighbours": (og.AlternatingRegressor(members=2, **LOCAL), NUMBERS, Y, 1000),
    "trees": (og.AlternatingRegressor(members=1, **LOCAL), NUMBERS, STEPS, 600),
}


def taken(values, rows):
    if isinstance(values, dict):
        return {name: column[rows] for name, column in values.items()}
    return values[rows]


@pytest.mark.parametrize("case", CASES)
def test_the_model_that_is_left_never_saw_the_row(case, tmp_path):
    model, X, y, learned = CASES[case]
    rest, removed = slice(0, learned + 80), slice(learned + 80, learned + 100)
    both = slice(0, learned + 100)
    y = y.copy()
    if y.dtype != bool:
        y[removed] += 5.0  # beyond all other targets
    model.fit(taken(X, rest), y[rest], learn_from=np.arange(learned)).save(tmp_path / "never")
    assert case not in PART_KINDS or case in map(name_of, model.fitted_.parts)
    assert (model.fitted_.tally.z is None) == (case == "sums")
    mask = np.arange(learned + 100) < learned
    model.fit(taken(X, both), y[both], learn_from=mask).save(tmp_path / "whole")
    if y.ndim == 1 and y.dtype != bool:
        assert model.fitted_.targets.bounds[1] > 5
    for forgetting in (model, load(tmp_path / "whole")):
        assert forgetting.n_rows_ == learned + 100
        forgetting.remove(taken(X, removed), y[removed]).save(tmp_path / "left")
        left, never = load(tmp_path / "left"), load(tmp_path / "never")
        assert (tmp_path / "left").read_bytes() == (tmp_path / "never").read_bytes()
        for method in ("predict", "predict_proba", "predict_interval"):
            if hasattr(model, method):
                np.testing.assert_array_equal(getattr(left, method)(X), getattr(never, method)(X))


def test_a_removed_row_that_was_learned_from_is_said():
    model = og.AlternatingClassifier(20, rounds=2, corrections="auto", random_state=0)
    model.fit(NUMBERS[:N], Y[:N] > 0.5)
    message = r"learned from 10 of the rows that are removed: scaling, first layer.* stay"
    with pytest.warns(AssumptionWarning, match=message):
        model.remove(NUMBERS[:10], Y[:10] > 0.5)
    of_sample = og.OneStepRegressor(20, sample_rows=50, random_state=0).fit(NUMBERS[:N], Y[:N])
    assert sum(is_free(of_sample, i) for i in range(N)) == N - 50


def is_free(model, i):
    """Whether nothing was learned from a row."""
    row = NUMBERS[i : i + 1], Y[i : i + 1]
    try:
        model.remove(*row).partial_fit(*row)
    except AssumptionWarning:
        return False
    return True


def test_rows_that_are_not_rows_are_refused():
    for rows in ([N], [-N - 1], np.ones(N - 1, bool), [], [0.5], np.zeros(N, bool), "all"):
        message = re.escape(f"a mask of {N} rows or numbers of rows below {N}, at least one")
        with pytest.raises(InvalidInput, match=message):
            og.OneStepRegressor(4).fit(NUMBERS[:N], Y[:N], learn_from=rows)
    with pytest.raises(InvalidInput, match="learn_from: X is a source"):
        og.OneStepRegressor(4).fit("a.csv", learn_from=[0])
