"""How results look: one style of lines, bands, markers and tables for objects, reports and pages.

Nothing heavy is loaded with this room: matplotlib and pandas come when something is drawn.
"""

from __future__ import annotations

import importlib
from typing import Any


def needed(library: str, what: str) -> Any:
    """A library that is loaded when it is first used, or one line that says how to get it."""
    try:
        return importlib.import_module(library)
    except ImportError:
        name = library.partition(".")[0]
        raise ImportError(f"{what} needs {name}: pip install {name}", name=name) from None
