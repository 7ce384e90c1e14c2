"""Codes, periods, gaps and likely mistakes: read as what they are, or said."""

import warnings

import numpy as np
import pytest

import onegrad as og
from onegrad.exceptions import AssumptionWarning
from onegrad.tables import source

RNG = np.random.default_rng(0)
X = RNG.standard_normal(400)


def model(**settings):
    return og.AlternatingRegressor(30, members=1, rounds=2, random_state=0, **settings)


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


def test_whole_numbers_stay_whole_as_codes(pd):
    ids = np.where(RNG.random(400) < 0.5, 2**53, 2**53 + 1)  # equal as float64
    y = np.where(ids == 2**53, 0.0, 10.0)
    numbers = pd.DataFrame({"id": ids, "x": X})
    texts = pd.DataFrame({"id": ids.astype(str), "x": X})
    categories = pd.DataFrame({"id": pd.Categorical(ids), "x": X})
    assert rmse(model(categorical_features=["id"]).fit(numbers, y).predict(numbers), y) < 1
    of_text = model().fit(texts, y)
    for frame in (texts, numbers, categories):
        assert rmse(of_text.predict(frame), y) < 1


def test_periods_are_instants(pd):
    day = RNG.integers(0, 1000, 400)
    instants = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(day, unit="D"))
    frames = [pd.DataFrame({"t": instants.dt.to_period(unit), "x": X}) for unit in ("D", "h")]
    fitted = model().fit(frames[0], day / 100)
    expected = fitted.predict(pd.DataFrame({"t": instants, "x": X}))
    assert rmse(expected, day / 100) < 0.1
    for frame in frames:
        np.testing.assert_array_equal(fitted.predict(frame), expected)


def test_gaps_are_counted_and_said_where_the_fit_had_none(pd):
    b = RNG.integers(0, 2, 400)
    fitted = model().fit(pd.DataFrame({"b": b, "x": X}), 5.0 * b + X)
    with pytest.warns(AssumptionWarning, match="column 'b': 3 rows hold gaps or infinities"):
        fitted.predict(pd.DataFrame({"b": [np.nan, np.inf, -np.inf], "x": [0.0, 0, 0]}))
    fitted = model().fit(pd.DataFrame({"x": np.where(X > 1, np.nan, X)}), X)
    fitted.predict(pd.DataFrame({"x": [np.nan, 0.5]}))  # no warning, which would be an error
    with pytest.warns(AssumptionWarning, match="1 rows hold gaps or infinities"):
        fitted.predict(pd.DataFrame({"x": [np.nan, np.inf]}))
    with pytest.warns(AssumptionWarning, match="1 infinite values, which count as missing"):
        model().fit(pd.DataFrame({"x": [*X[:-1], np.inf]}), X)


def test_words_for_missing_values_are_missing_in_every_container(pd, tmp_path):
    word = RNG.choice(["NA", "b", "N/A"], 300)
    y = np.where(word == "b", 10.0, 0.0)
    frame = pd.DataFrame({"v": word, "x": X[:300]})
    frame.assign(y=y).to_csv(tmp_path / "v.csv", index=False)
    fitted = model().fit(frame, y)
    assert fitted.input_names_ == ["v missing", "v=b", "x"]
    of_csv = fitted.predict(source(tmp_path / "v.csv", target="y"))
    np.testing.assert_array_equal(of_csv, fitted.predict(frame))
    assert rmse(of_csv, y) < 1


def test_inputs_that_vary_little_around_a_large_mean_are_used():
    inputs = np.column_stack([1e6 + 1e-5 * X, RNG.standard_normal(400)])
    assert rmse(model().fit(inputs, 2 * X).predict(inputs), 2 * X) < 0.1
    with pytest.warns(AssumptionWarning, match="'x0' holds values that differ by .* few digits"):
        model().fit(np.column_stack([1e6 + 1e-7 * X, X]), 2 * X)


def test_likely_mistakes_are_said(pd):
    for written in (
        [f"{1e5 * v:.3f}".replace(".", ",") for v in X],
        [f"{1e5 * v:.1f}%".replace(".", ",") for v in X],
        [f"{1e5 * v:,.0f}" for v in X],
        [f"{1e5 * abs(v):_.2f}".replace(".", ",").replace("_", ".") for v in X],
        [f"${abs(v):.4f}" for v in X],
    ):
        with pytest.warns(AssumptionWarning, match="'a' holds text such as"):
            model().fit(pd.DataFrame({"a": written, "x": X}), X)
    for mark, rows in ((1e200, 1), (-999.0, 12)):
        inputs = np.column_stack([X, RNG.standard_normal(400)])
        inputs[:rows, 0] = mark
        with pytest.warns(AssumptionWarning, match=f"in {rows} rows, far from all other values"):
            model().fit(inputs, X)


def test_ordinary_columns_are_not_suspected(pd):
    inputs = np.column_stack([X, np.exp(X), X > 1, RNG.standard_cauchy(400), RNG.poisson(1, 400)])
    codes = pd.DataFrame(inputs).assign(code=RNG.choice(["1,2", "1,3", "2,3"], 400))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model().fit(inputs, X)
        model().fit(codes, X)
