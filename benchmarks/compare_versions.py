"""Compare two versions of onegrad number by number: predictions, spectra, networks, fits, files.

    python benchmarks/compare_versions.py record FILE.npz        # once with each version
    python benchmarks/compare_versions.py compare OLD.npz NEW.npz

`record` uses public names alone, so that it runs on both versions. `compare` prints, for
each kind of number, how many there are, how many differ in any bit, and the largest relative
difference; a text (a key of a store, a message's type) must be equal.
"""

import argparse
import csv
import hashlib
import json
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import onegrad as og

Record = dict[str, np.ndarray[Any, Any]]

ACTIVATIONS = ("tanh", "erf", "relu", "softplus", "sigmoid", "gelu", "silu", "sin", "H1 + H2/2")
TEACHERS = ("H1", "H1 + H2/sqrt(2)", "tanh", "H1 + H2/2 + H3/6", "relu", "H1@1 + H2@2")
QUANTITIES = ("train", "test", "risk")
PROBLEMS = 60  # random problems that theories are asked about
PROVENANCE = {"version", "commit", "seconds"}  # columns of a store that differ from run to run

SWEEP = """
[[grid]]
measure = "errors"
seeds = 4
seeds_per_cell = 2
[grid.problem]
n = [60, 80]
d = 40
N = 50
alpha = "0:0.4:3"

[[grid]]
name = "spectra"
measure = "spectrum"
seeds = 2
[grid.problem]
n = 80
d = 40
N = 50
alpha = 0.3
"""


def random_problem(rng: np.random.Generator) -> og.Problem:
    """Return a problem that `Problem` accepts, with every field that theories read."""
    sizes = (int(10**x) for x in rng.uniform(2.0, 3.5, 4))
    fields = dict(zip(("n", "d", "N", "n_step"), sizes, strict=True))
    return og.Problem(
        **fields,
        activation=str(rng.choice(ACTIVATIONS)),
        teacher=str(rng.choice(TEACHERS)),
        noise=float(rng.choice([0.0, 0.1, 0.5])),
        ridge=float(10 ** rng.uniform(-4, 0)),
        alpha=float(rng.uniform(-0.2, 0.6)),
        weights=str(rng.choice(["gaussian", "sphere"])),
        readout=str(rng.choice(["gaussian", "constant", "rademacher"])),
        residual=str(rng.choice(["labels", "full"])),
        intercept=bool(rng.random() < 0.2),
        corrupted=float(rng.choice([0.0, 0.0, 0.2])),
    )


def predictions(record: Record) -> None:
    """Record every theory's errors, or the type of the exception, on random problems."""
    rng = np.random.default_rng(1)
    for i in range(PROBLEMS):
        problem = random_problem(rng)
        for theory in ("uniform", "staircase", "random-features", "small-step"):
            name = f"predictions/{i}/{theory}"
            try:
                prediction = og.predict(problem, theory)
            except (og.InvalidInput, og.NotConverged) as error:
                record[f"{name}/error"] = np.array(type(error).__name__)
                continue
            for quantity in (*QUANTITIES, "kernel_bound"):
                record[f"{name}/{quantity}"] = np.asarray(getattr(prediction, quantity))
            if theory == "uniform":
                for part in ("accuracy", "spread"):
                    for quantity in ("train", "test"):
                        value = getattr(getattr(prediction, part), quantity)
                        record[f"{name}/{part}/{quantity}"] = np.asarray(value)


def spectra(record: Record) -> None:
    """Record edge, spikes and alignments of both theories of the spectrum."""
    rng = np.random.default_rng(2)
    for i in range(12):
        problem = random_problem(rng)
        try:
            spectrum = og.spectrum(problem)
        except (og.InvalidInput, og.NotConverged) as error:
            record[f"spectra/{i}/error"] = np.array(type(error).__name__)
            continue
        facts = spectrum.to_dict()
        for path, value in leaves(facts):
            if isinstance(value, int | float):
                record[f"spectra/{i}/{path}"] = np.asarray(float(value))


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the numbers and texts inside nested dictionaries and lists, with their paths."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{i}]")
    else:
        yield path, value


def simulations(record: Record) -> None:
    """Record single networks: models, laws, steps, updates, dtypes."""
    base = og.Problem(n=120, d=60, N=90, alpha=0.3, noise=0.1, ridge=0.01)
    cases: dict[str, tuple[og.Problem, dict[str, Any]]] = {
        "plain": (base, {"alpha": [0.0, 0.2, 0.4], "ridge": [1e-3, 1e-1]}),
        "many-ridges": (base, {"ridge": list(np.geomspace(1e-4, 1, 7))}),
        "dual": (base.replace(n=60), {}),
        "float32": (base, {"dtype": "float32"}),
        "full": (base.replace(residual="full", activation="relu:raw"), {}),
        "same-rows": (base.replace(ridge_rows="same"), {"leave_one_out": True}),
        "two-steps": (base.replace(steps=2), {}),
        "spectral": (base.replace(update="spectral"), {}),
        "preconditioned": (base.replace(update="preconditioned"), {}),
        "student": (base.replace(inputs="student-t(5)", noise_law="student-t(3)"), {}),
        "power-law": (base.replace(inputs="power-law(1)"), {}),
        "spiked-law": (base.replace(inputs="spiked(4)"), {}),
        "mixture": (base.replace(inputs="mixture(1)"), {}),
        "indices": (base.replace(teacher="H1@1 + H2@2", intercept=True), {}),
        "labels": (base.replace(labels="centred", corrupted=0.2), {}),
        "rows": (base, {"rows": np.random.default_rng(0).standard_normal((1500, 60))}),
    }
    for model in (
        "spiked",
        "gaussian-equivalent",
        "random-features",
        "linear",
        "ntk",
        "rbf-kernel",
    ):
        cases[f"model-{model}"] = (base, {"model": model})
    for name, (problem, options) in cases.items():
        simulation = og.simulate(problem, seeds=3, n_test=300, **options)
        for quantity in (*QUANTITIES, "squared_loss", "overlap"):
            record[f"simulations/{name}/{quantity}"] = getattr(simulation, quantity).values


def fits(record: Record) -> None:
    """Record readouts, predictions, intervals and probabilities, also after rows come and go."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 6))
    y = np.tanh(X[:, 0] + X[:, 1]) + 0.1 * rng.standard_normal(400)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-0.4, 0.4])]
    fresh, weights = rng.standard_normal((50, 6)), rng.integers(1, 4, 400)
    options = {
        og.OneStepRegressor: {"width": 40, "random_state": 0},
        og.OneStepClassifier: {"width": 40, "random_state": 0},
        og.AlternatingRegressor: {"budget": "fast", "random_state": 0},
        og.AlternatingClassifier: {"budget": "fast", "random_state": 0},
    }
    for kind, parameters in options.items():
        classifies = kind.__name__.endswith("Classifier")
        target = labels if classifies else y
        for case in ("plain", "weights", "more-rows"):
            model = kind(**parameters).fit(X, target, weights if case == "weights" else None)
            if case == "more-rows":
                model.partial_fit(fresh, target[:50]).remove(X[:20], target[:20])
            name = f"fits/{kind.__name__}/{case}"
            predict = model.predict_proba if classifies else model.predict
            record[f"{name}/predict"] = predict(fresh)
            record[f"{name}/importances"] = model.feature_importances_
            if not classifies and case == "plain":
                record[f"{name}/interval"] = np.stack(model.predict_interval(fresh, 0.9))
    tables(record, rng)


def tables(record: Record, rng: np.random.Generator) -> None:
    """Record a fit on a table with text, dates and gaps, and what its saved file holds."""
    import pandas as pd

    size = rng.uniform(30, 200, 300)
    town = rng.choice(["Aachen", "Bonn", "Celle"], 300)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 300), "D")
    frame = pd.DataFrame({"size": np.where(rng.random(300) < 0.1, np.nan, size), "town": town})
    frame["day"] = day
    price = size * np.where(town == "Bonn", 4, 3) + rng.normal(0, 20, 300)
    model = og.AlternatingRegressor(budget="fast", random_state=0).fit(frame, price)
    record["fits/table/predict"] = model.predict(frame)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "price.model"
        model.save(path)
        with zipfile.ZipFile(path) as archive:
            # the digests follow from the other members, one of which names the version
            for member in sorted(set(archive.namelist()) - {"digests.json"}):
                content = archive.read(member)
                if member.endswith(".json"):
                    header = {k: v for k, v in json.loads(content).items() if k != "onegrad"}
                    content = json.dumps(header, sort_keys=True).encode()
                record[f"files/model/{member}"] = np.array(hashlib.sha256(content).hexdigest())


def sweeps(record: Record) -> None:
    """Record a store's keys and numbers through the command line."""
    with tempfile.TemporaryDirectory() as folder:
        spec, table = Path(folder) / "small.toml", Path(folder) / "small.csv"
        spec.write_text(SWEEP, "utf-8")
        command = [sys.executable, "-m", "onegrad", "sweep"]
        store = ["--store", str(Path(folder) / "store")]
        subprocess.run([*command, "run", str(spec), *store], check=True, capture_output=True)
        export = ["export", str(spec), *store, "--format", "csv", "--out", str(table)]
        subprocess.run([*command, *export], check=True, capture_output=True)
        with table.open(newline="", encoding="utf-8") as file:
            rows = sorted(csv.DictReader(file), key=lambda row: (row["key"], row["seed"]))
    for i, row in enumerate(rows):
        for column in row.keys() - PROVENANCE:
            record[f"sweeps/{i}/{column}"] = number_or_text(row[column])


def number_or_text(cell: str) -> np.ndarray[Any, Any]:
    """Return a cell of a table as a number where it is one."""
    try:
        return np.asarray(float(cell))
    except ValueError:
        return np.array(cell)


def write(path: Path) -> None:
    """Record everything this version computes."""
    record: Record = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (predictions, spectra, simulations, fits, sweeps):
            part(record)
            print(f"{part.__name__}: {len(record)} arrays so far", file=sys.stderr)
    np.savez_compressed(path, **record)


def compare(old: Path, new: Path) -> int:
    """Print the largest differences by kind; return how many arrays one of them lacks."""
    with np.load(old) as a, np.load(new) as b:
        before, after = dict(a), dict(b)
    missing = sorted(before.keys() ^ after.keys())
    kinds: dict[str, list[tuple[float, str]]] = {}
    for name in before.keys() & after.keys():
        kind = name.split("/")[0]
        kinds.setdefault(kind, []).append((difference(before[name], after[name]), name))
    print(f"{'kind':<14}{'arrays':>8}{'differ':>8}{'largest relative difference':>30}")
    for kind, differences in sorted(kinds.items()):
        worst, where = max(differences)
        count = sum(d > 0 for d, _ in differences)
        print(f"{kind:<14}{len(differences):>8}{count:>8}{worst:>30.2g}  {where if worst else ''}")
    for name in missing:
        print(f"only in {'old' if name in before else 'new'}: {name}")
    return len(missing)


def difference(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    """Return the largest difference relative to the largest entry; infinity for other texts."""
    if a.dtype.kind == "U" or b.dtype.kind == "U" or a.shape != b.shape:
        return 0.0 if np.array_equal(a, b) else float("inf")
    if not a.size or np.array_equal(a, b, equal_nan=True):
        return 0.0
    scale = float(np.nanmax(np.abs(a))) or 1.0
    return float(np.nanmax(np.abs(a - b))) / scale


def main() -> int:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record").add_argument("file", type=Path)
    both = commands.add_parser("compare")
    both.add_argument("old", type=Path)
    both.add_argument("new", type=Path)
    args = parser.parse_args()
    if args.command == "record":
        write(args.file)
        return 0
    return int(compare(args.old, args.new) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
