"""Measures that the papers' figures need: errors, spectra, gradients, and what theory says."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from onegrad.arrays import get_ops, to_numpy
from onegrad.exceptions import AssumptionWarning
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import Values, arguments_of, seeds_of
from onegrad.networks import simulate
from onegrad.networks import spectrum as measured_spectrum
from onegrad.networks.network import Network
from onegrad.networks.plan import random_source
from onegrad.networks.sampling import Sampler
from onegrad.studies.measures.trajectories import trajectories as paths
from onegrad.theory import predict
from onegrad.theory import spectrum as predicted_spectrum


def errors(cell: Cell, device: str) -> Values:
    """Train and test error of real networks, (seeds, etas, ridges)."""
    options = arguments_of(cell)
    found = simulate(cell.problem, seeds_of(cell), device=device, dtype=cell.dtype, **options)
    return {q: getattr(found, q).values for q in ("train", "test", "risk", "overlap")}


def theory(cell: Cell, device: str) -> Values:
    """The same quantities from a theory, (etas, ridges), and their accuracy where it has one."""
    # a curve is drawn beyond its assumptions on purpose, and verified only within them
    with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
        found = predict(cell.problem, **arguments_of(cell))
    values = {q: getattr(found, q) for q in ("train", "test", "risk", "kernel_bound")}
    values["linear"] = found.kernel_bound  # the same number: the best linear predictor attains it
    bars = {f"{q}_accuracy": getattr(found.accuracy, q) for q in ("train", "test")}
    return values | {q: bar for q, bar in bars.items() if np.all(np.isfinite(bar))}


def spectrum(cell: Cell, device: str) -> Values:
    """Eigenvalues of F F^T/n and W W^T, alignments with He_k; (seeds, etas, 1, …)."""
    n = cell.problem.n
    problems = (cell.problem.replace(eta=eta) for eta in cell.etas)
    found = [measured_spectrum(p, seeds_of(cell), distances=False) for p in problems]
    values = {
        "F": [s.F**2 / n for s in found],
        "W": [s.W**2 for s in found],
        "alignments": [s.alignments for s in found],
    }
    return {name: np.stack(v, 1)[:, :, None] for name, v in values.items()}


def spectrum_theory(cell: Cell, device: str) -> Values:
    """Edge, density and spikes of F F^T/n with their alignments; (etas, 1, …).

    Spikes beyond those that exist are NaN.
    """
    most = 6
    edges, xs, densities = [], [], []
    spikes = np.full((len(cell.etas), 1, most), np.nan)
    alignments = np.full((len(cell.etas), 1, most, most), np.nan)
    for i, eta in enumerate(cell.etas):
        with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
            found = predicted_spectrum(cell.problem.replace(eta=eta))
        edges.append([found.edge])
        xs.append([found.x])
        densities.append([found.rho])
        for j, spike in enumerate(found.spikes[:most]):
            spikes[i, 0, j] = spike.eigenvalue
            alignments[i, 0, j] = [spike.alignment[k] for k in range(1, most + 1)]
    return {"edge": edges, "x": xs, "rho": densities, "spikes": spikes, "alignments": alignments}


def gradient(cell: Cell, device: str) -> Values:
    """Alignment of the first gradient with the teacher, and how nearly it has rank one; (seeds,).

    cosine : of X^T residual with beta_star; top : squared cosine of the gradient's first right
    singular vector with beta_star; second : second singular value over the first.
    """
    found: dict[str, list[float]] = {"cosine": [], "top": [], "second": []}
    for seed in seeds_of(cell):
        sampler = Sampler.of(cell.problem, (seed,), get_ops(device, cell.dtype))
        first = Network.of(sampler).first
        beta, star = to_numpy(first.beta[0]), to_numpy(sampler.beta_star[0, :, 0])
        _, s, Vt = np.linalg.svd(to_numpy(first.G[0]), full_matrices=False)
        found["cosine"].append(float(beta @ star / np.linalg.norm(beta)))
        found["top"].append(float((Vt[0] @ star) ** 2))
        found["second"].append(float(s[1] / s[0]))
    return {name: np.array(values) for name, values in found.items()}


def trajectories(cell: Cell, device: str) -> Values:
    """Paths of neurons under many steps; teacher and activation are fixed by the measure."""
    p, scaling = cell.problem, str(dict(cell.options).get("scaling", "mean-field"))
    found = [paths(p.n, p.d, p.N, scaling, seed) for seed in seeds_of(cell)]
    return {
        "paths": np.stack([f.paths for f in found])[:, None, None],
        "steps": np.array([f.steps for f in found]),
        "loss": np.array([f.loss for f in found]),
    }


def rehearsal(cell: Cell, device: str) -> Values:
    """Normal numbers, one row a seed, after a wait: tries out a cluster before the real thing."""
    options = dict(cell.options)
    time.sleep(float(options.get("wait", 0.0)))
    count = int(options.get("numbers", 1))
    size = (cell.problem.n, cell.problem.d, cell.problem.N)
    draws = [np.random.default_rng((*size, seed)).normal(size=count) for seed in seeds_of(cell)]
    return {"draw": np.stack(draws)}


def device_record(cell: Cell, device: str) -> str:
    """Return the device, with a note where it drew the random numbers itself."""
    random: Any = dict(cell.options).get("random")
    if device.split(":")[0] != "cuda":
        return device
    source = random_source(random, get_ops(device, cell.dtype), [cell.problem])
    return f"{device}, own random numbers" if source == "device" else device
