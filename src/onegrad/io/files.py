"""Files that appear whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """An open file beside `target` that takes its name at the end, and is removed on any failure.

    Whatever happens in between, a reader sees the old file or the new one.
    """
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with draft.open("xb") as file:
            yield file
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
