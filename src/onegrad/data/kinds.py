"""What a column of a table holds, whatever container it came in: one kind, one Arrow type.

========  =====================================  ==============================================
kind      Arrow type                             from
========  =====================================  ==============================================
number    float64                                whole, real and decimal numbers, empty columns
truth     bool                                   truth values
instant   timestamp in microseconds, UTC         dates and times of any unit and zone
span      duration in microseconds               durations, times of day
text      string                                 text, categories of any values
========  =====================================  ==============================================

One instant is one number: seconds since 1970, the same from a date, from any unit, from text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.exceptions import InvalidInput

KINDS = {
    "number": "numbers",
    "truth": "truth values",
    "instant": "dates",
    "span": "durations",
    "text": "text",
}
MISSING = "None"  # the category of what is missing in a column of text
WHOLE = 2.0**53  # below this a whole number is written without an exponent


@dataclass(frozen=True)
class ColumnType:
    """How a column is to be read: as this kind; `known` are the values that text is compared to."""

    kind: str
    known: tuple[str, ...] = ()


def arrow_type(kind: str) -> Any:
    """The one type of a kind."""
    import pyarrow as pa

    return {
        "number": pa.float64(),
        "truth": pa.bool_(),
        "instant": pa.timestamp("us"),
        "span": pa.duration("us"),
        "text": pa.string(),
    }[kind]


def kind_of(kind: Any, name: str) -> str:
    """The kind of an Arrow type; lists, structures and the like have none."""
    import pyarrow.types as t

    tests: dict[str, tuple[Callable[[Any], bool], ...]] = {
        "number": (t.is_integer, t.is_floating, t.is_decimal, t.is_null),
        "truth": (t.is_boolean,),
        "instant": (t.is_date, t.is_timestamp),
        "span": (t.is_time, t.is_duration),
        "text": (
            t.is_string, t.is_large_string, t.is_string_view, t.is_dictionary,
            t.is_binary, t.is_large_binary, t.is_binary_view, t.is_fixed_size_binary,
        ),
    }  # fmt: skip
    for found, questions in tests.items():
        if any(question(kind) for question in questions):
            return found
    allowed = ", ".join(KINDS.values())
    raise InvalidInput(f"column {name!r} holds {kind!s:.60}; allowed are {allowed}")


def converted(column: Any, reading: ColumnType | None, name: str) -> Any:
    """An Arrow column as the one type of its kind, or of the kind that is asked for.

    Values that cannot be read that way are an error that names one of them.
    """
    import pyarrow as pa

    column = _stored(column)
    own = kind_of(column.type, name)
    wanted = own if reading is None else reading.kind
    target = arrow_type(wanted)
    if column.type == target:
        return column
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), target)])
    try:
        if own == wanted:
            return _plain(column, own).cast(target, safe=False)
        change = CHANGES.get((own, wanted))
        if change is not None:
            return change(_plain(column, own), reading)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        if isinstance(error, InvalidInput):
            raise
        reason = " ".join(str(error).split())
        raise InvalidInput(
            f"column {name!r} cannot be read as {KINDS[wanted]}: {reason:.120}"
        ) from None
    raise InvalidInput(f"column {name!r} held {KINDS[wanted]} when fitted; now {KINDS[own]}")


def _stored(column: Any) -> Any:
    """The values under an extension type or under runs of equal values."""
    import pyarrow as pa
    import pyarrow.types as t

    if isinstance(column.type, pa.BaseExtensionType):
        pieces = [piece.storage for piece in column.chunks]
        column = pa.chunked_array(pieces, column.type.storage_type)
    return column.cast(column.type.value_type) if t.is_run_end_encoded(column.type) else column


def _plain(column: Any, own: str) -> Any:
    """A column that casts to the type of its own kind."""
    import pyarrow as pa
    import pyarrow.types as t

    kind = column.type
    if t.is_dictionary(kind):
        column, of = column.cast(kind.value_type), kind_of(kind.value_type, "")
        if of in ("number", "truth"):
            return CHANGES[of, "text"](column, None)
        if of in ("instant", "span"):  # one text for one instant
            return column.cast(arrow_type(of), safe=False).cast(pa.string())
    elif own == "text":
        return column.cast(pa.string())  # bytes that are UTF-8
    elif t.is_time(kind):  # since midnight
        count = column.cast(pa.int32() if t.is_time32(kind) else pa.int64())
        return count.cast(pa.int64()).cast(pa.duration(kind.unit))
    elif own == "instant" and getattr(kind, "tz", None) is not None:
        return (
            column.cast(pa.timestamp(kind.unit, "UTC"))
            .cast(pa.int64())
            .cast(pa.timestamp(kind.unit))
        )
    return column


# -- from one kind to another --------------------------------------------------------------------


def _text_of_numbers(column: Any, reading: ColumnType | None) -> Any:
    """Codes that came as numbers: 1 and 1.0 are "1", unless the text that is known says "1.0"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = column.cast(pa.float64(), safe=False)
    encoded = numbers.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    known = _by_number(() if reading is None else reading.known)
    names = [known.get(v, _written(v)) for v in encoded.dictionary.to_pylist()]
    return pa.chunked_array([pc.take(pa.array(names, pa.string()), encoded.indices)])


def _written(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < WHOLE else repr(value)


def _by_number(known: tuple[str, ...]) -> dict[float, str]:
    """SampleTargets texts that are numbers; where several are the same number, the shortest one."""
    found: dict[float, str] = {}
    for text in sorted(known, key=lambda text: (-len(text), text)):
        try:
            found[float(text)] = text
        except ValueError:
            continue
    return found


def _text_of_truth(column: Any, reading: ColumnType | None) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    known = {text.lower(): text for text in (() if reading is None else reading.known)}
    yes, no = (pa.scalar(known.get(word, word)) for word in ("true", "false"))
    return pc.if_else(column, yes, no)


def _as_string(column: Any) -> Any:
    """Text without surrounding blanks; what is empty is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _number_of_text(column: Any, reading: ColumnType | None) -> Any:
    return _as_string(column).cast(arrow_type("number"))


def _truth_of_text(column: Any, reading: ColumnType | None) -> Any:
    return _as_string(column).cast(arrow_type("truth"))


def _truth_of_number(column: Any, reading: ColumnType | None) -> Any:
    values = np.asarray(column.cast(arrow_type("number"), safe=False))
    odd = values[~np.isnan(values) & (values != 0) & (values != 1)]
    if len(odd):
        raise ValueError(f"{odd[0]:g} is neither 0 nor 1")
    return column.cast(arrow_type("truth"))


def _number_of_truth(column: Any, reading: ColumnType | None) -> Any:
    return column.cast(arrow_type("number"))


def _instant_of_text(column: Any, reading: ColumnType | None) -> Any:
    """Text in the form of ISO 8601, with a zone or without one (then UTC)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = _as_string(column)
    zoned = pc.fill_null(pc.match_substring_regex(text, r"(Z|[+-]\d\d(:?\d\d)?)$"), False)
    dated = pc.fill_null(pc.match_substring_regex(text, r"^\d{4}-\d\d-\d\d$"), False)
    zoned = pc.and_(zoned, pc.invert(dated))  # the last two digits of a date are no zone
    nothing = pa.scalar(None, pa.string())
    return pc.coalesce(
        _parsed(pc.if_else(zoned, text, nothing), "UTC"),
        _parsed(pc.if_else(zoned, nothing, text), None),
    )


def _parsed(text: Any, zone: str | None) -> Any:
    """Microseconds; of nine digits after the point, which they cannot have, the first six."""
    import pyarrow as pa

    try:
        instants = text.cast(pa.timestamp("us", zone))
    except pa.ArrowInvalid:
        instants = text.cast(pa.timestamp("ns", zone)).cast(pa.timestamp("us", zone), safe=False)
    return instants.cast(pa.int64()).cast(arrow_type("instant"))


def _span_of_text(column: Any, reading: ColumnType | None) -> Any:
    """Times of day, as in a CSV file."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first_day = pc.binary_join_element_wise("1970-01-01", _as_string(column), " ")
    return _parsed(first_day, None).cast(pa.int64()).cast(arrow_type("span"))


CHANGES: dict[tuple[str, str], Callable[[Any, ColumnType | None], Any]] = {
    ("number", "text"): _text_of_numbers,
    ("truth", "text"): _text_of_truth,
    ("text", "number"): _number_of_text,
    ("text", "truth"): _truth_of_text,
    ("text", "instant"): _instant_of_text,
    ("text", "span"): _span_of_text,
    ("number", "truth"): _truth_of_number,
    ("truth", "number"): _number_of_truth,
}
