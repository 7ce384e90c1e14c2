"""A table with text, categories, truth values, dates and gaps, in every container."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest


def people(rows: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a pandas frame with every kind of column, and targets that depend on it."""
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


def in_pandas(frame: pd.DataFrame) -> Any:
    return frame


def in_polars(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("polars").from_pandas(frame)


def in_pyarrow(frame: pd.DataFrame) -> Any:
    import pyarrow as pa

    return pa.Table.from_pandas(frame)


CONTAINERS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": in_pandas,
    "polars": in_polars,
    "pyarrow": in_pyarrow,
}
