"""What was attacked and what came of it: counts that add up, kept in a file after every chunk."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FAULTS = ("lost", "doubled", "wrong", "foreign", "hung", "orphans", "left", "jumps", "crashed")
EXAMPLES = 5  # that are kept of each kind


@dataclass
class Tally:
    """Attacks of one kind: how many, how they ended, which faults were found."""

    attacks: int = 0
    seconds: float = 0.0
    ends: Counter[str] = field(default_factory=Counter)  # what is allowed: numbers, refused, ...
    faults: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def fault(self, name: str, where: str, what: object) -> None:
        assert name in FAULTS, name
        self.faults[name] += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(f"{name}: {' '.join(str(what).split())[:300]} ({where})")

    def add(self, other: Tally) -> None:
        self.attacks += other.attacks
        self.seconds += other.seconds
        self.ends += other.ends
        self.faults += other.faults
        self.examples = (self.examples + other.examples)[: 4 * EXAMPLES]


class Ledger:
    """Tallies by kind, and which chunks of work they hold."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.seed = path, seed
        self.tallies: dict[str, Tally] = {}
        self.done: dict[str, list[int]] = {}
        if path.exists():
            kept = json.loads(path.read_text())
            if kept["seed"] != seed:
                raise SystemExit(f"soak: {path} is of seed {kept['seed']}: remove it, or take that")
            self.done = kept["done"]
            for kind, values in kept["tallies"].items():
                values |= {name: Counter(values[name]) for name in ("ends", "faults")}
                self.tallies[kind] = Tally(**values)

    def missing(self, kind: str, chunks: int) -> list[int]:
        done = set(self.done.get(kind, ()))
        return [chunk for chunk in range(chunks) if chunk not in done]

    def note(self, kind: str, chunk: int, tally: Tally) -> None:
        self.tallies.setdefault(kind, Tally()).add(tally)
        self.done.setdefault(kind, []).append(chunk)
        values = {"seed": self.seed, "done": self.done}
        values["tallies"] = {name: vars(tally) for name, tally in self.tallies.items()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".new")
        draft.write_text(json.dumps(values))
        draft.replace(self.path)


def evenly(
    missing: Mapping[str, Sequence[int]], counts: Mapping[str, int]
) -> list[tuple[str, int]]:
    """Chunks of all kinds, each kind as far along as the others.

    >>> evenly({"a": [0, 1, 2, 3], "b": [1]}, {"a": 4, "b": 2})
    [('a', 0), ('a', 1), ('a', 2), ('b', 1), ('a', 3)]
    """
    due = [((n + 1) / counts[kind], kind, n) for kind, numbers in missing.items() for n in numbers]
    return [(kind, n) for _, kind, n in sorted(due, key=lambda one: one[0])]


def table(tallies: dict[str, Tally]) -> str:
    """A row a kind, a column a fault, the sums below."""
    total = Tally()
    for tally in tallies.values():
        total.add(tally)
    rows = [("attack", "attacks", "ended", "seconds", *FAULTS)]
    for kind, tally in (*tallies.items(), ("all", total)):
        ends = (
            ", ".join(f"{n} {name}" for name, n in tally.ends.most_common())
            if kind != "all"
            else ""
        )
        faults = (str(tally.faults[name]) for name in FAULTS)
        rows.append((kind, str(tally.attacks), ends, f"{tally.seconds:.0f}", *faults))
    return "\n".join(_line(row) for row in (rows[0], ("---",) * len(rows[0]), *rows[1:]))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
