"""Tables and JSON on standard output."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def print_json(value: dict[str, Any]) -> None:
    """One JSON object and nothing else; a number that is not finite becomes null."""
    print(json.dumps(_plain(value), allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_table(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    """Aligned columns with a header; numbers with five significant digits."""
    text = [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(r[i]) for r in [list(columns), *text]) for i in range(len(columns))]
    for line in [list(columns), *text]:
        print("  ".join(entry.rjust(w) for entry, w in zip(line, widths, strict=True)))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
