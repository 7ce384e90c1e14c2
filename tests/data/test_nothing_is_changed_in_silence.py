"""Codes, periods, gaps and likely mistakes: read as what they are, or said."""

import warnings

import numpy as np
import pandas as pd
import pytest

import onegrad as og
from onegrad.data import source
from onegrad.exceptions import AssumptionWarning

RNG = np.random.default_rng(0)
X = RNG.standard_normal(400)
IDS = np.where(RNG.random(400) < 0.5, 2**53, 2**53 + 1)  # equal as float64
OF_ID = np.where(IDS == 2**53, 0.0, 10.0)


def model(**settings):
    return og.AlternatingRegressor(60, members=1, rounds=3, random_state=0, **settings)


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


def test_whole_numbers_stay_whole_as_codes():
    numbers = pd.DataFrame({"id": IDS, "x": X})
    texts = pd.DataFrame({"id": IDS.astype(str), "x": X})
    categories = pd.DataFrame({"id": pd.Categorical(IDS), "x": X})
    assert rmse(model(categorical_features=["id"]).fit(numbers, OF_ID).predict(numbers), OF_ID) < 1
    of_text = model().fit(texts, OF_ID)
    for frame in (texts, numbers, categories):
        assert rmse(of_text.predict(frame), OF_ID) < 1


def test_periods_are_instants():
    day = RNG.integers(0, 1000, 400)
    instants = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(day, unit="D"))
    frames = {
        frequency: pd.DataFrame({"t": instants.dt.to_period(frequency), "x": X})
        for frequency in ("D", "h")
    }
    fitted = model().fit(frames["D"], day / 100)
    expected = fitted.predict(pd.DataFrame({"t": instants, "x": X}))
    assert rmse(expected, day / 100) < 0.1
    for frame in frames.values():
        np.testing.assert_array_equal(fitted.predict(frame), expected)


def test_gaps_that_the_fit_had_not_are_counted_and_said():
    b = RNG.integers(0, 2, 400)
    fitted = model().fit(pd.DataFrame({"b": b, "x": X}), 5.0 * b + X)
    new = pd.DataFrame({"b": [np.nan, np.inf, -np.inf], "x": [0.0, 0, 0]})
    with pytest.warns(AssumptionWarning, match="column 'b': 3 rows hold gaps or infinities"):
        fitted.predict(new)


def test_gaps_that_the_fit_had_are_no_surprise_and_infinities_are():
    x = np.where(X > 1, np.nan, X)
    fitted = model().fit(pd.DataFrame({"x": x}), X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(pd.DataFrame({"x": [np.nan, 0.5]}))
    with pytest.warns(AssumptionWarning, match="1 rows hold gaps or infinities"):
        fitted.predict(pd.DataFrame({"x": [np.nan, np.inf]}))
    with pytest.warns(AssumptionWarning, match="1 infinite values, which count as missing"):
        model().fit(pd.DataFrame({"x": [*X[:-1], np.inf]}), X)


def test_words_for_missing_values_are_missing_in_every_container(tmp_path):
    word = RNG.choice(["NA", "b", "N/A"], 300)
    y = np.where(word == "b", 10.0, 0.0)
    frame = pd.DataFrame({"v": word, "x": X[:300]})
    frame.assign(y=y).to_csv(tmp_path / "v.csv", index=False)
    fitted = model().fit(frame, y)
    assert fitted.input_names_ == ["v=None", "v=b", "x"]
    of_csv = fitted.predict(source(tmp_path / "v.csv", target="y"))
    np.testing.assert_array_equal(of_csv, fitted.predict(frame))
    assert rmse(of_csv, y) < 1


def test_inputs_that_vary_little_around_a_large_mean_are_used():
    inputs = np.column_stack([1e6 + 1e-5 * X, RNG.standard_normal(400)])
    assert rmse(model().fit(inputs, 2 * X).predict(inputs), 2 * X) < 0.1
    with pytest.warns(AssumptionWarning, match="'x0' holds values that differ by .* few digits"):
        model().fit(np.column_stack([1e6 + 1e-7 * X, X]), 2 * X)


@pytest.mark.parametrize("form", ["{:.3f}", "{:.1f}%", "{:,.0f}"])
def test_numbers_written_for_people_are_said(form):
    written = [form.format(1e5 * v).replace(".", ",") for v in X]
    if "," in form:
        written = [form.format(1e5 * v) for v in X]
    with pytest.warns(AssumptionWarning, match="'a' holds text such as"):
        model().fit(pd.DataFrame({"a": written, "x": X}), X)


@pytest.mark.parametrize(("mark", "rows"), [(1e200, 1), (-999.0, 12)])
def test_a_value_far_from_all_others_is_said(mark, rows):
    inputs = np.column_stack([X, RNG.standard_normal(400)])
    inputs[:rows, 0] = mark
    with pytest.warns(AssumptionWarning, match=f"in {rows} rows, far from all other values"):
        model().fit(inputs, X)


def test_ordinary_columns_are_not_suspected():
    inputs = np.column_stack([X, np.exp(X), X > 1, RNG.standard_cauchy(400), RNG.poisson(1, 400)])
    codes = pd.DataFrame(inputs).assign(code=RNG.choice(["1,2", "1,3", "2,3"], 400))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model().fit(inputs, X)
        model().fit(codes, X)
