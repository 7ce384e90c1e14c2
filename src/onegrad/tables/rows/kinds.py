"""The kinds of columns: whatever container a column came in, it has one kind and one Arrow type.

========  =====================================  ==============================================
kind      Arrow type                             from
========  =====================================  ==============================================
number    float64                                whole, real and decimal numbers, empty columns
truth     bool                                   truth values
instant   timestamp in microseconds, UTC         dates and times of any unit and zone
span      duration in microseconds               durations, times of day
text      string                                 text, categories of any values
========  =====================================  ==============================================

An instant is one number, the seconds since 1970, whether it came as a date, in any unit or as text;
a period is the instant at which it begins. Text that CSV files write for missing values is missing
in every container.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as t

from onegrad.exceptions import InvalidInput


class Kind(NamedTuple):
    """Its values as messages call them, its Arrow type, and the Arrow types that it includes."""

    plural: str
    arrow_type: Any
    includes: tuple[Callable[[Any], bool], ...]


KINDS = {
    "number": Kind("numbers", pa.float64(), (t.is_integer, t.is_floating, t.is_decimal, t.is_null)),
    "truth": Kind("truth values", pa.bool_(), (t.is_boolean,)),
    # microseconds hold every year that Python's dates have; nanoseconds end in 2262
    "instant": Kind("dates", pa.timestamp("us"), (t.is_date, t.is_timestamp)),
    "span": Kind("durations", pa.duration("us"), (t.is_time, t.is_duration)),
    "text": Kind(
        "text",
        pa.string(),
        (
            *(t.is_string, t.is_large_string, t.is_string_view, t.is_dictionary),
            *(t.is_binary, t.is_large_binary, t.is_binary_view, t.is_fixed_size_binary),
        ),
    ),
}
# text that is a missing value, as Arrow and pandas read it in CSV files
MISSING_WORDS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"),
)
NONE = "None"  # a category like any other, unless a model has not seen it


@dataclass(frozen=True)
class ColumnType:
    """The kind that a column is read as, and for text the categories that it is compared to."""

    kind: str
    categories: tuple[str, ...] = ()


def kind_of(data_type: Any, name: str) -> str:
    """Return the kind of an Arrow type; lists, structures and the like have none."""
    for name_of_kind, kind in KINDS.items():
        if any(is_included(data_type) for is_included in kind.includes):
            return name_of_kind
    *names, last = (kind.plural for kind in KINDS.values())
    problem = f"holds {data_type!s:.60}; a column may hold {', '.join(names)} or {last}"
    raise InvalidInput("column", name, problem=problem)


def convert(column: Any, name: str, column_type: ColumnType | None = None) -> Any:
    """Return an Arrow column in the type of its own kind, or of the kind that is asked for.

    Raise InvalidInput with one of the values that cannot be read that way.
    """
    column = _without_wrapper(column)
    own = kind_of(column.type, name)
    column_type = column_type or ColumnType(own)
    kind, categories = column_type.kind, column_type.categories
    target = KINDS[kind].arrow_type
    if column.type == target:
        return _without_missing_words(column, categories) if kind == "text" else column
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), target)])
    try:
        if own == kind:
            # not safe: digits beyond float64 and beyond microseconds are lost on purpose
            cast = _castable(column, name).cast(target, safe=False)
            return _without_missing_words(cast, categories) if kind == "text" else cast
        if (own, kind) in CONVERSIONS:
            return CONVERSIONS[own, kind](_castable(column, name), categories)
    except InvalidInput:
        raise
    except (pa.ArrowException, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())
        problem = f"cannot be read as {KINDS[kind].plural}: {reason:.120}"
        raise InvalidInput("column", name, problem=problem) from None
    problem = f"held {KINDS[kind].plural} when the model was fitted, holds {KINDS[own].plural} now"
    raise InvalidInput("column", name, problem=problem)


def _without_missing_words(column: Any, categories: tuple[str, ...]) -> Any:
    """Return text without the words for missing values, unless a category is spelled like one.

    Python writes "None" for a missing value: so it is read where a model knows other categories.
    """
    missing_words = (*MISSING_WORDS, NONE) if categories else MISSING_WORDS
    words = pa.array([word for word in missing_words if word not in categories], pa.string())
    missing = pc.is_in(column, value_set=words)
    # most columns hold none: they are not copied
    if not pc.any(missing).as_py():
        return column
    return pc.if_else(missing, pa.scalar(None, pa.string()), column)


def _without_wrapper(column: Any) -> Any:
    """Return the values under an extension type or under runs of equal values.

    A period of pandas, which counts units of its frequency, is the instant at which it begins.
    """
    if getattr(column.type, "extension_name", "") == "pandas.period":
        from pandas import PeriodIndex

        return pa.chunked_array([pa.array(PeriodIndex(column.to_pandas()).to_timestamp())])
    if isinstance(column.type, pa.BaseExtensionType):
        chunks = [chunk.storage for chunk in column.chunks]
        column = pa.chunked_array(chunks, column.type.storage_type)
    return column.cast(column.type.value_type) if t.is_run_end_encoded(column.type) else column


def _castable(column: Any, name: str) -> Any:
    """Return the column in a type that Arrow casts to the type of its own kind."""
    data_type = column.type
    if t.is_dictionary(data_type):
        column, kind = column.cast(data_type.value_type), kind_of(data_type.value_type, name)
        if kind in ("number", "truth"):
            return CONVERSIONS[kind, "text"](column, ())
        if kind in ("instant", "span"):  # one text for one instant
            return column.cast(KINDS[kind].arrow_type, safe=False).cast(pa.string())
    elif kind_of(data_type, name) == "text":
        return column.cast(pa.string())  # bytes that are UTF-8
    elif t.is_time(data_type):  # since midnight
        count = column.cast(pa.int32() if t.is_time32(data_type) else pa.int64())
        return count.cast(pa.int64()).cast(pa.duration(data_type.unit))
    elif getattr(data_type, "tz", None) is not None:
        instants = column.cast(pa.timestamp(data_type.unit, "UTC"))
        return instants.cast(pa.int64()).cast(pa.timestamp(data_type.unit))
    return column


# -- from one kind to another --------------------------------------------------------------------


def _numbers_to_text(column: Any, categories: tuple[str, ...]) -> Any:
    """Write codes that came as numbers: 1 and 1.0 are "1", unless a category says "1.0".

    Whole numbers stay whole: as floats, codes beyond 2^53 would be merged.
    """
    numbers = column if t.is_integer(column.type) else column.cast(pa.float64(), safe=False)
    encoded = numbers.combine_chunks().dictionary_encode()
    spellings = _category_by_number(categories)
    texts = [spellings.get(v, _shortest_text(v)) for v in encoded.dictionary.to_pylist()]
    return pa.chunked_array([pc.take(pa.array(texts, pa.string()), encoded.indices)])


def _shortest_text(number: float) -> str:
    # from 2^53 on floats are not every whole number: such a code was damaged before it came here
    plain = isinstance(number, int) or (number.is_integer() and abs(number) < 2.0**53)
    return str(int(number)) if plain else repr(number)


def _category_by_number(categories: tuple[str, ...]) -> dict[float, str]:
    """Map numbers to the categories that spell them; of several spellings to the shortest."""
    spellings: dict[float, str] = {}
    for text in sorted(categories, key=lambda text: (-len(text), text)):
        for number in (int, float):
            try:
                spellings[number(text)] = text
                break
            except ValueError:
                continue
    return spellings


def _truth_to_text(column: Any, categories: tuple[str, ...]) -> Any:
    spellings = {text.lower(): text for text in categories}
    true, false = (pa.scalar(spellings.get(word, word)) for word in ("true", "false"))
    return pc.if_else(column, true, false)


def _stripped(column: Any) -> Any:
    """Return text without surrounding blanks; what is empty is missing."""
    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _number_to_truth(column: Any) -> Any:
    values = np.asarray(column.cast(KINDS["number"].arrow_type, safe=False))
    others = values[~np.isnan(values) & (values != 0) & (values != 1)]
    if len(others):
        raise ValueError(f"{others[0]:g} is neither 0 nor 1")
    return column.cast(KINDS["truth"].arrow_type)


def _text_to_instant(column: Any) -> Any:
    """Parse text in the form of ISO 8601, with a zone or without one (then it is UTC)."""
    text = _stripped(column)
    zoned = pc.fill_null(pc.match_substring_regex(text, r"(Z|[+-]\d\d(:?\d\d)?)$"), False)
    dated = pc.fill_null(pc.match_substring_regex(text, r"^\d{4}-\d\d-\d\d$"), False)
    zoned = pc.and_(zoned, pc.invert(dated))  # the last two digits of a date are no zone
    null = pa.scalar(None, pa.string())
    with_zone = _parse_instants(pc.if_else(zoned, text, null), "UTC")
    return pc.coalesce(with_zone, _parse_instants(pc.if_else(zoned, null, text), None))


def _parse_instants(text: Any, zone: str | None) -> Any:
    """Parse to microseconds; of nine digits after the point the first six count."""
    try:
        instants = text.cast(pa.timestamp("us", zone))
    except pa.ArrowInvalid:
        instants = text.cast(pa.timestamp("ns", zone)).cast(pa.timestamp("us", zone), safe=False)
    return instants.cast(pa.int64()).cast(KINDS["instant"].arrow_type)


def _text_to_span(column: Any) -> Any:
    """Parse times of day, as a CSV file has them."""
    first_day = pc.binary_join_element_wise("1970-01-01", _stripped(column), " ")
    return _parse_instants(first_day, None).cast(pa.int64()).cast(KINDS["span"].arrow_type)


# (own kind, kind asked for) to the function of a column and the categories of its text
CONVERSIONS: dict[tuple[str, str], Callable[[Any, tuple[str, ...]], Any]] = {
    ("number", "text"): _numbers_to_text,
    ("truth", "text"): _truth_to_text,
    ("text", "number"): lambda column, _: _stripped(column).cast(KINDS["number"].arrow_type),
    ("text", "truth"): lambda column, _: _stripped(column).cast(KINDS["truth"].arrow_type),
    ("text", "instant"): lambda column, _: _text_to_instant(column),
    ("text", "span"): lambda column, _: _text_to_span(column),
    ("number", "truth"): lambda column, _: _number_to_truth(column),
    ("truth", "number"): lambda column, _: column.cast(KINDS["number"].arrow_type),
}
