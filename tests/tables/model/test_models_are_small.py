"""A file and a pickle hold the rows or their sums, what is less, and predict the same bits."""

import pickle

import numpy as np
import pytest

import onegrad as og
from model_cases import CASES
from onegrad.exceptions import InvalidInput
from onegrad.tables import load

pytestmark = [
    pytest.mark.filterwarnings("ignore:the model was learned from"),
    pytest.mark.filterwarnings("ignore:column 'city'"),
    pytest.mark.filterwarnings("ignore:.*describe the .* rows of the fit"),
]


def answers(model, X):
    """What a model says of rows, and of itself."""
    methods = ("predict", "predict_proba", "transform", "_scores")
    said = {name: getattr(model, name)(X) for name in methods if hasattr(model, name)}
    parameters = {k: v for k, v in model.get_params().items() if k != "activation"}
    return {**said, "report": str(model.report()), "parameters": str(parameters)}


def copies(model, path):
    """A model as its file and as its pickle have it, and their sizes."""
    model.save(path)
    pickled = pickle.dumps(model)
    return (load(path), path.stat().st_size), (pickle.loads(pickled), len(pickled))


@pytest.mark.parametrize("name", CASES)
def test_copies_predict_the_same_and_learn_the_same(name, tmp_path):
    case, model = CASES[name], CASES[name].fit()
    X, _ = case.take(slice(0, 1300, 13))
    fitted = model.fitted_
    numbers = sum(member.moments.FtF.size for member in fitted.members)
    for again, size in copies(model, tmp_path / "m"):
        assert type(again) is type(model)
        assert list(again.column_names_) == list(model.column_names_)
        np.testing.assert_equal(answers(again, X), answers(model, X))
        assert (again.fitted_.tally.z is None) == (fitted.tally.z is None)
        if fitted.tally.z is not None and numbers > 100_000:
            assert size < numbers
        changed = (
            one.partial_fit(*case.take(slice(700, 720))).remove(*case.take(slice(710, 720)))
            for one in (again, case.fit())
        )
        later, expected = (each._scores(X) for each in changed)
        np.testing.assert_array_equal(later, expected)
        np.testing.assert_equal(answers(copies(again, tmp_path / "m")[0][0], X), answers(again, X))
    model.save(tmp_path / "frozen", rows="frozen")
    frozen = load(tmp_path / "frozen")
    np.testing.assert_array_equal(frozen._scores(X), model._scores(X))
    attempts = [frozen.remove, frozen.partial_fit]
    if hasattr(frozen, "predict_interval"):
        attempts.append(lambda X, _: frozen.predict(X, return_std=True))
    for attempt in attempts:
        with pytest.raises(InvalidInput, match="frozen"):
            attempt(*case.take(slice(1)))
    with pytest.raises(InvalidInput, match="rows"):
        model.save(tmp_path / "m", rows="none")


@pytest.mark.full
def test_a_default_fit_is_small(tmp_path):
    """Three members of 1,800 neurons: a file of 79 MB when sums were in it."""
    from sklearn.datasets import load_diabetes

    few_columns = np.random.default_rng(0).standard_normal((800, 2))
    rows = (load_diabetes(return_X_y=True), 1.5e6), ((few_columns, few_columns.sum(1)), 1e6)
    for (X, y), largest in rows:
        model = og.AlternatingRegressor(rounds=2, random_state=0).fit(X, y)
        assert model.fitted_.width > 5000
        assert max(size for _, size in copies(model, tmp_path / "m")) < largest


def test_of_more_rows_than_the_sample_the_sums_are_stored(tmp_path):
    """Rows beyond it were lost in pickles of wide networks."""
    X = np.random.default_rng(0).standard_normal((1000, 3))
    fitted = og.OneStepRegressor(200, sample_rows=100, random_state=0).fit(X, X[:, 0])
    expected = fitted.blank().partial_fit(X[10:], X[10:, 0]).readout_
    for again, _ in copies(fitted, tmp_path / "m"):
        np.testing.assert_array_equal(again.remove(X[:10], X[:10, 0]).readout_, expected)
