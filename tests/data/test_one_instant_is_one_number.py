"""Dates keep their instant whatever unit, zone or container they come in."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onegrad as og
from onegrad.data import source
from onegrad.data.encoding import Encoding
from onegrad.data.kinds import ColumnType, convert
from onegrad.data.table import column_values
from onegrad.exceptions import InvalidInput

DAYS = np.datetime64("2019-11-03") + np.arange(90) * 3
Y = np.sin(np.arange(90) / 9).round(6)


def seconds(column, kind="instant"):
    column = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    return column_values(convert(column, "t", ColumnType(kind)))


@given(st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2250, 1, 1)))
def test_every_unit_gives_the_same_number(instant):
    micro = pa.array([instant], pa.timestamp("us"))
    expected = (instant - datetime.datetime(1970, 1, 1)) / datetime.timedelta(seconds=1)
    assert seconds(micro)[0] == pytest.approx(expected, abs=1e-6)
    others = [
        micro.cast(pa.timestamp("ns")),
        pa.array([instant.replace(tzinfo=datetime.UTC)], pa.timestamp("us", "Asia/Tokyo")),
        pa.array([instant.isoformat()]),
        pa.array([instant.isoformat(" ")]),
        pa.array([instant.isoformat() + "Z"]),
        pa.array([instant.isoformat()]).dictionary_encode(),
    ]
    whole = instant.replace(microsecond=0)
    assert [seconds(column)[0] for column in others] == [seconds(micro)[0]] * len(others)
    exact = seconds(pa.array([whole], pa.timestamp("s")))[0]
    assert seconds(pa.array([whole], pa.timestamp("ms")))[0] == exact
    assert seconds(pa.array([whole], pa.timestamp("ns")))[0] == exact


def test_dates_are_the_instant_of_their_midnight():
    day = datetime.date(2020, 2, 29)
    expected = (day - datetime.date(1970, 1, 1)).days * 86400
    for column in (
        pa.array([day], pa.date32()),
        pa.array([day], pa.date64()),
        pa.array([str(day)]),
    ):
        assert seconds(column)[0] == expected


def test_times_of_day_and_durations_are_seconds():
    time = datetime.time(1, 2, 3)
    for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        assert seconds(pa.array([time], kind), "span")[0] == 3723
    assert seconds(pa.array(["01:02:03"]), "span")[0] == 3723
    assert seconds(pa.array([3723000], pa.duration("ms")), "span")[0] == 3723


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    path = tmp_path_factory.mktemp("dates") / "d.csv"
    pd.DataFrame({"day": DAYS, "y": Y}).to_csv(path, index=False)
    return og.OneStepRegressor(30, random_state=0).fit(source(path, target="y"))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_model_of_dates_in_a_csv_file_knows_them_anywhere(fitted, unit, tmp_path):
    expected = fitted.predict({"day": pa.array(DAYS.astype("datetime64[D]"), pa.date32())})
    assert np.ptp(expected) > 0.5
    stamps = pd.Series(DAYS.astype(f"datetime64[{unit}]"))
    frames = [pd.DataFrame({"day": stamps}), pd.DataFrame({"day": stamps.dt.tz_localize("UTC")})]
    table = pa.table({"day": pa.array(DAYS.astype("datetime64[s]")).cast(pa.timestamp(unit))})
    import pyarrow.parquet as pq

    pq.write_table(table, tmp_path / "d.parquet")
    (tmp_path / "noon.csv").write_text("day\n" + "".join(f"{day} 00:00:00.000\n" for day in DAYS))
    (tmp_path / "zone.csv").write_text("day\n" + "".join(f"{day}T02:00:00+02:00\n" for day in DAYS))
    inputs = [*frames, table, tmp_path / "d.parquet", tmp_path / "noon.csv", tmp_path / "zone.csv"]
    for X in inputs:
        np.testing.assert_array_equal(fitted.predict(X), expected)


def test_what_is_no_date_is_an_error(fitted, tmp_path):
    (tmp_path / "d.csv").write_text("day\n2020-01-01\nsoon\n")
    with pytest.raises(InvalidInput, match=r"'day': cannot be read as dates.*soon"):
        fitted.predict(tmp_path / "d.csv")
    with pytest.raises(
        InvalidInput, match="held dates when the model was fitted, holds numbers now"
    ):
        fitted.predict({"day": [18000.0]})


def test_a_missing_date_is_the_median_one():
    table = pa.table({"day": pa.array([0, None, 86400, 2 * 86400], pa.timestamp("s"))})
    encoding = Encoding.learn(table)
    np.testing.assert_array_equal(encoding(table)[1], [86400, 1])
    assert Encoding.from_list(encoding.to_list()) == encoding
