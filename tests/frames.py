"""A table with text, categories, truth values, dates and gaps, in every container."""

import numpy as np
import pytest


def people(rows=240):
    """Return a pandas frame with every kind of column, and targets that depend on it."""
    import pandas as pd

    rng = np.random.default_rng(0)
    size = rng.standard_normal(rows).round(6)
    kind = rng.choice(["a", "b", "ü"], rows)
    paid = rng.random(rows) < 0.5
    day = np.datetime64("2020-02-27", "s") + rng.integers(0, 400 * 86400, rows)
    frame = pd.DataFrame({"size": size, "kind": kind, "paid": paid, "day": day})
    frame["grade"] = pd.Categorical(rng.choice(["low", "high"], rows))
    y = np.sin(2 * size) + (kind == "a") * paid + (day - day.min()) / np.timedelta64(400, "D")
    frame.loc[::7, "size"] = np.nan
    frame.loc[::11, "kind"] = None
    return frame, np.asarray(y, float).round(6)


def in_pyarrow(frame):
    import pyarrow as pa

    return pa.Table.from_pandas(frame)


CONTAINERS = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pytest.importorskip("polars").from_pandas(frame),
    "pyarrow": in_pyarrow,
}
