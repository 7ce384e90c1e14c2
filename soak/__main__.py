"""Attack this software and count what breaks.

    python -m soak --kills 300 --inputs 10000 --seconds 600 --seed 7 --json out/seven.json
    python -m soak.add out/*.json --page docs/reliability.md

Sweeps are killed, interrupted and copied, random problems go through every theory, stores, files,
specs and requests are damaged. The same seed makes the same attacks. What was done is kept in a
file, and a second call continues where the first stopped. All attacks advance together, so that a
run that is stopped had some of each. The table at the end has one column per kind of fault; the
exit code is 1 unless all are zero.
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
from soak.chunks import ATTACKS, crashed_chunk, run_chunk  # noqa: E402
from soak.ledger import Ledger, interleave, markdown_table  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--inputs", type=int, default=10_000, help="files, specs and requests")
    parser.add_argument("--problems", type=int, help="random problems (default: as --inputs)")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="stop after so many seconds"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(ATTACKS), help="attacks, separated by commas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", "--ledger", dest="ledger", type=Path,
                        default=Path("out/soak.json"), help="the counts, which add up")  # fmt: skip
    args = parser.parse_args()
    names = args.only.split(",")
    if unknown := set(names) - set(ATTACKS):
        parser.error(f"--only {', '.join(unknown)}: allowed are {', '.join(ATTACKS)}")
    totals = {"kills": args.kills, "inputs": args.inputs, "problems": args.problems or args.inputs}
    ledger, end = Ledger(args.ledger, args.seed), time.monotonic() + args.seconds

    def tasks() -> Iterator[tuple[str, int, int]]:
        chunks = {name: ATTACKS[name].chunk_count(totals[ATTACKS[name].option]) for name in names}
        missing = {name: ledger.missing(name, count) for name, count in chunks.items()}
        for name, number in interleave(missing, chunks):
            if time.monotonic() < end:
                yield name, args.seed, number

    for name, number, counts in child_map(run_chunk, tasks(), args.jobs, lost=crashed_chunk):
        ledger.record(name, number, counts)
        for example in counts.examples:
            print(example, file=sys.stderr, flush=True)
    print(markdown_table(ledger.counts))
    return 1 if any(sum(counts.faults.values()) for counts in ledger.counts.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
