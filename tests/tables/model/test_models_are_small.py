"""A file and a pickle hold the rows or their sums, what is less; a frozen file what predicts."""

import pickle

import numpy as np
import pytest

import onegrad as og
from onegrad.exceptions import InvalidInput
from onegrad.tables import load

pytestmark = pytest.mark.filterwarnings("ignore:the model was learned from")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((250, 5))
Y = 100 * (X[:, 0] + np.abs(X[:, 1])) + 50 * RNG.standard_normal(250)


@pytest.fixture(scope="module")
def model():
    return og.AlternatingRegressor(200, members=2, rounds=2, random_state=0).fit(X, Y)


@pytest.mark.full
def test_a_default_fit_is_small(tmp_path):
    """Three members of 1,800 neurons: a file of 79 MB when sums were in it."""
    from sklearn.datasets import load_diabetes

    model = og.AlternatingRegressor(rounds=2, random_state=0).fit(*load_diabetes(return_X_y=True))
    assert model.fitted_.width > 5000
    model.save(tmp_path / "m")
    assert max(len(pickle.dumps(model)), (tmp_path / "m").stat().st_size) < 1.5e6


def stored(model, path):
    """A model as its file and as its pickle have it, and their sizes."""
    model.save(path)
    pickled = pickle.dumps(model)
    return (load(path), path.stat().st_size), (pickle.loads(pickled), len(pickled))


def test_few_rows_are_stored_in_place_of_their_sums(model, tmp_path):
    for again, size in stored(model, tmp_path / "m"):
        assert size < 2e5 < sum(m.moments.FtF.nbytes for m in model.fitted_.members)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        for mine, other in zip(again.fitted_.members, model.fitted_.members, strict=True):
            np.testing.assert_array_equal(mine.moments.FtF, other.moments.FtF)
        again.partial_fit(2 * X[:5], Y[:5]).remove(X[:10], Y[:10])
        for later, later_size in stored(again, tmp_path / "later"):
            assert later_size < 2e5
            assert later.n_rows_ == len(X) - 5
            np.testing.assert_array_equal(later.predict(X), again.predict(X))


@pytest.mark.parametrize("sample_rows", [100, 2000])
def test_of_many_rows_or_more_than_the_sample_the_sums_are_stored(sample_rows, tmp_path):
    """Rows beyond the sample were lost in pickles of wide networks."""
    inputs = np.random.default_rng(0).standard_normal((1000, 3))
    width = 200 if sample_rows == 100 else 20
    settings = {"sample_rows": sample_rows, "random_state": 0}
    fitted = og.OneStepRegressor(width, **settings).fit(inputs, inputs[:, 0])
    for again, _ in stored(fitted, tmp_path / "m"):
        assert again.fitted_.tally.z is None
        again.remove(inputs[:10], inputs[:10, 0])
        expected = fitted.blank().partial_fit(inputs[10:], inputs[10:, 0])
        np.testing.assert_array_equal(again.readout_, expected.readout_)


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
