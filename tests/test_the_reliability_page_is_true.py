"""docs/reliability.md: every promise names tests that are there, every attack is of make soak."""

import re
from pathlib import Path

from soak.ledger import FAULTS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_promise_is_tested_by_name() -> None:
    files = {path.name: path for path in (ROOT / "tests").rglob("test_*.py")}
    for promise, _, tests in rows("Promised"):
        names = re.findall(r"`(test_\w+\.py)`", tests)
        assert names, promise
        for name in names:
            assert name in files, promise
            assert re.search(r"^def test_", files[name].read_text(encoding="utf-8"), re.MULTILINE)


def test_every_attack_is_described_once_and_what_was_run_adds_up() -> None:
    """The table is as make soak prints it: a row a kind, then their sums."""
    from soak.chunks import ATTACKS

    described = [
        name for kinds, _ in rows("The attacks, as a program") for name in kinds.split(", ")
    ]
    assert sorted(name.strip("`") for name in described) == sorted(ATTACKS)
    *kinds, total = rows("What was run")
    assert {row[0] for row in kinds} <= set(ATTACKS) and total[0] == "all"
    for column in (1, *range(4, 4 + len(FAULTS))):
        assert sum(int(row[column]) for row in kinds) == int(total[column])
