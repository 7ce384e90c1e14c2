"""Attack this software and count what breaks.

    python -m soak --kills 300 --inputs 10000 --seconds 600

Kills of sweeps, random problems through every theory, damaged files, specs and requests. The same
seed makes the same attacks; what was done is kept in a file, and a second call goes on where the
first stopped. All kinds advance together: a run that is stopped had some of each. The table at the
end has a column for each kind of fault; exit code 1 when one is not zero.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from onegrad.parallel.children import child_map  # noqa: E402
from soak.chunks import KINDS, crashed, work  # noqa: E402
from soak.ledger import Ledger, evenly, table  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--inputs", type=int, default=10_000, help="files, specs and requests")
    parser.add_argument("--problems", type=int, help="random problems (default: as --inputs)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(KINDS), help="kinds, with commas between")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ledger", type=Path, default=Path("out/soak.json"))
    args = parser.parse_args()
    kinds = args.only.split(",")
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"--only {', '.join(unknown)}: allowed are {', '.join(KINDS)}")
    asked = {"kills": args.kills, "inputs": args.inputs, "problems": args.problems or args.inputs}
    ledger, end = Ledger(args.ledger, args.seed), time.monotonic() + args.seconds

    def tasks() -> Iterator[tuple[str, int, int]]:
        counts = {kind: KINDS[kind].chunks(asked[KINDS[kind].asked]) for kind in kinds}
        for kind, number in evenly({k: ledger.missing(k, n) for k, n in counts.items()}, counts):
            if time.monotonic() < end:
                yield kind, args.seed, number

    for kind, number, tally in child_map(work, tasks(), args.jobs, lost=crashed):
        ledger.note(kind, number, tally)
        for example in tally.examples:
            print(example, file=sys.stderr, flush=True)
    print(table(ledger.tallies))
    return 1 if any(sum(tally.faults.values()) for tally in ledger.tallies.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
