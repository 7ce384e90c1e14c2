"""Codes stay codes and numbers numbers in later files; what differs is one line."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import onegrad as og
from onegrad.exceptions import AssumptionWarning, InvalidInput
from onegrad.tables import source

RNG = np.random.default_rng(0)
CODES = np.array(["1", "2", "3", "A"])[RNG.integers(0, 4, 200)]
Y = np.array([{"1": 0.0, "2": 5.0, "3": -5.0, "A": 9.0}[c] for c in CODES])


def model():
    return og.OneStepRegressor(10, eta=1.0, random_state=0)


def test_codes_that_look_like_numbers_stay_codes(pd, tmp_path):
    """{1, 2, 3, A} when fitted, {1, 2, 3} in a later file or frame: the same predictions."""
    y = Y + 0.01 * RNG.standard_normal(200)  # no two rows are the same
    pd.DataFrame({"code": CODES, "y": y}).to_csv(tmp_path / "train.csv", index=False)
    fitted = model().fit(source(tmp_path / "train.csv", target="y"))
    expected = fitted.predict({"code": ["1", "2", "3"]})
    assert expected == pytest.approx([0, 5, -5], abs=0.3)
    (tmp_path / "new.csv").write_text("code\n1\n2\n3\n", "utf-8")
    numbers = pd.DataFrame({"code": [1, 2, 3]})
    numbers.to_parquet(tmp_path / "new.parquet")
    categories = pd.DataFrame({"code": pd.Categorical([1, 2, 3])})
    for X in (
        tmp_path / "new.csv", tmp_path / "new.parquet", numbers, numbers.astype(float), categories,
    ):  # fmt: skip
        np.testing.assert_array_equal(fitted.predict(X), expected)


def test_codes_written_as_1_0_are_found_from_numbers():
    texts = np.char.replace(np.char.add(CODES, ".0"), "A.0", "A")
    fitted = model().fit({"code": texts}, Y)
    expected = fitted.predict({"code": ["1.0", "2.0"]})
    np.testing.assert_array_equal(fitted.predict({"code": [1, 2]}), expected)
    with pytest.warns(AssumptionWarning, match="does not know"):
        fitted.predict({"code": ["1", "2"]})  # as text they are other values


def test_numbers_stay_numbers(tmp_path):
    x = RNG.standard_normal(80).round(3)
    fitted = model().fit({"x": x}, x)
    of_text = fitted.predict({"x": [str(v) for v in x]})
    np.testing.assert_array_equal(of_text, fitted.predict({"x": x}))
    (tmp_path / "new.csv").write_text("x\n1.5\nmany\n", "utf-8")
    with pytest.raises(InvalidInput, match=r"new.csv.*many"):
        fitted.predict(tmp_path / "new.csv")


def test_csv_files_agree_on_what_a_column_holds(pd, tmp_path):
    """One file has 1, 2, 3 alone: its codes are text all the same, in any order of the files."""
    for name, rows in (("a", CODES != "A"), ("b", CODES == "A")):
        frame = pd.DataFrame({"code": CODES[rows], "y": Y[rows]})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    several = model().fit(source(tmp_path, target="y"))
    assert several.input_names_ == ["code=1", "code=2", "code=3", "code=A"]
    np.testing.assert_array_equal(several.readout_, model().fit({"code": CODES}, Y).readout_)


def test_row_labels_are_no_input(pd, tmp_path):
    """pandas writes its index to both kinds of file; of CSV a warning says so."""
    x = RNG.standard_normal(60)
    for name in (None, "id"):
        index = pd.Index(RNG.permutation(60), name=name)
        path = tmp_path / "t.parquet"
        pd.DataFrame({"x": x, "y": index * 1.0}, index=index).to_parquet(path)
        assert model().fit(source(path, target="y")).input_names_ == ["x"]
        asked = source(path, target="y", columns=["x", name or "__index_level_0__"])
        assert len(model().fit(asked).input_names_) == 2  # where it is asked for it is there
    frame = pd.DataFrame({"x": x, "y": np.arange(60.0)})
    frame.to_csv(path := tmp_path / "t.csv")
    frame.to_csv(plain := tmp_path / "plain.csv", index=False)
    with pytest.warns(AssumptionWarning, match=r"t\.csv: its first column has no name"):
        fitted = model().fit(source(path, target="y"))
    assert fitted.input_names_ == ["x"]
    np.testing.assert_array_equal(fitted.predict(path), fitted.predict(plain))
    np.testing.assert_array_equal(fitted.readout_, model().fit(source(plain, target="y")).readout_)
    asked = model().fit(source(path, target="y", columns=["x", ""]))
    assert asked.input_names_ == ["x", ""]
    assert asked.predict(path).std() > 10 * fitted.predict(path).std()


def test_one_entry_that_is_not_a_number_is_a_warning(pd, tmp_path):
    """The column is then text with as many values as rows, which nobody meant."""
    numbers = [f"{x:.6f}" for x in RNG.standard_normal(199)]
    for mark, warned in (("?", True), ("1.5.", True), ("1_000", True), ("", False), ("7", False)):
        pd.DataFrame({"x": [*numbers, mark], "y": Y}).to_csv(tmp_path / "t.csv", index=False)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model().fit(source(tmp_path / "t.csv", target="y"))
        expected = f"column 'x' holds numbers and '{mark}': it is read as text with 200 values"
        assert [expected in str(w.message) for w in caught] == [True] * warned, mark


def test_files_of_different_schemas_are_named(tmp_path):
    first = pa.table({"x": [1.0, 2.0], "z": [0.5, 1.0], "y": [1.0, 2.0]})
    pq.write_table(first, tmp_path / "a.parquet")
    for second, message in (
        ({"x": ["a"], "z": [1.0], "y": [1.0]}, "'x': holds numbers in .*a.pa.* and text in .*b.pa"),
        ({"x": [1.0], "y": [1.0]}, "'z': is only in one of .*a.parquet and .*b.parquet"),
        ({"x": [1.0], "z": [1.0], "q": [1.0], "y": [1.0]}, "'q': is only in one of"),
        ({"x": [1.0], "z": [1.0]}, "target must be one of x, z; got 'y'"),
    ):
        pq.write_table(pa.table(second), tmp_path / "b.parquet")
        with pytest.raises(InvalidInput, match=message):
            model().fit(source(tmp_path, target="y"))


def test_files_may_differ_in_order_and_width(tmp_path):
    X = RNG.standard_normal((40, 2)).astype(np.float32)
    y = X[:, 0].astype(np.float64)
    first = pa.table({"u": X[:20, 0], "v": X[:20, 1], "y": y[:20]})
    second = pa.table({"y": y[20:], "v": X[20:, 1].astype(float), "u": X[20:, 0]})
    pq.write_table(first, tmp_path / "a.parquet")
    pq.write_table(second, tmp_path / "b.parquet")
    got = model().fit(source(tmp_path, target="y"))
    np.testing.assert_array_equal(got.readout_, model().fit(X.astype(float), y).readout_)
