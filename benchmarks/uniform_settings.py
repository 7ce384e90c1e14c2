"""The uniform theory against simulated settings: how far off it is, and what its bars are worth.

    OMP_NUM_THREADS=1 python benchmarks/uniform_settings.py [FILE...] [--half even|odd]
        [--alphas 0,0.3,0.5] [--every 4] [--jobs 4] [--groups] [--worst 12] [--json OUT]

FILE is a path, or a name in benchmarks/settings (all of them by default; its README says where
they come from). One line per file and half:

* answered: share of values with a prediction that is not refused;
* mean, 99 %, worst: of |prediction/mean - 1| less two relative standard errors, not below zero;
* covered: share of answered values with deviation^2 <= (2 s.e.)^2 + bar^2, the bar being the stated
  accuracy; beyond twice: how many have deviation > twice the root of that;
* by bars alone: share with deviation <= bar among values with a standard error up to 0.2 %;
* median bar; and the median processor time of a point.
"""

import argparse
import json
import time
import warnings
from collections import Counter
from collections.abc import Collection, Iterable
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from settings_files import FILES, Setting, named_files, read_settings

import onegrad as og

GROUPS = ("activation", "teacher", "residual", "readout", "weights", "inputs", "labels",
          "later_alpha", "alpha", "kind")  # fmt: skip
PRECISE = 2e-3  # relative standard error below which a bar is tested alone
HEAD = ("settings", "values", "answered %", "mean %", "99 % %", "worst %", "covered %",
        "beyond twice", "by bars alone % (values)", "median bar %", "CPU ms")  # fmt: skip
Row = dict[str, Any]


def compare(setting: Setting, file: str, alphas: Collection[float] | None) -> list[Row]:
    """Return one row for each step, of these alphas if given, and each of train and test."""
    rows = []
    for alpha, problem, mean, se in zip(
        setting.alphas, setting.problems(), setting.mean, setting.se, strict=True
    ):
        if alphas is not None and alpha not in alphas:
            continue
        start = time.process_time()
        prediction, refusal = predict(problem)
        seconds = time.process_time() - start
        for j, kind in enumerate(("train", "test")):
            value = np.nan if prediction is None else getattr(prediction, kind)
            bar = np.nan if prediction is None else getattr(prediction.accuracy, kind)
            rows.append(
                setting.fields
                | {"file": file, "id": setting.id, "half": setting.half, "kind": kind}
                | {"alpha": "none" if alpha is None else alpha, "refusal": refusal}
                | {"off": value / mean[j] - 1, "se": se[j] / mean[j], "seconds": seconds}
                | {"bar": bar * value / mean[j]}  # both relative to the mean over networks
            )
    return rows


def predict(problem: og.Problem) -> tuple[og.Prediction | None, str]:
    """Return a prediction, or None and the reason of a refusal."""
    try:
        return og.predict(problem), ""
    except (og.OutOfScope, og.NotConverged) as reason:
        return None, str(reason)


def column(rows: list[Row], name: str) -> np.ndarray:
    return np.array([row[name] for row in rows], dtype=float)


def beyond(rows: list[Row]) -> np.ndarray:
    """Return deviations beyond two standard errors in percent; NaN where nothing was predicted."""
    off, se = column(rows, "off"), column(rows, "se")
    return 100 * np.maximum(np.abs(off) - 2 * se, 0.0)


def line(name: str, rows: list[Row]) -> str:
    """Return one row of the table."""
    answered = [row for row in rows if np.isfinite(row["off"])]
    cells = [name, str(len(rows)), f"{100 * len(answered) / len(rows):.1f}"]
    if answered:
        deviation = beyond(answered)
        off, se, bar = (column(answered, k) for k in ("off", "se", "bar"))
        covered = off**2 <= 4 * se**2 + bar**2
        alone = (np.abs(off) <= bar)[se <= PRECISE]
        cells += [
            f"{deviation.mean():.3f}",
            f"{np.quantile(deviation, 0.99):.2f}",
            f"{deviation.max():.2f}",
            f"{100 * covered.mean():.1f}",
            str((np.abs(off) > 2 * np.hypot(2 * se, bar)).sum()),
            f"{100 * alone.mean():.1f} ({len(alone)})" if len(alone) else "(0)",
            f"{100 * np.median(bar):.2f}",
            f"{1e3 * np.median(column(answered, 'seconds')):.0f}",
        ]
    return "| " + " | ".join(cells + [""] * (len(HEAD) - len(cells))) + " |"


def halves(name: str, rows: list[Row]) -> Iterable[str]:
    """Return the line of all rows and those of both halves."""
    yield line(name, rows)
    for half in ("even", "odd"):
        part = [row for row in rows if row["half"] == half]
        if 0 < len(part) < len(rows):
            yield line(f"{name}, {half}", part)


def print_groups(rows: list[Row]) -> None:
    for group in GROUPS:
        values = {row.get(group) for row in rows} - {None}
        for value in sorted(values, key=str) if len(values) > 1 else ():
            print(line(f"{group} {value}", [row for row in rows if row.get(group) == value]))


def print_worst(rows: list[Row], count: int) -> None:
    deviation = np.nan_to_num(beyond(rows))
    hidden = {"file", "kind", "off", "se", "bar", "half", "refusal", "seconds", "alpha", "id"}
    print(f"\nThe {count} worst (percent off, standard error, bar):")
    for i in np.argsort(-deviation)[:count]:
        row = rows[i]
        fields = ", ".join(
            f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}"
            for k, v in row.items()
            if k not in hidden
        )
        print(
            f"{row['file']} {row['id']} alpha {row['alpha']} {row['kind']} {100 * row['off']:+.2f}"
            f" ({100 * row['se']:.2f}, {100 * row['bar']:.2f}): {fields}"
        )


def steps(text: str) -> tuple[float, ...]:
    return tuple(float(alpha) for alpha in text.split(","))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="*", default=[Path(name) for name in FILES])
    parser.add_argument("--half", choices=("even", "odd"), help="this half of every file only")
    parser.add_argument("--alphas", type=steps, help="these steps only, as in 0,0.3,0.5")
    parser.add_argument("--every", type=int, default=1, help="one setting in so many")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--groups", action="store_true", help="also lines by field")
    parser.add_argument("--worst", type=int, default=0, help="list so many of the worst values")
    parser.add_argument("--json", type=Path, help="write every value to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore", og.AssumptionWarning)
    print("| " + " | ".join(HEAD) + " |\n|---|" + "--:|" * (len(HEAD) - 1), flush=True)
    rows: list[Row] = []
    for path in named_files(options.files):
        settings = [s for s in read_settings(path) if options.half in (None, s.half)]
        settings = settings[:: options.every]
        work = partial(compare, file=path.stem, alphas=options.alphas)
        with Pool(options.jobs, warnings.simplefilter, ("ignore", og.AssumptionWarning)) as pool:
            part = [row for rows in pool.imap(work, settings, chunksize=1) for row in rows]
        print(*halves(path.stem.replace("_settings", ""), part), sep="\n", flush=True)
        if options.groups:
            print_groups(part)
        rows += part
    for reason, count in Counter(row["refusal"] for row in rows if row["refusal"]).most_common():
        print(f"refused, {count} values: {reason}")
    if options.worst:
        print_worst(rows, options.worst)
    if options.json:
        options.json.write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main()
