"""Attack this software and count what breaks.

    python -m soak --kills 300 --inputs 10000 --seconds 600 --seed 7 --json out/seven.json
    python -m soak --add out/*.json --page docs/reliability.md

Sweeps are killed, interrupted and copied, random problems go through every theory, stores, files,
specs and requests are damaged. The same seed makes the same attacks. What was done is kept in a
file, and a second call continues where the first stopped. All attacks advance together, so that a
run that is stopped had some of each. The table at the end has one column per kind of fault; the
exit code is 1 unless all are zero. The counts of several runs add up, and can be written to a page.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from onegrad.parallel.children import child_map
from soak.chunks import ATTACKS, crashed_chunk, run_chunk
from soak.ledger import AttackCounts, Ledger, interleave, markdown_table, read_ledgers, with_table


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
    parser.add_argument("--add", type=Path, nargs="+", metavar="LEDGER",
                        help="attack nothing: add the counts of other runs")  # fmt: skip
    parser.add_argument("--page", type=Path, help="with --add: the page whose table is replaced")
    args = parser.parse_args()
    if args.add:
        return report(read_ledgers(args.add), args.page)
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
    return report(ledger.counts)


def report(counts: dict[str, AttackCounts], page: Path | None = None) -> int:
    """Print the table and examples of faults, write it to a page, and return the exit code."""
    table = markdown_table(counts)
    print(table, *(example for attack in counts.values() for example in attack.examples), sep="\n")
    if page is not None:
        page.write_text(with_table(page.read_text(encoding="utf-8"), table), "utf-8")
    return int(any(sum(attack.faults.values()) for attack in counts.values()))


if __name__ == "__main__":
    raise SystemExit(main())
