"""Tables, JSON and lines on standard output, in colour on a terminal; pictures in files."""

import argparse
import io
import itertools
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

from onegrad.exceptions import InvalidInput, printable
from onegrad.io.files import STANDARD_OUTPUT, atomic_write, output_file
from onegrad.io.json_values import json_values

STYLES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33}
PLOT_SUFFIXES = (".svg", ".png", ".pdf")
FORMULA = r"^([=+\-@\t\r])"  # how text begins that a spreadsheet takes for a formula
MAX_DECIMALS = 7  # columns with more decimals are not filled up with zeros


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object and nothing else; a number that is not finite becomes null."""
    print(json.dumps(json_values(value), allow_nan=False))


def print_table(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    """Print columns with a header; numbers have five significant digits and aligned points."""
    entries = [[name, *aligned([row.get(name) for row in rows])] for name in columns]
    widths = [max(map(len, column)) for column in entries]
    header, *lines = (
        "  ".join(entry.rjust(width) for entry, width in zip(line, widths, strict=True))
        for line in zip(*entries, strict=True)
    )
    print(styled(header, "bold", sys.stdout))
    for line in lines:
        print(line)


def aligned(values: Sequence[Any]) -> list[str]:
    """Return the values as texts of one width, decimal point under decimal point.

    Numbers of a column have the same number of decimals, or, where those would be many, blanks
    after the last significant digit.
    """
    texts = [_text(value) for value in values]
    decimals = max((_decimals(text) for text in texts), default=0)
    if decimals <= MAX_DECIMALS and not any("e" in t for t in texts):
        numbers = [isinstance(value, float) and value == value for value in values]
        pairs = zip(values, texts, numbers, strict=True)
        texts = [f"{value:.{decimals}f}" if is_number else text for value, text, is_number in pairs]
    parts = [_split_at_point(v, t) for v, t in zip(values, texts, strict=True)]
    width = max(len(before) for before, _ in parts)
    width_after = max(len(after) for _, after in parts)
    return [f"{before:>{width}}{after:<{width_after}}" for before, after in parts]


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _decimals(text: str) -> int:
    return len(text.partition(".")[2]) if text.replace(".", "").lstrip("-").isdigit() else 0


def _split_at_point(value: Any, text: str) -> tuple[str, str]:
    """Return the text before the decimal point and the rest; words are not split."""
    if not isinstance(value, float):
        return text, ""
    cut = min((text.index(mark) for mark in ".e" if mark in text), default=len(text))
    return text[:cut], text[cut:]


def styled(text: str, style: str, stream: TextIO) -> str:
    """Return the text in a style if the stream is a terminal and colour is not switched off."""
    # an empty NO_COLOR expresses no wish, as no-color.org has it
    colourless = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if colourless or not stream.isatty():
        return text
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m"


def print_title(text: str) -> None:
    """Print the line above a table, which says what its numbers are."""
    print(styled(text, "dim", sys.stdout))


def error_line(program: str, message: str) -> str:
    """Return the line that reports an error on standard error."""
    return f"{program}: {styled('error:', 'red', sys.stderr)} {printable(message)}"


def print_note(program: str, message: str) -> None:
    """Print on standard error something that is worth knowing."""
    prefix = styled("note:", "yellow", sys.stderr)
    print(f"{program}: {prefix} {printable(message)}", file=sys.stderr)


def save_plot(path: str | None, *results: Any) -> None:
    """Draw each result with its `plot` method on the same axes and write the picture."""

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        for result in results:
            result.plot(ax)

    save_figure(path, draw, width=6.4, height=4.2)


def save_figure(
    path: str | None, draw: Callable[[Any], object], width: float = 12.0, height: float = 4.4
) -> None:
    """Draw on a new figure, write the picture if --plot asks for one, and say so."""
    if path is None:
        return
    import matplotlib
    from matplotlib.figure import Figure

    from onegrad.pictures import style

    with matplotlib.rc_context(style.RC):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        with atomic_write(Path(path)) as file:
            figure.savefig(file, dpi=160, format=Path(path).suffix[1:].lower())
    print(f"wrote {printable(path)}", file=sys.stderr)


def check_table(args: argparse.Namespace, suffix: str) -> bool:
    """Return whether a table goes to standard output; raise InvalidInput if it cannot as asked."""
    to_standard_output = str(args.out) == STANDARD_OUTPUT
    if to_standard_output and args.json:
        problem = "both need standard output; drop one of them"
        raise InvalidInput("--json and --out -", problem=problem)
    if to_standard_output and suffix not in ("", ".csv"):
        raise InvalidInput("--out", "-", problem="standard output takes only CSV")
    if args.escape and suffix not in ("", ".csv"):
        raise InvalidInput("--escape", problem="only for CSV")
    return to_standard_output


def write_tables(path: Path, suffix: str, tables: Iterable[Any], escape: bool = False) -> int:
    """Write Arrow tables one after another to a file or standard output; return their rows."""
    from pyarrow import csv

    rows, tables = 0, map(escaped, tables) if escape else iter(tables)
    if str(path) == STANDARD_OUTPUT:
        for table in tables:
            text = io.BytesIO()
            csv.write_csv(table, text, csv.WriteOptions(include_header=not rows))
            if hasattr(sys.stdout, "buffer"):
                sys.stdout.flush()
                sys.stdout.buffer.write(text.getvalue())  # UTF-8 whatever the terminal's letters
            else:
                sys.stdout.write(text.getvalue().decode())
            sys.stdout.flush()  # raises BrokenPipeError if the reader went away
            rows += table.num_rows
        return rows
    first = next(tables)
    with atomic_write(path) as file:
        if suffix == ".parquet":
            from pyarrow.parquet import ParquetWriter as Writer
        else:
            Writer = csv.CSVWriter
        with Writer(file, first.schema) as writer:
            for table in itertools.chain([first], tables):
                writer.write_table(table)
                rows += table.num_rows
    return rows


def escaped(table: Any) -> Any:
    """Return an Arrow table whose text begins with ' where a spreadsheet would take a formula."""
    import pyarrow as pa
    from pyarrow import compute

    def column(values: Any) -> Any:
        if "string" not in str(values.type):  # of any of Arrow's kinds of text, or categories of it
            return values
        return compute.replace_substring_regex(values.cast(pa.large_string()), FORMULA, r"'\1")

    names = [re.sub(FORMULA, r"'\1", name) for name in table.column_names]
    return pa.table([column(values) for values in table.columns], names)


def check_plot(args: argparse.Namespace) -> None:
    """Raise InvalidInput before anything is computed if the picture could not be written."""
    if args.plot is None:
        return
    output_file(args.plot, "--plot", replace=args.force)
    if Path(args.plot).suffix.lower() not in PLOT_SUFFIXES:
        raise InvalidInput("--plot", args.plot, f"a file that ends in {', '.join(PLOT_SUFFIXES)}")
