"""Our docstrings say `name : what it is`; numpydoc takes what follows a colon for a type."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

SECTION = re.compile(r"^(Parameters|Attributes|Returns)$")
ENTRY = re.compile(r"^(\*{0,2}\w[\w, ]*) : (.*)$")


def entries_below(*event: Any) -> None:
    """Every entry of a list of parameters, its description on lines of its own."""
    lines, inside, result = event[-1], False, []
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and set(lines[i + 1]) == {"-"} and line:
            inside = bool(SECTION.match(line))
        entry = ENTRY.match(line) if inside else None
        result += [entry[1], "    " + entry[2]] if entry else [line]
    lines[:] = result


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", entries_below, priority=100)  # before numpydoc
    return {"parallel_read_safe": True}
