"""Draw random settings like those in benchmarks/settings, and simulate them.

    python benchmarks/draw_settings.py --out DIR [--seed 20261] [--device cuda] [--count 40]
        [--networks 256] [--precise-count 30] [--precise-networks 3000] [--minutes 5] [KIND...]

KIND is one of same, covariance, labels, steps, precise (all of these by default), which are drawn
like the other files, calibration: fresh rows over a wider range, with steep activations, n < d
and steps up to alpha = 0.7, or preconditioned: such steps, at sizes for a CPU. The seed alone
decides the problems. Kinds take turns, one setting at a time, and DIR/held_out_KIND.json (or
KIND_settings.json) is written after each, so that a run that is stopped, or has used up its
minutes, leaves files that are whole.
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from settings_files import write_settings

import onegrad as og

ACTIVATIONS = ("tanh", "erf", "sigmoid", "relu", "gelu", "silu", "softplus", "H1 + H2/2")
TEACHERS = ("H1", "tanh", "sin", "relu", "silu", "H1 + H2/sqrt(2)", "H1 + H3/sqrt(6)",
            "H1 + H2/2 + H3/6")  # fmt: skip
INPUTS = ("spiked(2)", "spiked(5)", "spiked(20)", "power-law(0.25)", "power-law(0.5)",
          "power-law(0.75)", "power-law(1.0)")  # fmt: skip
STEPS = {
    "same": (0.0, 0.15, 0.3, 0.4, 0.5),
    "covariance": (0.0, 0.15, 0.3, 0.4, 0.5),
    "labels": (0.0, 0.15, 0.3, 0.4, 0.5),
    "steps": (0.0, 0.1, 0.2, 0.3, 0.4),
    "precise": (0.0, 0.2, 0.35, 0.5),
    "calibration": (0.0, 0.2, 0.35, 0.5, 0.6, 0.7),
    "preconditioned": (0.0, 0.2, 0.35, 0.5),
}
STEEP = ("sin", "H1 + H2/2 + H3/6", "H1 + 0.3*H3", "H1 + 0.2*H2 + 0.1*H4")  # in calibration only
SIZES = {"precise": (600, 1000, 1500), "calibration": (400, 600, 1000, 1500),
         "preconditioned": (400, 600)}  # of n  # fmt: skip
RATIOS = {"precise": (0.14, 1.25), "calibration": (0.1, 2.5), "preconditioned": (0.2, 1.25)}  # d/n
USUAL_RATIOS = (0.14, 1.65)
HELD_OUT = ("same", "covariance", "labels", "steps", "precise")
USUAL_SIZES = (1000, 1500, 2000)
FIRST_ID = 2000
MAX_SIZE = 3000  # of d and N


def draw_fields(kind: str, random: np.random.Generator) -> dict[str, Any]:
    """Return the fields of one random problem, all but its step."""

    def one(*values: Any) -> Any:
        return values[int(random.integers(len(values)))]

    def log_uniform(low: float, high: float) -> float:
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    n = one(*SIZES.get(kind, USUAL_SIZES))
    d = min(round(n * log_uniform(*RATIOS.get(kind, USUAL_RATIOS))), MAX_SIZE)
    wide = kind == "calibration"
    fields = {
        "n": n,
        "d": d,
        "N": min(round(d * log_uniform(0.37, 2.7)), MAX_SIZE),
        "n_step": n if kind == "same" else int(n * one(0.5, 1, 2)),
        "activation": one(*ACTIVATIONS, *(STEEP if wide else ())),
        "teacher": one(*TEACHERS),
        "noise": one(0.0, 0.1, 0.3, 1.0),
        "ridge": log_uniform(1e-4 if wide else 1e-3, 1.0),
        "weights": one("gaussian", "sphere"),
        "readout": one("gaussian", "gaussian", "constant", "rademacher"),
        "residual": one("labels", "full"),
    }
    if kind == "same":
        return fields | {"ridge_rows": "same"}
    if kind == "covariance":
        inputs, overlap = one(*INPUTS), one(0.0, 0.3, 0.7)
        overlap = overlap if inputs.startswith("spiked") else 0.0
        return fields | {"inputs": inputs, "input_overlap": overlap}
    if kind == "preconditioned":
        return fields | {"update": kind}
    if kind == "labels":
        return fields | {"labels": one("centred", "residual-linear")}
    if kind == "steps":
        return fields | {"steps": 2, "batches": "fresh", "later_alpha": one(0.0, 0.1, 0.2, 0.3)}
    return fields


def simulate(kind: str, number: int, fields: dict[str, Any], networks: int, device: str) -> Any:
    """Return a row of the file: the setting with means and standard errors."""
    alphas = list(STEPS[kind])
    simulation = og.simulate(og.Problem(**fields), seeds=networks, device=device, alpha=alphas)

    def pairs(name: str) -> list[list[float]]:
        errors = [getattr(measured, name) for measured in (simulation.train, simulation.test)]
        columns = np.stack(errors, axis=-1)
        return [[float(f"{x:.6g}") for x in row] for row in columns]

    return (
        {"id": number}
        | fields
        | {"alphas": alphas, "networks": networks, "mean": pairs("mean"), "se": pairs("se")}
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", default=HELD_OUT)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=20261)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--networks", type=int, default=256)
    parser.add_argument("--precise-count", type=int, default=30)
    parser.add_argument("--precise-networks", type=int, default=3000)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", og.AssumptionWarning)
    options.out.mkdir(parents=True, exist_ok=True)
    kinds = list(STEPS)
    generators = {k: np.random.default_rng([options.seed, kinds.index(k)]) for k in options.kinds}
    rows: dict[str, list[Any]] = {kind: [] for kind in options.kinds}
    began = time.perf_counter()
    for number in range(max(options.count, options.precise_count)):
        for kind in options.kinds:
            precise = kind == "precise"
            if number >= (options.precise_count if precise else options.count):
                continue
            fields = draw_fields(kind, generators[kind])
            if time.perf_counter() - began > 60 * options.minutes:
                continue
            networks = options.precise_networks if precise else options.networks
            start = time.perf_counter()
            try:
                row = simulate(kind, FIRST_ID + number, fields, networks, options.device)
            except (ValueError, RuntimeError, MemoryError) as error:
                print(f"{kind} {number}: {error}; {fields}", flush=True)
                continue
            rows[kind].append(row)
            name = f"held_out_{kind}" if kind in HELD_OUT else f"{kind}_settings"
            write_settings(options.out / f"{name}.json", rows[kind])
            print(
                f"{kind} {number}: {time.perf_counter() - start:.2f} s, n={fields['n']} "
                f"d={fields['d']} N={fields['N']}",
                flush=True,
            )


if __name__ == "__main__":
    main()
