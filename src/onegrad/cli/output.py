"""Tables and JSON on standard output, progress on standard error."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from typing import Any, TextIO

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


class Progress:
    """Call with (done, total): a bar with the time left on a terminal, plain lines otherwise."""

    def __init__(self, label: str, stream: TextIO | None = None, quiet: bool = False) -> None:
        self.label, self.quiet = label, quiet
        self.stream = sys.stderr if stream is None else stream
        self.start, self.last = time.monotonic(), -math.inf

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        terminal = self.stream.isatty()
        if self.quiet or (done < total and now - self.last < (0.1 if terminal else 5.0)):
            return
        if not terminal and done >= total and self.last == -math.inf:
            return  # finished before the first line was due
        self.last = now
        spent = now - self.start
        left = f"{spent / done * (total - done):.0f} s left" if 0 < done < total else ""
        if done >= total:
            left = f"{spent:.1f} s"
        if terminal:
            filled = round(30 * done / max(total, 1))
            bar = "#" * filled + "." * (30 - filled)
            end = "\n" if done >= total else ""
            self.stream.write(f"\r{self.label} [{bar}] {done}/{total} {left}\x1b[K{end}")
        else:
            self.stream.write(f"{self.label}: {done}/{total} {left}\n")
        self.stream.flush()
