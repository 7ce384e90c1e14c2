"""Tables and JSON on standard output."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from onegrad.io.json_values import plain


def print_json(value: dict[str, Any]) -> None:
    """One JSON object and nothing else; a number that is not finite becomes null."""
    print(json.dumps(plain(value), allow_nan=False))


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
