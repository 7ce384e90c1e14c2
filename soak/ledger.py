"""One attack, counts of attacks and of their outcomes, and the file that keeps them."""

from __future__ import annotations

import json
import signal
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FAULTS = ("lost", "doubled", "wrong", "foreign", "hung", "orphans", "left", "jumps", "crashed")
MAX_EXAMPLES = 5  # that are kept of each attack
MAX_SECONDS = 30.0  # of processor time, after which an attack counts as hung


@dataclass
class AttackCounts:
    """Number of attacks of one kind, the ways in which they ended, the faults that were found."""

    attacks: int = 0
    seconds: float = 0.0
    ends: Counter[str] = field(default_factory=Counter)  # allowed ones: numbers, refused, ...
    faults: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def fault(self, name: str, where: str, what: object) -> None:
        """Count a fault, and keep it as an example."""
        assert name in FAULTS, name
        self.faults[name] += 1
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(f"{name}: {' '.join(str(what).split())[:300]} ({where})")

    def add(self, other: AttackCounts) -> None:
        self.attacks += other.attacks
        self.seconds += other.seconds
        self.ends += other.ends
        self.faults += other.faults
        self.examples = (self.examples + other.examples)[: 4 * MAX_EXAMPLES]


class Hung(BaseException):
    """Ends an attack that takes too long; nothing may catch it."""


@contextmanager
def attempt(
    counts: AttackCounts, where: str, allowed: tuple[type[Exception], ...] = (), attacks: int = 1
) -> Iterator[None]:
    """Count an attack, which may end in one of the allowed exceptions; others are foreign.

    With `attacks=0` it is a check after one, and counts faults alone.
    """

    def stop(*_: Any) -> None:
        raise Hung

    # the process's own time: other processes do not count
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
    counts.attacks += attacks
    try:
        yield
    except allowed as error:
        if "\n" in str(error):
            counts.fault("foreign", where, f"more than one line: {error!r}")
        counts.ends[type(error).__name__] += 1
    except Hung:
        counts.fault("hung", where, f"over {MAX_SECONDS:.0f} s")
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        counts.fault("foreign", where, f"{error!r} at {last.filename}:{last.lineno}")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class Ledger:
    """Counts by attack, and the chunks that they include."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.seed = path, seed
        self.counts: dict[str, AttackCounts] = {}
        self.done: dict[str, list[int]] = {}
        if path.exists():
            content = json.loads(path.read_text("utf-8"))
            if content["seed"] != seed:
                there = content["seed"]
                raise SystemExit(f"soak: {path} is of seed {there}: remove it, or use that seed")
            self.done = content["done"]
            for attack, values in content["tallies"].items():
                values |= {name: Counter(values[name]) for name in ("ends", "faults")}
                self.counts[attack] = AttackCounts(**values)

    def missing(self, attack: str, chunks: int) -> list[int]:
        """Return the numbers of the chunks that are still to be done."""
        done = set(self.done.get(attack, ()))
        return [chunk for chunk in range(chunks) if chunk not in done]

    def record(self, attack: str, chunk: int, counts: AttackCounts) -> None:
        """Add the counts of a chunk, and write the file."""
        self.counts.setdefault(attack, AttackCounts()).add(counts)
        self.done.setdefault(attack, []).append(chunk)
        content = {"seed": self.seed, "done": self.done}
        content["tallies"] = {name: vars(counts) for name, counts in self.counts.items()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".new")
        draft.write_text(json.dumps(content), "utf-8")
        draft.replace(self.path)


def read_ledgers(paths: Iterable[Path]) -> dict[str, AttackCounts]:
    """Return the sum of several runs; no chunk may be in two of them."""
    total: dict[str, AttackCounts] = {}
    seen: dict[tuple[int, str, int], Path] = {}
    for path in paths:
        ledger = Ledger(path, json.loads(path.read_text("utf-8"))["seed"])
        for attack, chunks in ledger.done.items():
            for chunk in chunks:
                if (key := (ledger.seed, attack, chunk)) in seen:
                    raise SystemExit(f"soak: {path} and {seen[key]} hold the same chunk {key}")
                seen[key] = path
        for attack, counts in ledger.counts.items():
            total.setdefault(attack, AttackCounts()).add(counts)
    return total


def interleave(
    missing: Mapping[str, Sequence[int]], chunks: Mapping[str, int]
) -> list[tuple[str, int]]:
    """Return the missing chunks of all attacks, so ordered that all advance at the same pace.

    >>> interleave({"a": [0, 1, 2, 3], "b": [1]}, {"a": 4, "b": 2})
    [('a', 0), ('a', 1), ('a', 2), ('b', 1), ('a', 3)]
    """
    due = [((n + 1) / chunks[name], name, n) for name, numbers in missing.items() for n in numbers]
    return [(name, n) for _, name, n in sorted(due, key=lambda chunk: chunk[0])]


def markdown_table(counts_by_attack: dict[str, AttackCounts]) -> str:
    """Return a table with one row per attack, one column per fault, and the sums below."""
    total = AttackCounts()
    for counts in counts_by_attack.values():
        total.add(counts)
    rows = [("attack", "attacks", "ended", "seconds", *FAULTS)]
    for name, counts in (*counts_by_attack.items(), ("all", total)):
        ends = ", ".join(f"{n} {end}" for end, n in counts.ends.most_common() if name != "all")
        faults = (str(counts.faults[fault]) for fault in FAULTS)
        rows.append((name, str(counts.attacks), ends, f"{counts.seconds:.0f}", *faults))
    return "\n".join(_line(row) for row in (rows[0], ("---",) * len(rows[0]), *rows[1:]))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def with_table(page: str, table: str) -> str:
    """Return the page with another table of attacks in the place of its own."""
    lines = page.splitlines()
    (first,) = [i for i, line in enumerate(lines) if line.startswith("| attack | attacks |")]
    last = next(i for i in range(first, len(lines)) if not lines[i].startswith("|"))
    return "\n".join([*lines[:first], table, *lines[last:]]) + "\n"
