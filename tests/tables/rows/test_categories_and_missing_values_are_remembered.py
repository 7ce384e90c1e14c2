"""Text becomes indicators, missing numbers the median and a flag; unseen values are harmless."""

import datetime

import numpy as np
import pyarrow as pa

from onegrad.io.json_values import json_values
from onegrad.tables.rows.encoding import MAX_INDICATORS, Encoding
from onegrad.tables.rows.sample import row_keys

TABLE = pa.table(
    {
        "size": [1.0, None, 3.0, 100.0],
        "colour": ["red", "blue", None, "red"],
        "flag": [True, False, True, True],
        "day": [datetime.date(2020, 1, 1 + i) for i in range(4)],
        "kind": pa.array(["u", "v", "u", "u"]).dictionary_encode(),
    }
)


def test_values():
    encoding = Encoding.learn(TABLE)
    assert Encoding.from_list(json_values(encoding.columns)) == encoding
    assert encoding.inputs == (
        "size", "size missing", "colour missing", "colour=blue", "colour=red", "flag", "day",
        "kind=u", "kind=v",
    )  # fmt: skip
    X = encoding(TABLE)
    np.testing.assert_array_equal(X[:, 0], [1, 3, 3, 100])  # the median of 1, 3, 100
    np.testing.assert_array_equal(X[:, 1], [0, 1, 0, 0])
    np.testing.assert_array_equal(X[:, 2:5], [[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(X[:, 5], [1, 0, 1, 1])
    assert len(set(np.diff(X[:, 6]))) == 1  # days are equally far apart


def test_new_rows_in_any_column_order_with_values_never_seen():
    encoding = Encoding.learn(TABLE.drop_columns(["day", "flag", "kind"]))
    new = pa.table({"extra": [1], "colour": ["green"], "size": pa.array([None], pa.float32())})
    np.testing.assert_array_equal(encoding(new), [[3, 1, 0, 0, 0]])


def test_only_frequent_values_get_an_indicator():
    values = [f"v{i:03d}" for i in range(200)] + ["v150"] * 5
    encoding = Encoding.learn(pa.table({"c": values}))
    assert len(encoding.inputs) == MAX_INDICATORS
    assert "c=v150" in encoding.inputs


def test_the_text_none_and_a_missing_value_are_two_categories():
    """Ames housing has both in one column. A model without that category reads it as missing."""
    both = pa.table({"c": ["None", "b", None, "None"]})
    encoding = Encoding.learn(both)
    assert encoding.inputs == ("c missing", "c=None", "c=b")
    np.testing.assert_array_equal(encoding(both), np.eye(3)[[1, 2, 0, 1]])
    assert Encoding.from_list(json_values(encoding.columns)) == encoding
    assert len(set(row_keys(both, None, 0))) == 3  # a sample keeps them apart
    gaps = Encoding.learn(pa.table({"c": ["b", None]}))
    np.testing.assert_array_equal(gaps(both), np.eye(2)[[0, 1, 0, 0]])
