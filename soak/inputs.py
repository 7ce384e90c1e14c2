"""Damaged files for fit, apply and sweep: the answer is finite predictions, or one line."""

import contextlib
import io
import json
import re
import tempfile
import tomllib
from functools import cache
from pathlib import Path

import numpy as np

import onegrad as og
from onegrad.cli import main
from onegrad.experiments import read_spec
from onegrad.experiments.grid import all_cells, count_cells
from onegrad.experiments.spec import parse_spec
from onegrad.studies.measures import MEASURES
from onegrad.tables import load
from soak import forgeries, mutations
from soak.ledger import AttackCounts, attempt

SWEEPS = Path(__file__).parents[1] / "sweeps"
NOT_NUMBERS = {"nan", "inf", "-inf", "", '""'}
MAX_LINE = 1000  # characters
MAX_CELLS_MADE = 3000  # more are only counted


def use_files(suffix: str, rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Fit to files of one kind, apply a model to them, or use them as the model."""
    counts = AttackCounts()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            fitting = suffix != ".model" and bool(rng.integers(2))
            data = _damaged_file(rng, suffix, fitting)
            with attempt(counts, f"{where}.{i}"):
                _command(counts, f"{where}.{i}", Path(folder), suffix, data, fitting)
    return counts


def _damaged_file(rng: np.random.Generator, suffix: str, fitting: bool) -> bytes:
    """Return a file that is damaged, or, half of the time, a sound file of something else."""
    if rng.integers(2):
        return forgeries.forge_file(rng, suffix)
    return mutations.damage(
        rng, mutations.EXAMPLE_FILES[suffix]() if fitting else _without_target(suffix)
    )


def _without_target(suffix: str) -> bytes:
    """Return a file to apply a model to: in a matrix the target cannot be left out by name."""
    if suffix != ".npy":
        return mutations.EXAMPLE_FILES[suffix]()
    matrix = np.load(io.BytesIO(mutations.npy_file()))
    return mutations.written(lambda file: np.save(file, matrix[:, :-1]))


@cache
def _model(suffix: str) -> bytes:
    """Return a model of the undamaged file."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / f"good{suffix}"
        data.write_bytes(mutations.EXAMPLE_FILES[suffix]())
        code, stderr = run_command(_fit(data, suffix, Path(folder) / "m"))
        assert code == 0, stderr
        return (Path(folder) / "m").read_bytes()


def _fit(data: Path, suffix: str, out: Path, card: bool = False) -> list[str]:
    target = mutations.EXAMPLE_TARGETS[suffix]
    options = ["--force"] if card else ["--no-card"]
    return ["fit", str(data), f"--target={target}", "--out", str(out),
            "--estimator", "one-step", "--width", "6", *options]  # fmt: skip


def _command(
    counts: AttackCounts, where: str, folder: Path, suffix: str, data: bytes, fitting: bool
) -> None:
    """Fit to the damaged file, or apply a model to it; predictions must be numbers."""
    damaged, model = folder / f"damaged{suffix}", folder / "m"
    damaged.write_bytes(data)
    out = folder / "p.csv"
    out.unlink(missing_ok=True)
    applied = damaged
    if fitting:
        model.unlink(missing_ok=True)
        card = where.endswith("7")  # one in ten
        code, stderr = run_command(_fit(damaged, suffix, model, card))
    elif suffix == ".model":
        model, applied = damaged, folder / "good.csv"
        applied.write_bytes(mutations.csv_file())
        code, stderr = 0, ""
    else:
        model.write_bytes(_model(suffix))
        code, stderr = 0, ""
    if code == 0:
        code, stderr = run_command(["apply", str(model), str(applied), "--out", str(out)])
        if code == 0 and set(out.read_text("utf-8").lower().split()) & NOT_NUMBERS:
            counts.fault("wrong", where, "predictions that are not numbers, exit code 0")
    if code not in (0, 1, 2) or not _in_one_line(code, stderr):
        counts.fault("foreign", where, f"exit code {code}: {stderr}")
    if list(folder.glob(".*.tmp")):
        counts.fault("left", where, "a draft")
    counts.ends[{0: "numbers", 1: "failed in one line", 2: "refused"}.get(code, "?")] += 1


def _in_one_line(code: int, stderr: str) -> bool:
    """Return whether there are only notes of one line, and after a failure one that says why."""
    lines = stderr.splitlines()
    reasons = [re.match(r"onegrad \w+: (error|failed): .", line) for line in lines]
    notes = [re.match(r"onegrad \w+: note: .", line) for line in lines]
    return (
        all(reason or note for reason, note in zip(reasons, notes, strict=True))
        and sum(map(bool, reasons)) == bool(code)
        and all(len(line) <= MAX_LINE for line in lines)
    )


def run_command(command: list[str]) -> tuple[int, str]:
    """Return the exit code of a command, run in this process, and its standard error."""
    stderr = io.StringIO()
    with contextlib.redirect_stderr(stderr), contextlib.redirect_stdout(io.StringIO()):
        try:
            return main(command), stderr.getvalue()
        except SystemExit as exit_:
            return int(exit_.code or 0), stderr.getvalue()


def use_stale_models(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Load models that were edited without new digests, whatever format they say they have."""
    counts, formats = AttackCounts(), (*range(8), -1, 4.0, "4", "5", True, None, [5], 10**30)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stale.model"
        for i in range(count):
            models = forgeries.example_models()
            members = mutations.unzipped(models[int(rng.integers(len(models)))])
            arrays = sorted(name for name in members if name.endswith(".npy"))
            name = arrays[int(rng.integers(len(arrays)))]
            changed = bytearray(members[name])
            changed[-1 - int(rng.integers(8))] ^= 1 << int(rng.integers(8))
            header = json.loads(members["model.json"])
            header["format"] = formats[int(rng.integers(len(formats)))]
            members |= {name: bytes(changed), "model.json": json.dumps(header).encode()}
            if rng.integers(2):  # the header is told, the array is not
                members = forgeries.with_digests(members) | {name: bytes(changed[::-1])}
            path.write_bytes(mutations.zipped(members))
            with attempt(counts, f"{where}.{i}", (og.InvalidInput,)):
                load(path)
                counts.fault("wrong", f"{where}.{i}", f"format {header['format']}: it is loaded")
    return counts


def read_specs(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Read damaged sweeps: the answer is cells, or one line that names what is wrong."""
    counts = AttackCounts()
    examples = [path.read_bytes() for path in sorted(SWEEPS.glob("*.toml"))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "damaged.toml"
        for i in range(count):
            example, quick = examples[int(rng.integers(len(examples)))], bool(rng.integers(2))
            forged = None
            if rng.integers(2):
                forged = forgeries.forge_spec(rng, tomllib.loads(example.decode()))
            else:
                path.write_bytes(mutations.damage(rng, example))
            with attempt(counts, f"{where}.{i}", (og.InvalidInput,)):
                if isinstance(forged, dict):  # as TOML would give it
                    spec = parse_spec(forged, "forged", MEASURES, quick=quick)
                else:
                    spec = read_spec(path, MEASURES, quick=quick)
                if sum(map(count_cells, spec.grids)) <= MAX_CELLS_MADE:
                    all_cells(spec)
                counts.ends["cells"] += 1
    return counts
