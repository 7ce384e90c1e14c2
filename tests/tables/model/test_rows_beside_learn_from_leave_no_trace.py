"""What is learned comes from chosen rows; to remove another leaves the model that never saw it."""

import re

import numpy as np
import pytest

import model_cases
import onegrad as og
from model_cases import CASES
from onegrad.exceptions import AssumptionWarning, InvalidInput
from onegrad.tables import load

N = 150
NUMBERS, WAVE = model_cases.NUMBERS[:N], model_cases.WAVE[:N]


@pytest.mark.filterwarnings("ignore:column 'c")  # cities that nothing was learned of
@pytest.mark.parametrize("name", CASES)
def test_the_model_that_is_left_never_saw_the_row(name, tmp_path):
    case, model = CASES[name], CASES[name].fit()
    n = case.rows
    rest, removed, both = slice(n + 80), slice(n + 80, n + 100), slice(n + 100)
    X, y = case.take(both)
    if y.dtype == float:
        y[removed] += 3.0  # beyond all other targets
    model.fit(*case.take(rest), learn_from=np.arange(n)).save(tmp_path / "never")
    whole = case.fit().fit(X, y, learn_from=np.arange(n + 100) < n)
    whole.save(tmp_path / "whole")
    assert "distinct rows; others leave no trace" in str(whole.report())
    gone = case.take(removed)[0], y[removed]
    for forgetting in (whole, load(tmp_path / "whole")):
        forgetting.remove(*gone).save(tmp_path / "left")
        assert (tmp_path / "left").read_bytes() == (tmp_path / "never").read_bytes()
        for method in ("predict", "predict_proba", "predict_interval"):
            if hasattr(model, method) and forgetting.choice_["held_out_rows"]:
                left, never = (getattr(each, method)(X) for each in (forgetting, model))
                np.testing.assert_array_equal(left, never)


def test_a_removed_row_that_was_learned_from_is_said():
    model = og.AlternatingClassifier(20, rounds=2, corrections="auto", random_state=0)
    model.fit(NUMBERS, WAVE > 0.5)
    message = r"learned from 10 of the rows that are removed: scaling, first layer.* stay"
    with pytest.warns(AssumptionWarning, match=message):
        model.remove(NUMBERS[:10], WAVE[:10] > 0.5)
    of_sample = og.OneStepRegressor(20, sample_rows=50, random_state=0).fit(NUMBERS, WAVE)
    assert sum(is_free(of_sample, i) for i in range(N)) == N - 50


def is_free(model, i):
    """Whether nothing was learned from a row."""
    row = NUMBERS[i : i + 1], WAVE[i : i + 1]
    try:
        model.remove(*row).partial_fit(*row)
    except AssumptionWarning:
        return False
    return True


def test_rows_that_are_not_rows_are_refused():
    for rows in ([N], [-N - 1], np.ones(N - 1, bool), [], [0.5], np.zeros(N, bool), "all"):
        message = re.escape(f"a mask of {N} rows or numbers of rows below {N}, at least one")
        with pytest.raises(InvalidInput, match=message):
            og.OneStepRegressor(4).fit(NUMBERS, WAVE, learn_from=rows)
    with pytest.raises(InvalidInput, match="learn_from: X is a source"):
        og.OneStepRegressor(4).fit("a.csv", learn_from=[0])


def test_rows_of_every_container_can_be_learned_from(pd):
    import pyarrow as pa
    import scipy.sparse

    frame = pd.DataFrame(NUMBERS, columns=["a", "b"], index=range(N, 2 * N))
    mask, model = np.arange(N) < 100, og.OneStepRegressor(10, random_state=0)
    expected = model.fit(NUMBERS, WAVE, learn_from=mask).predict(NUMBERS)
    arrow, dense = pa.Table.from_pandas(frame, preserve_index=False), NUMBERS.tolist()
    for X in (frame, arrow, dict(frame.items()), dense, scipy.sparse.coo_matrix(NUMBERS)):
        for rows in (mask, pd.Series(mask), range(100)):
            model.fit(X, pd.Series(WAVE, index=frame.index), learn_from=rows)
            np.testing.assert_array_equal(model.predict(X), expected)
