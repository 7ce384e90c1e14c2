"""Dates keep their instant whatever unit, zone or container they come in."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onegrad as og
from onegrad.exceptions import InvalidInput
from onegrad.io.json_values import json_values
from onegrad.tables import source
from onegrad.tables.rows.encoding import Encoding
from onegrad.tables.rows.kinds import ColumnType, convert
from onegrad.tables.rows.table import column_values

pytestmark = pytest.mark.compat
DAYS = np.datetime64("2019-11-03") + np.arange(90) * 3
EPOCH = datetime.datetime(1970, 1, 1)


def seconds(column, kind="instant"):
    return column_values(convert(pa.chunked_array([column]), "t", ColumnType(kind)))[0]


@given(st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2250, 1, 1)))
def test_every_unit_gives_the_same_number(instant):
    micro = pa.array([instant], pa.timestamp("us"))
    expected = (instant - EPOCH) / datetime.timedelta(seconds=1)
    assert seconds(micro) == pytest.approx(expected, abs=1e-6)
    for column in (
        micro.cast(pa.timestamp("ns")),
        pa.array([instant.replace(tzinfo=datetime.UTC)], pa.timestamp("us", "Asia/Tokyo")),
        pa.array([instant.isoformat()]),
        pa.array([instant.isoformat(" ")]),
        pa.array([instant.isoformat() + "Z"]),
        pa.array([instant.isoformat()]).dictionary_encode(),
    ):
        assert seconds(column) == seconds(micro), column.type
    whole = [instant.replace(microsecond=0)]
    assert len({seconds(pa.array(whole, pa.timestamp(unit))) for unit in ("s", "ms", "ns")}) == 1


def test_dates_times_of_day_and_durations_are_seconds():
    day, time = datetime.date(2020, 2, 29), datetime.time(1, 2, 3)
    for column in (
        pa.array([day], pa.date32()),
        pa.array([day], pa.date64()),
        pa.array([str(day)]),
    ):
        assert seconds(column) == (day - EPOCH.date()).days * 86400  # the instant of its midnight
    for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        assert seconds(pa.array([time], kind), "span") == 3723
    assert seconds(pa.array(["01:02:03"]), "span") == 3723
    assert seconds(pa.array([3723000], pa.duration("ms")), "span") == 3723


def test_a_model_of_dates_in_a_csv_file_knows_them_anywhere(pd, tmp_path):
    path = tmp_path / "d.csv"
    pd.DataFrame({"day": DAYS, "y": np.sin(np.arange(90) / 9).round(6)}).to_csv(path, index=False)
    fitted = og.OneStepRegressor(30, random_state=0).fit(source(path, target="y"))
    expected = fitted.predict({"day": pa.array(DAYS.astype("datetime64[D]"), pa.date32())})
    assert np.ptp(expected) > 0.5
    (tmp_path / "noon.csv").write_text(
        "day\n" + "".join(f"{day} 00:00:00.000\n" for day in DAYS), "utf-8"
    )
    (tmp_path / "zone.csv").write_text(
        "day\n" + "".join(f"{day}T02:00:00+02:00\n" for day in DAYS), "utf-8"
    )
    inputs = [tmp_path / "noon.csv", tmp_path / "zone.csv"]
    for unit in ("s", "ms", "us", "ns"):
        stamps = pd.Series(DAYS.astype(f"datetime64[{unit}]"))
        table = pa.table({"day": pa.array(DAYS.astype("datetime64[s]")).cast(pa.timestamp(unit))})
        pq.write_table(table, tmp_path / f"{unit}.parquet")
        for column in (stamps, stamps.dt.tz_localize("UTC")):
            inputs.append(pd.DataFrame({"day": column}))
        inputs += [table, tmp_path / f"{unit}.parquet"]
    for X in inputs:
        np.testing.assert_array_equal(fitted.predict(X), expected)
    (tmp_path / "soon.csv").write_text("day\n2020-01-01\nsoon\n", "utf-8")
    for X, message in (
        (tmp_path / "soon.csv", "'day': cannot be read as dates.*soon"),
        ({"day": [18000.0]}, "held dates when the model was fitted, holds numbers now"),
    ):
        with pytest.raises(InvalidInput, match=message):
            fitted.predict(X)


def test_a_missing_date_is_the_median_one():
    table = pa.table({"day": pa.array([0, None, 86400, 2 * 86400], pa.timestamp("s"))})
    encoding = Encoding.learn(table)
    np.testing.assert_array_equal(encoding(table)[1], [86400, 1])
    assert Encoding.from_list(json_values(encoding.columns)) == encoding
