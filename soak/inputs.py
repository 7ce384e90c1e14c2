"""Damaged files to fit, apply and sweep: predictions that are numbers, or one line."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

import forgeries
import mutations
import onegrad as og
from onegrad.cli import main
from onegrad.experiments import read_spec
from onegrad.experiments.grid import all_cells, count_cells
from onegrad.experiments.spec import parse_spec
from onegrad.studies.measures import MEASURES
from soak.attempt import attempt
from soak.ledger import Tally

SWEEPS = Path(__file__).parents[1] / "sweeps"
NO_NUMBERS = {"nan", "inf", "-inf", "", '""'}
LONGEST_LINE = 1000  # characters
FEW = 3000  # cells that are made; more are only counted


def files(suffix: str) -> Callable[[np.random.Generator, int, str], Tally]:
    """Attacks with files of one kind: fitted, applied to, or as the model itself."""

    def attacks(rng: np.random.Generator, count: int, where: str) -> Tally:
        tally = Tally()
        with tempfile.TemporaryDirectory() as folder:
            for i in range(count):
                fitting = suffix != ".model" and bool(rng.integers(2))
                data = _damaged(rng, suffix, fitting)
                with attempt(tally, f"{where}.{i}", ()):
                    _command(tally, f"{where}.{i}", Path(folder), suffix, data, fitting)
        return tally

    return attacks


def _damaged(rng: np.random.Generator, suffix: str, fitting: bool) -> bytes:
    """Half are damaged as files, half are sound files of something else."""
    if rng.integers(2):
        return forgeries.forged(rng, suffix)
    return mutations.mutated(
        rng, mutations.EXAMPLES[suffix]() if fitting else _without_target(suffix)
    )


def _without_target(suffix: str) -> bytes:
    """What is applied to; the columns of a matrix have no names by which to leave one out."""
    if suffix != ".npy":
        return mutations.EXAMPLES[suffix]()
    buffer = io.BytesIO()
    np.save(buffer, np.load(io.BytesIO(mutations.npy_file()))[:, :-1])
    return buffer.getvalue()


@cache
def _model(suffix: str) -> bytes:
    """A model of the undamaged file."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / f"good{suffix}"
        data.write_bytes(mutations.EXAMPLES[suffix]())
        code, said = _run(_fit(data, suffix, Path(folder) / "m"))
        assert code == 0, said
        return (Path(folder) / "m").read_bytes()


def _fit(data: Path, suffix: str, out: Path) -> list[str]:
    target = mutations.TARGETS[suffix]
    return ["fit", str(data), f"--target={target}", "--out", str(out),
            "--estimator", "one-step", "--width", "6"]  # fmt: skip


def _command(
    tally: Tally, where: str, folder: Path, suffix: str, data: bytes, fitting: bool
) -> None:
    """`fit` on the damaged file, or `apply` with it; what is predicted must be numbers."""
    damaged, model = folder / f"damaged{suffix}", folder / "m"
    damaged.write_bytes(data)
    out = folder / "p.csv"
    out.unlink(missing_ok=True)
    applied = damaged
    if fitting:
        model.unlink(missing_ok=True)
        code, said = _run(_fit(damaged, suffix, model))
    elif suffix == ".model":
        model, applied = damaged, folder / "good.csv"
        applied.write_bytes(mutations.csv_file())
        code, said = 0, ""
    else:
        model.write_bytes(_model(suffix))
        code, said = 0, ""
    if code == 0:
        code, said = _run(["apply", str(model), str(applied), "--out", str(out)])
        if code == 0 and set(out.read_text().lower().split()) & NO_NUMBERS:
            tally.fault("wrong", where, "predictions that are no numbers, exit code 0")
    if code not in (0, 1, 2) or not _in_one_line(code, said):
        tally.fault("foreign", where, f"exit code {code}: {said}")
    if list(folder.glob(".*.tmp")):
        tally.fault("left", where, "a draft")
    tally.ends[{0: "numbers", 1: "failed in one line", 2: "refused"}.get(code, "?")] += 1


def _in_one_line(code: int, said: str) -> bool:
    """Notes of a line each; where it failed one line more that says why, and nothing else."""
    lines = said.splitlines()
    whys = [re.match(r"onegrad \w+: (error|failed): .", line) for line in lines]
    notes = [re.match(r"onegrad \w+: note: .", line) for line in lines]
    return (
        all(why or note for why, note in zip(whys, notes, strict=True))
        and sum(map(bool, whys)) == bool(code)
        and all(len(line) <= LONGEST_LINE for line in lines)
    )


def _run(command: list[str]) -> tuple[int, str]:
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            return main(command), said.getvalue()
        except SystemExit as stopped:
            return int(stopped.code or 0), said.getvalue()


def specs(rng: np.random.Generator, count: int, where: str) -> Tally:
    """Damaged sweeps: cells, or one line that names what is wrong."""
    tally = Tally()
    examples = [path.read_bytes() for path in sorted(SWEEPS.glob("*.toml"))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "damaged.toml"
        for i in range(count):
            example, quick = examples[int(rng.integers(len(examples)))], bool(rng.integers(2))
            forged = None
            if rng.integers(2):
                forged = forgeries.spec(rng, tomllib.loads(example.decode()))
            else:
                path.write_bytes(mutations.mutated(rng, example))
            with attempt(tally, f"{where}.{i}", (og.InvalidInput,)):
                if isinstance(forged, dict):  # as TOML would give it
                    spec = parse_spec(forged, "forged", MEASURES, quick=quick)
                else:
                    spec = read_spec(path, MEASURES, quick=quick)
                if sum(map(count_cells, spec.grids)) <= FEW:
                    all_cells(spec)
                tally.ends["cells"] += 1
    return tally
