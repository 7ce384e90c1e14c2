"""onegrad sweep: any grid, resumable."""

import argparse
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from onegrad.cli.options import add_command, add_escape, add_force
from onegrad.cli.output import check_table, print_json, write_tables
from onegrad.exceptions import printable
from onegrad.experiments.grid import all_cells, shard, store_part
from onegrad.experiments.runner import RunOptions, executor, run_cells
from onegrad.experiments.spec import Spec, read_spec
from onegrad.experiments.store import Store
from onegrad.experiments.tables import export
from onegrad.io.files import STANDARD_OUTPUT, output_file
from onegrad.io.progress import TerminalProgress
from onegrad.studies.measures import MEASURES

_EXAMPLES = (
    "onegrad sweep run sweeps/staircase.toml --workers 4",
    "onegrad sweep run sweeps/staircase.toml --shard 2/8        # one of eight batch jobs",
    "onegrad sweep status sweeps/staircase.toml",
    "onegrad sweep export sweeps/staircase.toml --format parquet",
)
ACTIONS = {
    "run": "compute missing cells",
    "status": "show done, missing and failed cells",
    "export": "write the results as one table",
}
FORMATS = ("csv", "parquet")  # of a table
COUNTED = ("done", "failed", "damaged")  # cells, in the lines of status


def add_parser(subparsers: Any) -> None:
    """Add `onegrad sweep` with its actions."""
    summary = "run any grid of problems, resumable"
    description = "Run the cells of a grid that are not in its store yet."
    # its actions have --json
    parser = add_command(subparsers, "sweep", summary, description, *_EXAMPLES, json_option=False)
    actions = parser.add_subparsers(dest="action", metavar="run|status|export", required=True)
    for name, text in ACTIONS.items():
        example = f"onegrad sweep {name} sweeps/staircase.toml"
        action = add_command(actions, name, text, f"{text.capitalize()}.", example)
        action.add_argument("spec", type=Path, metavar="SPEC.toml", help="file with the grids")
        action.add_argument("--store", type=Path, metavar="DIR", help="default out/NAME")
        if name == "run":
            add_run_options(action)
            action.add_argument("--shard", metavar="i/k", help="only part i of k (from 1)")
        action.add_argument("--quick", action="store_true", help="small sizes, few seeds")
        if name == "export":
            all_cells = "also the store's cells of other grids, whose column grid is empty"
            action.add_argument("--all", action="store_true", help=all_cells)
            action.add_argument("--format", type=str.lower, choices=FORMATS, default="csv")
            out = "default STORE/table.EXT; - for CSV on standard output"
            action.add_argument("--out", type=Path, metavar="FILE", help=out)
            add_force(action)
            add_escape(action)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where cells run."""
    parser.add_argument(
        "--device", default="cpu", help="cpu (default) or cuda; each of --workers uses one GPU"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, metavar="K", help="a local Dask cluster of K workers")
    where.add_argument("--cluster", metavar="tcp://…", help="an existing Dask scheduler")


def run_options(args: argparse.Namespace) -> RunOptions:
    """Return where cells run, from the options of `add_run_options` and --shard."""
    if args.device.split(":")[0] == "cuda":
        print(
            "random numbers are drawn on the device, and recorded so; "
            "random = 'host' among a grid's options draws the same on every device",
            file=sys.stderr,
        )
    return RunOptions(args.workers, args.cluster, args.device, args.shard)


@contextmanager
def surviving_hangup() -> Iterator[None]:
    """Go on when the terminal is closed; whatever cells are started inherit that."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGHUP"):
        yield
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def run(args: argparse.Namespace) -> int:
    """Run, describe or export a grid."""
    spec = read_spec(args.spec, MEASURES, quick=args.quick)
    directory = args.store or Path("out") / spec.name
    action = {"run": _run, "status": _status, "export": _export}[args.action]
    return action(args, spec, directory)


def _run(args: argparse.Namespace, spec: Spec, directory: Path) -> int:
    options, progress = run_options(args), TerminalProgress(spec.name)
    cells = shard((c for grid in all_cells(spec).values() for c in grid), options.shard)
    with (
        surviving_hangup(),
        executor(options) as execute,
        Store(directory, part=store_part(options.shard)) as store,
    ):
        done = run_cells(cells, store, MEASURES, execute, device=options.device, progress=progress)
    if args.json:
        print_json({"store": str(directory), **done.__dict__})
    else:
        print(
            f"{done.computed} computed, {done.skipped} in the store already, {done.failed} failed "
            f"of {done.cells} cells in {done.seconds:.1f} s; store: {directory}"
        )
    return 1 if done.failed else 0


def _status(args: argparse.Namespace, spec: Spec, directory: Path) -> int:
    with Store(directory, create=False) as store:
        condition = store.condition()
    rows = []
    for name, cells in all_cells(spec).items():
        keys = {cell.key for cell in cells}
        counts = {field: len(keys & set(getattr(condition, field))) for field in COUNTED}
        rows.append({"grid": name, "cells": len(keys), **counts})
    if args.json:
        problems = {"failures": condition.failed, "damages": condition.damaged}
        print_json({"store": str(directory), "grids": rows, **problems})
        return 0
    for row in rows:
        damaged = ", {damaged} damaged" if row["damaged"] else ""
        print(("{grid}: {done} of {cells} cells done, {failed} failed" + damaged).format(**row))
    for word, messages in (("failed", condition.failed), ("damaged", condition.damaged)):
        for key, message in messages.items():
            print(printable(f"{word} {key:.12}: {message}"), file=sys.stderr)
    return 0


def _export(args: argparse.Namespace, spec: Spec, directory: Path) -> int:
    target = args.out or directory / f"table.{args.format}"
    suffix = f".{args.format}"
    with Store(directory, create=False) as store:
        if not check_table(args, suffix):
            others = [args.spec, *directory.glob("*.sqlite*")]
            # the store's own table is made anew
            output_file(target, "--out", replace=args.out is None or args.force, others=others)
        table = export(store, all_cells(spec), args.all)
    write_tables(target, suffix, [table], args.escape)
    if args.json:
        print_json({"file": str(target), "rows": table.num_rows})
    elif str(target) != STANDARD_OUTPUT:
        print(f"{table.num_rows} rows in {target}")
    return 0
