"""A pickle holds no more than its rows or its sums; a frozen file holds what predicts."""

import pickle

import numpy as np
import pytest

import onegrad as og
from onegrad.exceptions import InvalidInput
from onegrad.tables import load

RNG = np.random.default_rng(0)
X = RNG.standard_normal((250, 5))
Y = 100 * (X[:, 0] + np.abs(X[:, 1])) + 50 * RNG.standard_normal(250)


@pytest.fixture(scope="module")
def model():
    return og.AlternatingRegressor(200, members=2, rounds=2, random_state=0).fit(X, Y)


@pytest.mark.full
def test_the_pickle_of_a_default_fit_is_small():
    """Three members of 1,800 neurons: 237 MB when sums and factors were in it."""
    from sklearn.datasets import load_diabetes

    model = og.AlternatingRegressor(rounds=2, random_state=0).fit(*load_diabetes(return_X_y=True))
    assert model.fitted_.width > 5000
    assert len(pickle.dumps(model)) < 5e6


def test_the_pickle_of_few_rows_holds_them(model):
    stored = pickle.dumps(model)
    assert len(stored) < 2e5 < sum(m.moments.FtF.nbytes for m in model.fitted_.members)
    again = pickle.loads(stored)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for mine, other in zip(again.fitted_.members, model.fitted_.members, strict=True):
        np.testing.assert_array_equal(mine.moments.FtF, other.moments.FtF)
    again.remove(X[:10], Y[:10])
    assert again.n_rows_ == len(X) - 10


def test_a_pickle_of_many_rows_holds_their_sums():
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((3000, 3))
    fitted = og.OneStepRegressor(20, random_state=0).fit(inputs, inputs[:, 0])
    assert fitted.fitted_.members[0].few is None
    stored = pickle.dumps(fitted)
    np.testing.assert_array_equal(pickle.loads(stored).predict(inputs), fitted.predict(inputs))


def test_a_frozen_model_predicts_and_does_not_learn(model, tmp_path):
    path = tmp_path / "frozen.model"
    model.save(path, rows="frozen")
    assert path.stat().st_size < 1e5
    frozen = load(path)
    assert frozen.n_rows_ == len(X)
    assert "importance of inputs" in str(frozen.report())
    for attempt in (
        lambda: frozen.remove(X[:1], Y[:1]),
        lambda: frozen.partial_fit(X[:1], Y[:1]),
        lambda: frozen.predict(X, return_std=True),
    ):
        with pytest.raises(InvalidInput, match="frozen"):
            attempt()
    with pytest.raises(InvalidInput, match="rows"):
        model.save(path, rows="none")
