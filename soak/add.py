"""Add the counts of several runs, and write their table into docs/reliability.md.

python -m soak.add out/*.json --page docs/reliability.md
"""

from __future__ import annotations

import argparse
from pathlib import Path

from soak.ledger import markdown_table, read_ledgers

HEAD = "| attack | attacks |"  # with which the table on the page begins


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak.add", description=__doc__)
    parser.add_argument("ledgers", type=Path, nargs="+", help="what --json of python -m soak wrote")
    parser.add_argument("--page", type=Path, help="the page whose table is replaced")
    args = parser.parse_args()
    counts = read_ledgers(args.ledgers)
    table = markdown_table(counts)
    print(table)
    for attack in counts.values():
        for example in attack.examples:
            print(example)
    if args.page is not None:
        args.page.write_text(with_table(args.page.read_text(encoding="utf-8"), table), "utf-8")
    return 1 if any(sum(attack.faults.values()) for attack in counts.values()) else 0


def with_table(page: str, table: str) -> str:
    """Return the page with another table in the place of its own."""
    lines = page.splitlines()
    (first,) = [i for i, line in enumerate(lines) if line.startswith(HEAD)]
    last = next(i for i in range(first, len(lines)) if not lines[i].startswith("|"))
    return "\n".join([*lines[:first], table, *lines[last:]]) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
