"""Which functions of the package a piece of work calls."""

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import onegrad

PACKAGE = str(Path(onegrad.__file__).parent) + os.sep


def calls_of(work: Callable[[], object]) -> Counter[tuple[str, str]]:
    """Return how often each function is entered, by file below the package and qualified name.

    Compares with the package's own folder: libraries may lie in an environment below a folder that
    is called like the package.
    """
    counts: Counter[tuple[str, str]] = Counter()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            counts[code.co_filename.removeprefix(PACKAGE), code.co_qualname] += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counts
