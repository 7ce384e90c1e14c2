"""The runs of the Simulate button: networks seed by seed, each answer better than the last."""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats, get_ops, standard_error
from onegrad.exceptions import InvalidInput, check_choice
from onegrad.explorer.api import problem_at
from onegrad.explorer.controls import read_problem, read_whole
from onegrad.io.json_values import json_values
from onegrad.networks import spectrum
from onegrad.networks.cost import replicate_flops
from onegrad.networks.one_network import learned_part
from onegrad.networks.plan import peak_bytes, usable_bytes
from onegrad.networks.simulation import simulate
from onegrad.problem import Problem

SIMULATED_ALPHAS = (-0.1, 0.0, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
SIMULATED_RATIOS = (0.5, 1.0, 2.0, 4.0, 8.0)  # n/d or N/d
PARTS = ("alpha", "step", "sizes")
# What a page may start with one click; larger runs are sweeps. None of these limits is tuned.
MAX_SECONDS, MAX_RUN_BYTES = 4 * 3600.0, 4e9
CONFIRM_SECONDS = 60.0  # a longer run is confirmed first
MAX_SPECTRA = 3  # networks whose eigenvalues are kept


@dataclass(frozen=True)
class SimulationRun:
    """A run: the problem, how many networks, which parts, and the size on the axis of sizes."""

    problem: Problem
    seeds: int
    parts: tuple[str, ...] = PARTS[:2]
    axis: str = "n"


def read_run(body: Mapping[str, Any]) -> SimulationRun:
    """Return the run that the JSON of a request describes; raise InvalidInput."""
    query = body.get("query", {})
    if not isinstance(query, dict) or not all(isinstance(v, str) for v in query.values()):
        raise InvalidInput("query", allowed="an object of strings")
    seeds = read_whole("seeds", str(body.get("seeds", ""))[:20].strip(), 1, 1000)
    parts = body.get("parts", list(PARTS[:2]))
    if not isinstance(parts, list) or not parts:
        raise InvalidInput("parts", allowed=f"a list of {', '.join(PARTS)}")
    for part in parts:
        check_choice("parts", str(part), PARTS)
    axis = check_choice("axis", str(body.get("axis", "n")), ("n", "N"))
    chosen = tuple(part for part in PARTS if part in parts)
    return SimulationRun(read_problem(query), seeds, chosen, axis)


def simulated_alphas(problem: Problem) -> list[float]:
    """Return the exponents that are simulated: a fixed list and that of the problem."""
    own = [] if problem.alpha is None else [round(problem.alpha, 6)]
    return sorted({*SIMULATED_ALPHAS, *own})


def estimate_seconds(run: SimulationRun, rate: float) -> float:
    """Return the seconds of a run at `rate` operations per second; refuse what is out of reach."""
    ops = get_ops()
    max_bytes = min(MAX_RUN_BYTES, usable_bytes(ops))
    flops = 0.0
    for part in run.parts:
        step_sizes = len(simulated_alphas(run.problem)) if part == "alpha" else 1
        for problem in _resized(run) if part == "sizes" else [run.problem]:
            needed = peak_bytes(problem, step_sizes)
            if needed > max_bytes:
                sizes = f"with d = {problem.d}, N = {problem.N} a simulation"
                limit = f"needs {needed / 1e9:.2g} GB of memory, the page {max_bytes / 1e9:.2g} GB"
                raise InvalidInput("n", problem.n, problem=f"{sizes} {limit} at most")
            n, N = problem.n, problem.N
            spectra = 4.0 * n * N * min(n, N) if part == "step" else 0.0  # all singular values
            flops += run.seeds * (replicate_flops(problem, step_sizes) + spectra)
    seconds = 0.1 + flops / rate
    if seconds > MAX_SECONDS:
        hours = f"about {seconds / 3600:.0f} hours; at most {MAX_SECONDS / 3600:.0f} are run here"
        raise InvalidInput("seeds", problem=f"this would take {hours}. Use onegrad sweep for it")
    return seconds


def _resized(run: SimulationRun) -> list[Problem]:
    """Return the problems along the axis of sizes."""
    return [problem_at(run.problem, run.axis, ratio) for ratio in SIMULATED_RATIOS]


def simulate_run(
    run: SimulationRun, call: Callable[..., Any] = operator.call
) -> Iterator[dict[str, Any]]:
    """Yield, after every network, the fraction done and the averages so far.

    `call` trains a network: it returns the value of a function, here or from another process.
    """
    # every part early, precision later
    rounds = [(part, seed) for seed in range(run.seeds) for part in run.parts]
    networks: dict[str, list[Any]] = {part: [] for part in PARTS}
    for done, (part, seed) in enumerate(rounds, start=1):
        if part == "step":
            networks[part].append(call(_features_at_step, run, seed))
            summary = _average_features(networks[part])
        else:
            axis = "alpha" if part == "alpha" else run.axis
            networks[part].append(call(_errors_along, run, axis, seed))
            summary = _average_errors(axis, networks[part])
        yield json_values({"progress": done / len(rounds), "found": summary})


def _errors_along(run: SimulationRun, axis: str, seed: int) -> dict[str, Any]:
    """Return the errors of one network along an axis; x is alpha, n/d or N/d."""
    if axis == "alpha":
        x = values = simulated_alphas(run.problem)
    else:
        values = [getattr(problem, axis) for problem in _resized(run)]
        x = [size / run.problem.d for size in values]
    axes: dict[str, Any] = {axis: values}
    simulation = simulate(run.problem, seeds=[seed], **axes)
    return {"x": x, "train": simulation.train.mean, "test": simulation.test.mean}


def _means(networks: list[dict[str, Any]], *names: str) -> dict[str, Floats]:
    """Return means over networks by name, and standard errors, NaN for a single network."""
    means: dict[str, Floats] = {}
    for name in names:
        values = np.array([network[name] for network in networks])
        means |= {name: values.mean(0), f"{name}_se": standard_error(values)}
    return means


def _average_errors(axis: str, networks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the means over the networks, one table per point."""
    x = networks[0]["x"]
    columns = {"x": x, "networks": [len(networks)] * len(x), **_means(networks, "train", "test")}
    rows = zip(*columns.values(), strict=True)
    return {"axis": axis, "points": [dict(zip(columns, row, strict=True)) for row in rows]}


def _features_at_step(run: SimulationRun, seed: int) -> dict[str, Any]:
    """Return eigenvalues of F F^T/n and the learned part of one network at the present step."""
    network = learned_part(run.problem, seed)
    if seed < MAX_SPECTRA:
        singular_values = spectrum(run.problem, seeds=[seed], distances=False).F[0]
        network["eigenvalues"] = np.sort(singular_values**2 / run.problem.n)[::-1]
    return network


def _average_features(networks: list[dict[str, Any]]) -> dict[str, Any]:
    spectra = [network["eigenvalues"] for network in networks if "eigenvalues" in network]
    return {"eigenvalues": spectra, "learned": _means(networks, "coefficients", "u", "fitted")}
