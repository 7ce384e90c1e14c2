"""Damage small valid files as a disk, an editor or an enemy would.

``damage(rng, payload)`` makes one to four random changes. Half of the archives (npz, models) are
unpacked, changed inside and packed again with correct checksums, so that the change reaches the
reader of the members and not only the archive's own check.
"""

import io
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

NASTY_BYTES = [
    b"", b"nan", b"NaN", b"inf", b"-inf", b"1e400", b"-1e308", b"1e160", b"9" * 40, b"-1", b"0",
    b"4294967295", b"18446744073709551616", b'"', b"'", b",", b",,", b"\n", b"\r\n", b"\x00",
    b"\xff\xfe", b"caf\xe9", "é".encode(), b"None", b"true", b"{}", b"[]", b"[[[[", b"null",
    b"2020-01-01", b"1969-12-31T23:59:59.999999999", b"<U3", b"|O", b"<c16", b"PAR1", b"PK\x03\x04",
]  # fmt: skip


def damage(rng: np.random.Generator, payload: bytes) -> bytes:
    """Return the payload after one to four random changes, which follow from the generator."""
    changes = int(rng.integers(1, 5))
    for _ in range(changes):
        inside = payload[:2] == b"PK" and rng.random() < 0.5
        payload = _damage_member(rng, payload) if inside else _damage_bytes(rng, payload)
    return payload


def _damage_bytes(rng: np.random.Generator, data: bytes) -> bytes:
    """Return the data after one change at one place, half of the time near an end of the file."""
    if not data:
        return bytes(rng.integers(0, 256, 8, dtype=np.uint8))
    n = len(data)
    edge = min(n, 256)
    place = [rng.integers(n), rng.integers(n), rng.integers(edge), n - 1 - rng.integers(edge)]
    i = int(place[int(rng.integers(4))])
    j = min(n, i + 1 + int(rng.geometric(0.05)))
    kinds: list[Callable[[], bytes]] = [
        lambda: data[:i] + bytes([data[i] ^ (1 << int(rng.integers(8)))]) + data[i + 1 :],
        lambda: data[:i] + bytes(rng.integers(0, 256, j - i, dtype=np.uint8)) + data[j:],
        lambda: data[:i] + bytes([int(rng.choice([0, 255]))]) * (j - i) + data[j:],
        lambda: data[:i],
        lambda: data[:i] + data[j:],
        lambda: data[:j] + data[i:],
        lambda: data[:i] + NASTY_BYTES[int(rng.integers(len(NASTY_BYTES)))] + data[i:],
        lambda: _replace_word(rng, data, i),
    ]
    return kinds[int(rng.integers(len(kinds)))]()


def _replace_word(rng: np.random.Generator, data: bytes, i: int) -> bytes:
    """Replace the word or number around place i by something nasty."""
    separators = b',;:"\n\r {}[]()'
    start, stop = i, i
    while start and data[start - 1] not in separators:
        start -= 1
    while stop < len(data) and data[stop] not in separators:
        stop += 1
    return data[:start] + NASTY_BYTES[int(rng.integers(len(NASTY_BYTES)))] + data[stop:]


def _damage_member(rng: np.random.Generator, data: bytes) -> bytes:
    """Change, lose or rename one member of an archive; damage the bytes of one that is damaged."""
    try:
        members = unzipped(data)
    except Exception:  # a damaged archive may raise anything
        members = {}
    if not members:
        return _damage_bytes(rng, data)
    name = sorted(members)[int(rng.integers(len(members)))]
    kind = rng.random()
    if kind < 0.1:
        del members[name]
    elif kind < 0.2:
        members[sorted(members)[int(rng.integers(len(members)))]] = members[name]
    else:
        members[name] = _damage_bytes(rng, members[name])
    return zipped(members)


def unzipped(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    def write(file: io.BytesIO) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in members.items():
                archive.writestr(zipfile.ZipInfo(name), content, method)

    return written(write)


def written(write: Callable[[io.BytesIO], object]) -> bytes:
    """Return what a function writes to a file."""
    file = io.BytesIO()
    write(file)
    return file.getvalue()


# -- small valid files of each kind --------------------------------------------------------------


def _columns() -> dict[str, list[object]]:
    rng = np.random.default_rng(0)
    size = rng.standard_normal(60).round(3)
    kind = rng.choice(["a", "b", "ü"], 60)
    day = np.datetime64("2020-02-27") + rng.integers(0, 400, 60)
    return {
        "size": [None if i % 11 == 0 else float(x) for i, x in enumerate(size)],
        "kind": [str(k) for k in kind],
        "day": [d.astype(object) for d in day],
        "y": (np.sin(size) + (kind == "a")).round(4).tolist(),
    }


@cache
def csv_file() -> bytes:
    """Columns size (a number with gaps), kind (text), day (a date), and the target y."""
    columns = _columns()
    rows = zip(*columns.values(), strict=True)
    lines = [",".join("" if v is None else str(v) for v in row) for row in rows]
    return ("\n".join([",".join(columns), *lines]) + "\n").encode()


@cache
def parquet_file() -> bytes:
    """The same table in three row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return written(lambda file: pq.write_table(pa.table(_columns()), file, row_group_size=20))


def _matrix() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((40, 3)).round(3)


@cache
def npz_file() -> bytes:
    """Arrays X (40, 3) and y."""
    return written(lambda file: np.savez(file, X=_matrix(), y=_matrix()[:, 0] ** 2))


@cache
def npy_file() -> bytes:
    """A matrix (40, 3); any column can be the target."""
    return written(lambda file: np.save(file, _matrix()))


@cache
def model_file() -> bytes:
    """A small model of the table."""
    import onegrad as og
    from onegrad.tables import source

    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder) / "table.csv", Path(folder) / "a.model"
        table.write_bytes(csv_file())
        og.OneStepRegressor(6, eta=1.0, random_state=0).fit(source(table, target="y")).save(model)
        return model.read_bytes()


EXAMPLE_FILES: dict[str, Callable[[], bytes]] = {
    ".csv": csv_file,
    ".parquet": parquet_file,
    ".npz": npz_file,
    ".npy": npy_file,
    ".model": model_file,
}
EXAMPLE_TARGETS = {".csv": "y", ".parquet": "y", ".npz": "y", ".npy": "-1"}
