"""Damaged stores, and stores that are copied while they are written: nothing wrong is ever read."""

import contextlib
import io
import itertools
import shutil
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from onegrad.experiments import Store, StoreError, parse_spec, run_cells
from onegrad.experiments.grid import all_cells
from onegrad.experiments.tables import export
from onegrad.studies.measures import MEASURES
from soak import sweeping
from soak.kills import SMALL, AttackedStore, expected_cells
from soak.ledger import AttackCounts, attempt
from soak.processes import start_runner

Cells = dict[str, dict[str, bytes]]
SIZE = (("cells", 6), ("numbers", 600), ("wait", 0.0))


@cache
def _sound_store() -> tempfile.TemporaryDirectory[str]:
    """Return the folder of a store, which stays as long as this process."""
    folder = tempfile.TemporaryDirectory()
    sweeping.sweep(folder.name, dict(SIZE))
    return folder


def damage_stores(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Damage a copy of a store: it is read as it was written, or it says so, and it is mended."""
    counts, expected = AttackCounts(), expected_cells(SIZE)
    for i in range(count):
        name = f"{where}.{i}"
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(shutil.copytree(_sound_store().name, Path(folder) / "store"))
            _damage(rng, directory)
            with attempt(counts, name, (StoreError,)), contextlib.redirect_stderr(io.StringIO()):
                _compare(counts, name, directory, expected)
                sweeping.sweep(str(directory), dict(SIZE))  # computes what is damaged
                _compare(counts, name, directory, expected)
                with Store(directory, create=False) as store:
                    if store.done() != expected.keys():
                        counts.fault("lost", name, "not all there after a run")
                counts.ends["the same after a run"] += 1
    return counts


def _damage(rng: np.random.Generator, directory: Path) -> None:
    arrays = sorted((directory / "arrays").iterdir())
    kind = rng.random()
    if kind < 0.5:  # bits of the database
        _flip(rng, directory / "cells.sqlite")
    elif kind < 0.7:
        _flip(rng, arrays[int(rng.integers(len(arrays)))])
    elif kind < 0.8:
        one, other = rng.choice(len(arrays), 2, replace=False)
        first, second = arrays[one].read_bytes(), arrays[other].read_bytes()
        arrays[one].write_bytes(second)
        arrays[other].write_bytes(first)
    else:
        path = [*arrays, directory / "cells.sqlite"][int(rng.integers(len(arrays) + 1))]
        if rng.random() < 0.3 and path in arrays:
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[: int(rng.integers(path.stat().st_size))])


def _flip(rng: np.random.Generator, path: Path) -> None:
    data = bytearray(path.read_bytes())
    for place in rng.integers(len(data), size=int(rng.integers(1, 21))):
        data[place] ^= 1 << int(rng.integers(8))
    path.write_bytes(data)


def _compare(counts: AttackCounts, name: str, directory: Path, expected: Cells) -> None:
    """Read the damaged store: what is read is what was written."""
    with contextlib.suppress(StoreError), Store(directory, create=False) as store:
        for record in store.records():
            values = {key: value.tobytes() for key, value in record.values.items()}
            if expected.get(record.cell.key) != values:
                counts.fault("wrong", name, f"cell {record.cell.key} was read")
        export(store, {}, whole_store=True)


def export_edited_specs(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Edit a spec and run it again: its export has its rows alone, and no seed twice."""
    counts = AttackCounts()
    while counts.attacks < count:
        rows_of_store = set[tuple[int, int]]()
        with tempfile.TemporaryDirectory() as folder, Store(Path(folder)) as store:
            for _ in range(min(5, count - counts.attacks)):
                name = f"{where}.{counts.attacks}"
                grids = [_random_grid(rng, i) for i in range(int(rng.integers(1, 4)))]
                rows = {(d, s) for g in grids for d in g["problem"]["d"] for s in range(g["seeds"])}
                rows_of_store |= rows
                with attempt(counts, name):
                    cells = all_cells(parse_spec({"grid": grids}, "edited", MEASURES))
                    run_cells(itertools.chain(*cells.values()), store, MEASURES, map)
                    for whole, expected in (False, rows), (True, rows_of_store):
                        table = export(store, cells, whole).to_pydict()
                        exported = list(zip(table["d"], table["seed"], strict=True))
                        if len(set(exported)) < len(exported):
                            counts.fault("doubled", name, grids)
                        if set(exported) != expected:
                            counts.fault("wrong", name, f"{set(exported) ^ expected}, {grids}")
                    counts.ends["the rows of its spec"] += 1
    return counts


def _random_grid(rng: np.random.Generator, number: int) -> dict[str, Any]:
    d = sorted({int(k) for k in rng.integers(5, 9, int(rng.integers(1, 4)))})
    return {
        "name": f"grid {number}",
        "measure": "rehearsal",
        "seeds": int(rng.integers(1, 7)),
        "seeds_per_cell": int(rng.integers(1, 7)),
        "options": {"wait": 0.0, "numbers": 2},
        "problem": {"n": 10, "d": d, "N": 5},
    }


def copy_running_stores(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Copy a store while a runner writes it: the copy is a whole subset, and can be resumed."""
    counts, expected = AttackCounts(), expected_cells(SMALL)
    while counts.attacks < count:
        with tempfile.TemporaryDirectory() as folder:
            running = Path(folder) / "running"
            attacked = AttackedStore(counts, where, running, SMALL)
            runner, _ = start_runner(rng, running, dict(SMALL), jobs=1)
            for k in range(min(8, count - counts.attacks)):
                attacked.wait(runner, int(rng.integers(1, 12)), rng.uniform(0, 0.01))
                _copy(counts, f"{where}.{counts.attacks}", running, Path(folder) / str(k), expected)
            if code := runner.wait():
                counts.fault("crashed", where, f"the runner ended with {code}")
            last = AttackedStore(counts, where, Path(folder) / str(k), SMALL)
            last.resume_and_compare()
    return counts


def _copy(counts: AttackCounts, name: str, running: Path, copy: Path, expected: Cells) -> None:
    with attempt(counts, name, (StoreError,)):
        for _ in range(100):  # files that were renamed meanwhile
            shutil.rmtree(copy, ignore_errors=True)
            with contextlib.suppress(shutil.Error, FileNotFoundError):
                shutil.copytree(running, copy)
                break
            time.sleep(0.01)
        if not list(copy.glob("*.sqlite")):
            counts.ends["not there yet"] += 1
            return
        with Store(copy, create=False) as store:
            for key in store.done():
                values = store.values(key) or {}
                if expected.get(key) != {n: value.tobytes() for n, value in values.items()}:
                    counts.fault("wrong", name, f"cell {key} of a copy")
        counts.ends["a whole subset"] += 1
