"""Measures of most studies: errors and spectra, of networks and of theory."""

import time
import warnings
from typing import Any

import numpy as np

from onegrad.arrays import get_ops
from onegrad.exceptions import AssumptionWarning, InvalidInput
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, arguments_of, option_of, seeds_of
from onegrad.networks import simulate
from onegrad.networks import spectrum as measured_spectrum
from onegrad.networks.plan import random_source
from onegrad.studies.measures import as_printed
from onegrad.theory import evaluate_theory
from onegrad.theory import spectrum as predicted_spectrum

MAX_SPIKES = 6  # spikes, and degrees of their alignments, that are returned
ERRORS = ("train", "test", "risk", "overlap")


def errors(cell: Cell, device: str) -> CellValues:
    """Return the errors of networks, (seeds, etas, ridges).

    With the option `precision` also how far they are from float64, NaN where that was not measured.
    """
    options = {"device": device, "dtype": cell.dtype, **arguments_of(cell)}
    # a study's texts say what its network cannot represent
    with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
        simulation = simulate(cell.problem, seeds_of(cell), **options)
    values = {q: getattr(simulation, q).values for q in ERRORS}
    if simulation.precision_error is not None:
        for q in ("train", "test"):
            repeated = getattr(simulation.precision_error, q).values
            values[f"{q}_precision_error"] = np.full_like(values[q], np.nan)
            values[f"{q}_precision_error"][: len(repeated)] = repeated
    return values


def theory(cell: Cell, _device: str) -> CellValues:
    """Return the errors that a theory predicts, (etas, ridges) and their accuracy.

    With the option `printed` those of the staircase as printed, wrong factors included.
    """
    arguments = arguments_of(cell)
    printed = arguments.pop("printed", False)
    if printed and arguments.get("theory") != "staircase":
        raise InvalidInput("printed", printed, "False unless the theory is staircase")
    # a curve is drawn beyond its assumptions on purpose, and verified only within them
    with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
        prediction = evaluate_theory(cell.problem, **arguments)
    values = {q: getattr(prediction, q) for q in ("train", "test", "risk", "kernel_bound")}
    if printed:
        points, shape = cell.problem.grid(eta=arguments["eta"], ridge=arguments["ridge"])
        errors = as_printed.staircase_errors(points)
        values |= {"train": errors.train.reshape(shape), "test": errors.test.reshape(shape)}
        values["risk"] = values["test"] - cell.problem.noise**2
    bars = {f"{q}_accuracy": getattr(prediction.accuracy, q) for q in ("train", "test")}
    return values | {q: bar for q, bar in bars.items() if np.all(np.isfinite(bar))}


def network_spectrum(cell: Cell, _device: str) -> CellValues:
    """Return eigenvalues of F F^T/n and W W^T, and alignments with He_k; (seeds, etas, 1, …)."""
    n = cell.problem.n
    problems = (cell.problem.replace(eta=eta) for eta in cell.etas)
    spectra = [measured_spectrum(p, seeds_of(cell), distances=False) for p in problems]
    values = {
        "F": [s.F**2 / n for s in spectra],
        "W": [s.W**2 for s in spectra],
        "alignments": [s.alignments for s in spectra],
    }
    return {name: np.stack(v, 1)[:, :, None] for name, v in values.items()}


def spectrum_theory(cell: Cell, _device: str) -> CellValues:
    """Return edge, density and spikes of F F^T/n with their alignments; (etas, 1, …).

    Spikes beyond those that exist are NaN. By default the bulk is that of the untrained features.
    """
    method = option_of(cell, "method", "asymptotic")
    edges, xs, densities = [], [], []
    spikes = np.full((len(cell.etas), 1, MAX_SPIKES), np.nan)
    alignments = np.full((len(cell.etas), 1, MAX_SPIKES, MAX_SPIKES), np.nan)
    for i, eta in enumerate(cell.etas):
        with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
            predicted = predicted_spectrum(cell.problem.replace(eta=eta), method=method)
        edges.append([predicted.edge])
        xs.append([predicted.x])
        densities.append([predicted.rho])
        for j, spike in enumerate(predicted.spikes[:MAX_SPIKES]):
            spikes[i, 0, j] = spike.eigenvalue
            alignments[i, 0, j] = [spike.alignment[k] for k in range(1, MAX_SPIKES + 1)]
    return {"edge": edges, "x": xs, "rho": densities, "spikes": spikes, "alignments": alignments}


def rehearsal(cell: Cell, _device: str) -> CellValues:
    """Return normal numbers, one row per seed, after a wait: a rehearsal for a cluster."""
    time.sleep(option_of(cell, "wait", 0.0))
    count, size = option_of(cell, "numbers", 1), (cell.problem.n, cell.problem.d, cell.problem.N)
    draws = [np.random.default_rng((*size, seed)).normal(size=count) for seed in seeds_of(cell)]
    return {"draw": np.stack(draws)}


def device_record(cell: Cell, device: str) -> str:
    """Return the device, with a note where it drew the random numbers itself."""
    random: Any = dict(cell.options).get("random")
    if not device.startswith("cuda"):
        return device
    source = random_source(random, get_ops(device, cell.dtype), [cell.problem])
    return f"{device}, own random numbers" if source == "device" else device
