"""pandas, polars, pyarrow, CSV and Parquet: the same table, the same coefficients."""

import numpy as np
import pytest

import onegrad as og
from frames import CONTAINERS, people
from onegrad.exceptions import AssumptionWarning, InvalidInput
from onegrad.tables import source
from onegrad.tables.rows.encoding import Encoding
from onegrad.tables.rows.table import as_table

pytestmark = pytest.mark.compat


@pytest.fixture(scope="module")
def table():
    return people()


def model(**settings):
    return og.OneStepRegressor(20, eta=1.0, random_state=0, **settings)


@pytest.fixture(scope="module")
def reference(table, tmp_path_factory):
    """The fit from a Parquet file."""
    path = tmp_path_factory.mktemp("table") / "t.parquet"
    table[0].assign(y=table[1]).to_parquet(path)
    return model().fit(source(path, target="y"))


def inputs_of(pd, values):
    return list(Encoding.learn(as_table(pd.DataFrame({"c": values}))).inputs)


def test_every_container_gives_the_same_fit(table, reference, tmp_path):
    frame, y = table
    for container, convert in CONTAINERS.items():
        X, whole = convert(frame), convert(frame.assign(y=y))
        fitted = model().fit(X, y)
        assert fitted.input_names_ == reference.input_names_, container
        assert list(fitted.feature_names_in_) == list(frame.columns)
        np.testing.assert_array_equal(fitted.predict(X), reference.predict(X), container)
        inside = model().fit(source(whole, target="y"))
        for got in (fitted, inside):
            np.testing.assert_array_equal(got.readout_, reference.readout_, container)
        np.testing.assert_array_equal(inside.predict(whole), reference.predict(frame))
    frame.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    of_csv = model().fit(source(tmp_path / "t.csv", target="y"))
    np.testing.assert_array_equal(of_csv.readout_, reference.readout_)
    np.testing.assert_array_equal(reference.predict(tmp_path / "t.csv"), of_csv.predict(frame))
    lazy = pytest.importorskip("polars").LazyFrame({"x": np.arange(40.0)})
    assert model().fit(lazy, np.arange(40.0)).feature_names_in_.tolist() == ["x"]


def test_numbers_alone_are_as_in_a_matrix(pd):
    X = np.random.default_rng(0).standard_normal((60, 3))
    frame = pd.DataFrame(X, columns=["z", "x10", "x2"])
    got = model().fit(frame, X[:, 0])
    np.testing.assert_array_equal(got.readout_, model().fit(X, X[:, 0]).readout_)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(got.predict(X), got.predict(frame))


def test_mixed_values_are_text_and_an_index_is_no_input(pd, table):
    mixed = pd.DataFrame({"code": [1, 2, "A", None] * 10}, index=range(100, 140))
    got = model().fit(mixed, np.arange(40.0))
    assert got.input_names_ == ["code=1", "code=2", "code=A", "code missing"]
    numbered = table[0].set_axis(range(5), axis=1)
    assert list(model().fit(numbered, table[1]).feature_names_in_) == ["0", "1", "2", "3", "4"]


def test_categorical_features_by_name_number_and_mask(pd):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.standard_normal(60), "code": rng.integers(1, 4, 60)})
    y = (frame["code"] == 2) + 0.0
    for chosen in (["code"], [1], [False, True]):
        got = model(categorical_features=chosen).fit(frame, y)
        assert got.input_names_ == ["x", "code=1", "code=2", "code=3"], chosen
        again = got.predict(frame.assign(code=frame["code"].astype(float)))
        np.testing.assert_array_equal(again, got.predict(frame))
        if chosen != ["code"]:  # a matrix has no names
            matrix = model(categorical_features=chosen).fit(frame.to_numpy(), y)
            np.testing.assert_array_equal(matrix.readout_, got.readout_)
            np.testing.assert_array_equal(matrix.predict(frame.to_numpy()), got.predict(frame))
            assert not hasattr(matrix, "feature_names_in_")


def test_what_cannot_be_read_or_learned_is_an_error(pd, table, reference):
    frame, y = table
    doubled = pd.concat([frame, frame], axis=1)
    for X, message in (
        (frame.assign(size="big"), "'size': cannot be read as numbers.*big"),
        (frame.assign(day=1.0), "'day': held dates when the model was fitted, holds numbers now"),
        (frame.assign(paid=3), "'paid': cannot be read as truth values: 3 is neither"),
        (frame.assign(size=[[1]] * len(frame)), "'size': holds list"),
        (frame.assign(size=1j), "'size': holds complex numbers"),
        (frame.drop(columns="size"), "feature names|'size': missing"),
        (doubled, "occurs twice"),
    ):
        with pytest.raises(ValueError, match=message):
            reference.predict(X)
    for settings, X, message in (
        ({"categorical_features": ["none"]}, frame, "categorical_features 'none': no such column"),
        ({"categorical_features": [True]}, frame, "the mask has 1 entries for 5 columns"),
        ({}, doubled, "occurs twice"),
        ({}, frame[:0], "shape"),
        ({}, {"a": [[1], [2]]}, "'a': holds list"),
    ):
        with pytest.raises(InvalidInput, match=message):
            model(**settings).fit(X, y[: len(X)] if len(X) != 1 else y[:2])
    with pytest.raises(ValueError, match="inconsistent"):
        model().fit(frame, y[:-1])


def test_unknown_categories_are_counted_and_said(table):
    frame, y = table
    got = model().fit(frame, y)
    new = frame[:20].assign(kind=["x", "y"] * 10, grade="top")
    with pytest.warns(AssumptionWarning) as warned:
        got.predict(new)
    text = "\n".join(str(one.message) for one in warned)
    assert "'kind': 20 rows hold 2 values that the model does not know ('x', 'y')" in text
    assert "'grade': 20 rows hold 1 values" in text
    with pytest.warns(AssumptionWarning, match="does not know"):
        got.partial_fit(new, y[:20])


def test_values_of_every_type_that_pandas_has(pd):
    for values, inputs in (
        (pd.array([1, None, 3], dtype="Int64"), ["c", "c missing"]),
        (pd.array(["a", None, "b"], dtype="string"), ["c missing", "c=a", "c=b"]),
        ([True, None, False], ["c", "c missing"]),
        (pd.to_timedelta([1, 2, 3], unit="h"), ["c"]),
        ([2**70, 2**71, 5], ["c"]),
        (pd.arrays.SparseArray([0.0, 1.0, 0.0]), ["c"]),
        (pd.Categorical([True, False, True]), ["c=false", "c=true"]),
        (pd.Categorical([1.0, 2.5, 1.0]), ["c=1", "c=2.5"]),
        ([b"a", b"b", b"a"], ["c=a", "c=b"]),
        ([None, None, None], ["c", "c missing"]),
    ):
        assert inputs_of(pd, values) == inputs
    for values in ([b"\xff", b"a"], [object(), 1], [{"a": 1}, {"a": 2}]):  # of no kind
        with pytest.raises(InvalidInput, match="column 'c'"):
            inputs_of(pd, values)
