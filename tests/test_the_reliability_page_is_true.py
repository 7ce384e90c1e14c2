"""docs/reliability.md: every promise names tests that are there, every attack is of make soak."""

import re
from pathlib import Path

import pytest
from soak.chunks import ATTACKS
from soak.ledger import FAULTS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
FILES = {path.name: path for path in (ROOT / "tests").rglob("test_*.py")}


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


PROMISES = {name: tests for name, _, tests in rows("Promised")}


@pytest.mark.parametrize("promise", PROMISES)
def test_every_promise_is_tested_by_name(promise: str) -> None:
    names = re.findall(r"`(test_\w+\.py)`", PROMISES[promise])
    assert names
    for name in names:
        assert name in FILES
        assert re.search(r"^def test_", FILES[name].read_text(encoding="utf-8"), re.MULTILINE)


def test_every_attack_is_described_once() -> None:
    described = [
        kind for first, _ in rows("The attacks, as a program") for kind in first.split(", ")
    ]
    assert sorted(kind.strip("`") for kind in described) == sorted(ATTACKS)


def test_what_was_run_adds_up() -> None:
    """The table is as make soak prints it: a row a kind, then their sums."""
    *kinds, total = rows("What was run")
    assert {row[0] for row in kinds} <= set(ATTACKS) and total[0] == "all"
    for column in (1, *range(4, 4 + len(FAULTS))):
        assert sum(int(row[column]) for row in kinds) == int(total[column])
