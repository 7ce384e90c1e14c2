"""Archives of JSON and arrays: a ZIP file, not compressed, in which nothing can run.

`model.json` is the header, and one `.npy` member holds each array, as `numpy.savez` would write
them. `digests.json` has the SHA-256 of every other member, so that a file that was damaged or
edited is noticed.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from onegrad.exceptions import InvalidInput
from onegrad.io.files import atomic_write, input_problem
from onegrad.io.json_values import json_values
from onegrad.io.npy import read_array

HEADER = "model.json"
DIGESTS = "digests.json"

Arrays = dict[str, np.ndarray[Any, Any]]


def write_archive(path: Path, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write an archive; an existing file is replaced only once the new one is complete."""
    header = {**header, "arrays": [f"{name}.npy" for name in arrays]}
    values = json_values(header, not_finite=str)
    text = json.dumps(values, sort_keys=True, allow_nan=False, default=str)
    digests = {}
    with atomic_write(path) as file, zipfile.ZipFile(file, "w") as archive:

        def write(name: str, content: bytes) -> None:
            digests[name] = hashlib.sha256(content).hexdigest()
            # ZipInfo of a name alone has no time: the same model is the same file
            archive.writestr(zipfile.ZipInfo(name), content)

        write(HEADER, text.encode())
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
            write(f"{name}.npy", buffer.getvalue())
        archive.writestr(zipfile.ZipInfo(DIGESTS), json.dumps(digests))


def read_archive(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of an archive, whose digests are all compared."""
    if problem := input_problem(path):
        raise InvalidInput("model", problem=problem)
    content = path.read_bytes()
    try:
        return _unpacked(content)
    except OSError:  # of the archive: an offset that is none
        raise zipfile.BadZipFile from None


def _unpacked(content: bytes) -> tuple[dict[str, Any], Arrays]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise InvalidInput("archive", problem="compressed members are not allowed")
        names = archive.namelist()
        if HEADER not in names:
            raise InvalidInput("archive", problem=f"not a model file; it has no {HEADER}")
        digests = json.loads(archive.read(DIGESTS))

        def read(name: str) -> bytes:
            if name not in names:
                raise InvalidInput("array", name, problem="it is missing; the file is incomplete")
            content = archive.read(name)  # all of it, so that its checksum is compared
            if digests.get(name) != hashlib.sha256(content).hexdigest():
                problem = "it is not what was saved: the file was damaged or edited"
                raise InvalidInput(f"{name!r:.40}", problem=problem)
            return content

        header: dict[str, Any] = json.loads(read(HEADER))
        arrays = {
            name.removesuffix(".npy"): read_array(io.BytesIO(read(name)), f"array {name!r:.40}")
            for name in header["arrays"]
        }
    return header, arrays


def numbers_of(value: Any) -> Any:
    """Return JSON values with the numbers that are not finite, which were written as text."""
    if isinstance(value, dict):
        return {k: numbers_of(v) for k, v in value.items()}
    if isinstance(value, list):
        return [numbers_of(v) for v in value]
    return float(value) if value in ("inf", "-inf", "nan") else value
