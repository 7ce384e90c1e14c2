"""Forge files that are sound and hold what nobody meant, as a wrong program would write them.

``forge_file(rng, suffix)`` changes the meaning of a small valid file (a cell, a column's type, an
array's shape, a value of a model's header) and writes it as a sound file again, so that the change
reaches the code behind the reader.
"""

import csv
import hashlib
import io
import json
import warnings
import zipfile
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from soak import mutations

NUMBERS = (0.0, -0.0, 1.0, -1.0, 1e-320, 1e-200, 1e16, 1e160, 1e300, 1.7e308, np.inf, -np.inf,
           np.nan)  # fmt: skip
CELLS = ("", " ", "nan", "inf", "1e400", "-1e308", "1e-320", "1,5", "0x10", "1_000", "9" * 40,
         "true", "A", "a\nb", '"', "é", "\x1b[2J", "2020-02-30", "2020-01-01T10:00:00+02:00",
         "0001-01-01", "9999-12-31", "=1+1", "NA", "None", "a" * 5000)  # fmt: skip
JSON = (None, True, -1, 0, 1, 2**63, 10**40, 1e308, -0.5, float("nan"), float("inf"), "",
        "nan", "x", "relu", "H9999999", "1" * 400, [], [0], [[[]]], {}, {"a": 1},
        ["x", "x"])  # fmt: skip
TYPES = ("f2", "f4", ">f8", "i1", "u8", "?", "c16", "U3", "S3", "M8[D]", "m8[s]", "O", "g")
SHAPES = ((-1,), (1, -1), (-1, 1), (-1, 1, 1), (0, 3), (3, 0), (0,), ())


def forge_file(rng: np.random.Generator, suffix: str) -> bytes:
    """Return a sound file of this kind after one to three changes of its contents."""
    return FORGERS[suffix](rng, int(rng.integers(1, 4)))


def _choose(rng: np.random.Generator, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


# -- tables --------------------------------------------------------------------------------------


def _csv(rng: np.random.Generator, changes: int) -> bytes:
    rows = list(csv.reader(io.StringIO(mutations.csv_file().decode())))
    for _ in range(changes):
        i, j, kind = int(rng.integers(len(rows))), int(rng.integers(len(rows[0]))), rng.random()
        if kind < 0.35:
            rows[i][j] = _choose(rng, CELLS)
        elif kind < 0.5:
            rows[0][j] = str(_choose(rng, [*CELLS, *rows[0], "__index_level_0__"]))
        elif kind < 0.65:
            value = _choose(rng, CELLS)
            rows[1:] = [[*row[:j], value, *row[j + 1 :]] for row in rows[1:]]
        elif kind < 0.75:
            order = rng.integers(len(rows[0]), size=len(rows[0]))  # lost or repeated ones
            rows = [[row[k] for k in order] for row in rows]
        elif kind < 0.85:
            rows = [rows[0], *(rows[1:] * 3)[: int(_choose(rng, [0, 1, 2, 150]))]]
        else:
            rows = [[*row, str(_choose(rng, CELLS))] for row in rows]
    text, delimiter = io.StringIO(), _choose(rng, ",,,,;")
    line_end = _choose(rng, ["\n", "\n", "\r\n", "\r"])
    csv.writer(text, delimiter=delimiter, lineterminator=line_end).writerows(rows)
    return text.getvalue().encode(_choose(rng, ["utf-8"] * 6 + ["utf-8-sig", "utf-16"]))


def _parquet(rng: np.random.Generator, changes: int) -> bytes:
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(mutations.parquet_file()))
    for _ in range(changes):
        j, kind = int(rng.integers(table.num_columns)), rng.random()
        name, rows = table.column_names[j], table.num_rows
        if kind < 0.7:
            table = table.set_column(j, name, _choose(rng, _column_of_each_type(rng, rows)))
        elif kind < 0.8:
            names = [*table.column_names]
            names[j] = str(_choose(rng, [*CELLS, *names, "__index_level_0__"]))
            table = table.rename_columns(names)
        elif kind < 0.9:
            table = table.slice(0, int(_choose(rng, [0, 1, 2])))
        else:
            table = table.select(rng.permutation(table.num_columns)[1:].tolist() or [0])
        if not table.num_columns:
            break
    size = int(_choose(rng, [1, 7, 1000]))
    return mutations.written(lambda file: pq.write_table(table, file, row_group_size=size))


def _column_of_each_type(rng: np.random.Generator, rows: int) -> list[Any]:
    """Return one column of each Arrow type."""
    import pyarrow as pa

    n = rng.integers(0, 5, rows)
    days, counts = pa.array(n * 86_400).cast(pa.timestamp("s")), pa.array(n.astype(np.int32))
    text = pa.array([str(_choose(rng, CELLS)) for _ in n], pa.string())
    return [
        *map(days.cast, (pa.timestamp("ns"), pa.timestamp("us", "Europe/Rome"), pa.date64())),
        *map(counts.cast, (pa.int8(), pa.uint64(), pa.float32(), pa.time32("s"))),
        text,
        pa.array(n, pa.int64()).cast(pa.duration("ms")),
        text.dictionary_encode(),
        text.cast(pa.large_string()),
        pa.array([str(k).encode() + b"\xff" for k in n], pa.binary()),
        pa.array(n > 2, pa.bool_()),
        pa.nulls(rows),
        pa.nulls(rows, pa.float64()),
        pa.array([Decimal(int(k)) / 8 for k in n], pa.decimal128(38, 20)),
        pa.array([[int(k)] for k in n], pa.list_(pa.int64())),
        pa.array([{"a": int(k)} for k in n], pa.struct([("a", pa.int64())])),
        pa.array(n.astype(np.float16), pa.float16()),
        pa.array(rng.choice(NUMBERS, rows), pa.float64()),
        pa.array(np.full(rows, 2**64 - 1, np.uint64)),
    ]


# -- arrays --------------------------------------------------------------------------------------


def _change_array(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """Return the array with another type, another shape, other numbers or no numbers."""
    kind = rng.random()
    if kind < 0.3:
        finite = np.nan_to_num(array) if array.dtype.kind == "f" else array
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # imaginary parts are lost on purpose
            try:
                return finite.astype(_choose(rng, TYPES))
            except (TypeError, ValueError, RuntimeError, OverflowError):
                return finite
    if kind < 0.55:
        try:
            return array.reshape(_choose(rng, SHAPES))
        except ValueError:
            return np.asfortranarray(array[: int(rng.integers(3))])
    changed = np.array(array, order="F" if rng.random() < 0.3 else "C")
    if changed.size and changed.dtype.kind == "f":
        with np.errstate(all="ignore"):
            if rng.random() < 0.5:
                changed.flat[int(rng.integers(changed.size))] = _choose(rng, NUMBERS)
            else:
                changed *= _choose(rng, NUMBERS)
    return changed


def _npy(rng: np.random.Generator, changes: int) -> bytes:
    array = np.load(io.BytesIO(mutations.npy_file()))[:, : int(_choose(rng, [2, 3, 3, 3]))]
    for _ in range(changes):
        array = _change_array(rng, array)
    return _npy_bytes(array)


def _npy_bytes(array: np.ndarray) -> bytes:
    array = np.asarray(array)  # an object without a shape is read as itself
    objects = array.dtype.kind == "O"  # what readers must refuse
    return mutations.written(lambda file: np.save(file, array, allow_pickle=objects))


def _npz(rng: np.random.Generator, changes: int) -> bytes:
    with np.load(io.BytesIO(mutations.npz_file())) as file:
        arrays = dict(file)
    for _ in range(changes):
        name = _choose(rng, sorted(arrays))
        arrays[name] = _change_array(rng, arrays[name])
        if rng.random() < 0.1:
            arrays[str(_choose(rng, ["y", "w", "X", "x/../y", "é"]))] = arrays.pop(name)
    method = zipfile.ZIP_DEFLATED if rng.random() < 0.3 else zipfile.ZIP_STORED
    members = {f"{name}.npy": _npy_bytes(a) for name, a in arrays.items()}
    return mutations.zipped(members, method)


# -- models --------------------------------------------------------------------------------------


@cache
def example_models() -> tuple[bytes, ...]:
    """Return small models of the example table, of both families: numbers and classes."""
    import tempfile

    import onegrad as og
    from onegrad.tables import source

    files = [mutations.model_file()]
    with tempfile.TemporaryDirectory() as folder:
        table, path = Path(folder) / "table.csv", Path(folder) / "a.model"
        table.write_bytes(mutations.csv_file())
        for estimator, target in (
            (og.OneStepClassifier(6, eta=1.0, random_state=0), "kind"),
            (og.AlternatingRegressor(6, rounds=2, random_state=0), "y"),
        ):
            estimator.fit(source(table, target=target)).save(path)
            files.append(path.read_bytes())
    return tuple(files)


def _model(rng: np.random.Generator, changes: int) -> bytes:
    members = mutations.unzipped(_choose(rng, example_models()))
    header = json.loads(members["model.json"])
    for _ in range(changes):
        arrays = sorted(name for name in members if name.endswith(".npy"))
        if rng.random() < 0.5:
            header = change_value(rng, header)
        else:
            name = _choose(rng, arrays)
            array = np.load(io.BytesIO(members[name]), allow_pickle=True)  # our own forgery
            members[name] = _npy_bytes(_change_array(rng, array))
    members["model.json"] = json.dumps(header).encode()
    return mutations.zipped(with_digests(members))


def with_digests(members: dict[str, bytes]) -> dict[str, bytes]:
    """Return the members of a model with the digests of what they are now, as a forger can."""
    others = {name: content for name, content in members.items() if name != "digests.json"}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in others.items()}
    return others | {"digests.json": json.dumps(digests).encode()}


def rewrite_model(
    path: Path, change: Callable[[dict[str, bytes]], Any], digests: Any = with_digests
) -> None:
    """Change the members of a model's archive, as an attacker would: with their digests."""
    members = mutations.unzipped(path.read_bytes())
    change(members)
    path.write_bytes(mutations.zipped(digests(members)))


def change_value(rng: np.random.Generator, value: Any, values: Sequence[Any] = JSON) -> Any:
    """Return a JSON value in which one value is replaced, lost or repeated."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = _choose(rng, sorted(value))
        if rng.random() < 0.05:
            return {k: v for k, v in value.items() if k != key}
        return value | {key: change_value(rng, value[key], values)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        k = int(rng.integers(len(value)))
        if rng.random() < 0.2:
            return value[:k] + value[k + 1 :] if rng.random() < 0.5 else value[: k + 1] + value[k:]
        return [*value[:k], change_value(rng, value[k], values), *value[k + 1 :]]
    return _choose(rng, values)


TOML = (*JSON[1:], "1:5", "0:1:5", "0:1:1000000000", [1, 1], [0.5, "x"], "H1", "sphere", "tanh:raw")


def forge_spec(rng: np.random.Generator, table: dict[str, Any]) -> Any:
    """Return the table of a sweep after one to three changes of its values."""
    for _ in range(int(rng.integers(1, 4))):
        table = change_value(rng, table, TOML)
    return table


FORGERS: dict[str, Callable[[np.random.Generator, int], bytes]] = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".npz": _npz,
    ".npy": _npy,
    ".model": _model,
}
