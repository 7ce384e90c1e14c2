"""pandas, polars, pyarrow, CSV and Parquet: the same table, the same coefficients."""

import numpy as np
import pandas as pd
import pytest

import onegrad as og
from frames import CONTAINERS, people
from onegrad.data import source
from onegrad.data.encoding import Encoding
from onegrad.data.table import as_table
from onegrad.exceptions import AssumptionWarning, InvalidInput

FRAME, Y = people()


def model(**settings):
    return og.OneStepRegressor(20, eta=1.0, random_state=0, **settings)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The fit from a Parquet file."""
    path = tmp_path_factory.mktemp("table") / "t.parquet"
    FRAME.assign(y=Y).to_parquet(path)
    return model().fit(source(path, target="y"))


@pytest.mark.parametrize("container", CONTAINERS)
def test_fit_predict_and_further_rows(container, reference):
    X = CONTAINERS[container](FRAME)
    got = model().fit(X, Y)
    np.testing.assert_array_equal(got.readout_, reference.readout_)
    assert got.input_names_ == reference.input_names_
    assert list(got.feature_names_in_) == list(FRAME.columns)
    np.testing.assert_array_equal(got.predict(X), reference.predict(X))
    half = CONTAINERS[container](FRAME[:100])
    got.remove(half, Y[:100])
    got.partial_fit(half, Y[:100])
    np.testing.assert_array_equal(got.readout_, reference.readout_)


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_frame_is_a_source_with_its_target_inside(container, reference):
    whole = CONTAINERS[container](FRAME.assign(y=Y))
    got = model().fit(source(whole, target="y"))
    np.testing.assert_array_equal(got.readout_, reference.readout_)
    np.testing.assert_array_equal(got.predict(whole), reference.predict(FRAME))


def test_a_csv_file_with_and_without_its_learned_kinds(tmp_path, reference):
    FRAME.assign(y=Y).to_csv(tmp_path / "t.csv", index=False)
    got = model().fit(source(tmp_path / "t.csv", target="y"))
    np.testing.assert_array_equal(got.readout_, reference.readout_)
    np.testing.assert_array_equal(reference.predict(tmp_path / "t.csv"), got.predict(FRAME))


def test_numbers_alone_are_as_in_a_matrix():
    X = np.random.default_rng(0).standard_normal((60, 3))
    frame = pd.DataFrame(X, columns=["z", "x10", "x2"])
    got = model().fit(frame, X[:, 0])
    np.testing.assert_array_equal(got.readout_, model().fit(X, X[:, 0]).readout_)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(got.predict(X), got.predict(frame))


def test_mixed_values_are_text_and_an_index_is_no_input():
    frame = pd.DataFrame({"code": [1, 2, "A", None] * 10}, index=range(100, 140))
    got = model().fit(frame, np.arange(40.0))
    assert got.input_names_ == ["code=1", "code=2", "code=A", "code=None"]
    numbered = FRAME.set_axis(range(FRAME.shape[1]), axis=1)
    assert list(model().fit(numbered, Y).feature_names_in_) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("chosen", [["code"], [1], [False, True]])
def test_categorical_features_by_name_number_and_mask(chosen):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.standard_normal(60), "code": rng.integers(1, 4, 60)})
    y = (frame["code"] == 2) + 0.0
    got = model(categorical_features=chosen).fit(frame, y)
    assert got.input_names_ == ["x", "code=1", "code=2", "code=3"]
    again = got.predict(frame.assign(code=frame["code"].astype(float)))
    np.testing.assert_array_equal(again, got.predict(frame))
    if chosen != ["code"]:  # a matrix has no names
        matrix = model(categorical_features=chosen).fit(frame.to_numpy(), y)
        np.testing.assert_array_equal(matrix.readout_, got.readout_)
        np.testing.assert_array_equal(matrix.predict(frame.to_numpy()), got.predict(frame))
        assert not hasattr(matrix, "feature_names_in_")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(size="big"), "'size': cannot be read as numbers.*big"),
        (
            lambda f: f.assign(day=1.0),
            "'day': held dates when the model was fitted, holds numbers now",
        ),
        (lambda f: f.assign(paid=3), "'paid': cannot be read as truth values: 3 is neither"),
        (lambda f: f.assign(size=[[1]] * len(f)), "'size': holds list"),
        (lambda f: f.assign(size=1j), "'size': holds complex numbers"),
        (lambda f: f.drop(columns="size"), "feature names"),
        (lambda f: pd.concat([f, f], axis=1), "occurs twice"),
    ],
)
def test_what_cannot_be_read_as_learned_is_an_error(change, message):
    got = model().fit(FRAME, Y)
    with pytest.raises(ValueError, match=message):
        got.predict(change(FRAME.copy()))


def test_what_cannot_be_learned_from_is_an_error():
    for settings, X, message in [
        ({"categorical_features": ["none"]}, FRAME, "categorical_features 'none': no such column"),
        ({"categorical_features": [True]}, FRAME, "the mask has 1 entries for 5 columns"),
        ({}, pd.concat([FRAME, FRAME], axis=1), "occurs twice"),
        ({}, FRAME[:0], "shape"),
        ({}, {"a": [[1], [2]]}, "'a': holds list"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            model(**settings).fit(X, Y[: len(X)] if len(X) != 1 else Y[:2])
    with pytest.raises(ValueError, match="inconsistent"):
        model().fit(FRAME, Y[:-1])


def test_unknown_categories_are_counted_and_said():
    got = model().fit(FRAME, Y)
    new = FRAME[:20].assign(kind=["x", "y"] * 10, grade="top")
    with pytest.warns(AssumptionWarning) as said:
        got.predict(new)
    lines = [str(one.message) for one in said]
    assert any(
        "'kind': 20 rows hold 2 values that the model does not know ('x', 'y')" in x for x in lines
    )
    assert any("'grade': 20 rows hold 1 values" in x for x in lines)
    with pytest.warns(AssumptionWarning, match="does not know"):
        got.partial_fit(new, Y[:20])


@pytest.mark.parametrize(
    ("values", "inputs"),
    [
        (pd.array([1, None, 3], dtype="Int64"), ["c", "c missing"]),
        (pd.array(["a", None, "b"], dtype="string"), ["c=None", "c=a", "c=b"]),
        ([True, None, False], ["c", "c missing"]),
        (pd.to_timedelta([1, 2, 3], unit="h"), ["c"]),
        ([2**70, 2**71, 5], ["c"]),
        (pd.arrays.SparseArray([0.0, 1.0, 0.0]), ["c"]),
        (pd.Categorical([True, False, True]), ["c=false", "c=true"]),
        (pd.Categorical([1.0, 2.5, 1.0]), ["c=1", "c=2.5"]),
        ([b"a", b"b", b"a"], ["c=a", "c=b"]),
        ([None, None, None], ["c", "c missing"]),
    ],
)
def test_values_of_every_type_that_pandas_has(values, inputs):
    frame = pd.DataFrame({"c": values})
    assert Encoding.learn(as_table(frame)).inputs == tuple(inputs)


@pytest.mark.parametrize("values", [[b"\xff", b"a"], [object(), 1], [{"a": 1}, {"a": 2}]])
def test_values_of_no_kind_are_named(values):
    with pytest.raises(InvalidInput, match="column 'c'"):
        Encoding.learn(as_table(pd.DataFrame({"c": values})))


def test_a_lazy_frame_of_polars_is_collected():
    frame = pytest.importorskip("polars").LazyFrame({"x": np.arange(40.0)})
    got = model().fit(frame, np.arange(40.0))
    assert got.feature_names_in_.tolist() == ["x"]
