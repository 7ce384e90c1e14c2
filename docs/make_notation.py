"""Write the table of the fields of Problem into docs/notation.md.

    python docs/make_notation.py

The rows are what the fields say of themselves in onegrad/problem/definition.py.
"""

from collections.abc import Iterable
from pathlib import Path

from onegrad.problem import FIELDS, PAPERS, RATIO_FIELDS, Field

PAGE = Path(__file__).parent / "notation.md"
START, END = "<!-- fields: written by make_notation.py -->\n\n", "\n<!-- end of fields -->\n"


def table(fields: Iterable[Field]) -> str:
    """Return the fields as a table: symbol, name, meaning with its default, the papers' names."""
    rows = [("symbol", "field", "meaning", *PAPERS), ("---",) * (3 + len(PAPERS))]
    rows += [(f.symbol, f"`{f.name}`", f.summary, *f.papers) for f in fields]
    cells = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def page(text: str) -> str:
    """Return the page with the table of the present fields."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return before + START + table([*FIELDS.values(), *RATIO_FIELDS.values()]) + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
