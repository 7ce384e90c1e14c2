"""What the Simulate button runs: networks seed by seed, each answer better than the last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import get_ops, standard_error
from onegrad.exceptions import InvalidInput, check_choice
from onegrad.explorer.api import at
from onegrad.explorer.request import read_problem
from onegrad.io.json_values import json_values
from onegrad.networks.cost import replicate_flops, spectrum_flops
from onegrad.networks.one_network import learned_part
from onegrad.networks.plan import peak_bytes, usable_bytes
from onegrad.networks.simulation import simulate
from onegrad.networks.spectrum import spectrum
from onegrad.problem import Problem

ALPHAS = (-0.1, 0.0, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
RATIOS = (0.5, 1.0, 2.0, 4.0, 8.0)
PARTS = ("alpha", "step", "sizes")
MOST_SEEDS = 1000
LONG = 60.0  # seconds; a longer run is confirmed first
LONGEST = 4 * 3600.0
MOST_BYTES = 4e9
SPECTRA = 3  # networks whose eigenvalues are kept


@dataclass(frozen=True)
class SimulationPlan:
    """A run: the problem, how many networks, which parts, and the size on the last view's axis."""

    problem: Problem
    seeds: int
    parts: tuple[str, ...] = PARTS[:2]
    axis: str = "n"


def read_plan(body: Mapping[str, Any]) -> SimulationPlan:
    """The plan that a request's JSON describes; raises InvalidInput."""
    query = body.get("query", {})
    if not isinstance(query, Mapping) or not all(
        isinstance(k, str) and isinstance(v, str) for k, v in query.items()
    ):
        raise InvalidInput("query must map names to strings")
    seeds = str(body.get("seeds", ""))[:20].strip()
    if not (seeds.isascii() and seeds.isdecimal() and 1 <= int(seeds) <= MOST_SEEDS):
        raise InvalidInput(f"seeds must be a whole number from 1 to {MOST_SEEDS}; got {seeds!r}")
    parts = body.get("parts", list(PARTS[:2]))
    if not isinstance(parts, list) or not parts:
        raise InvalidInput(f"parts must be a list of {', '.join(PARTS)}")
    for part in parts:
        check_choice("parts", str(part), PARTS)
    axis = check_choice("axis", str(body.get("axis", "n")), ("n", "N"))
    chosen = tuple(part for part in PARTS if part in parts)
    return SimulationPlan(read_problem(query), int(seeds), chosen, axis)


# -- what it costs ---------------------------------------------------------------------------


def alphas_of(problem: Problem) -> list[float]:
    """The exponents that are simulated: a fixed list and the present one."""
    here = [] if problem.alpha is None else [round(problem.alpha, 6)]
    return sorted({*ALPHAS, *here})


def estimate(plan: SimulationPlan, rate: float) -> float:
    """Seconds that a plan takes at `rate` operations a second; refuses what is out of reach."""
    p, ops = plan.problem, get_ops()
    most = min(MOST_BYTES, usable_bytes(ops))
    steps = {"alpha": len(alphas_of(p)), "step": 1, "sizes": 1}
    total = 0.0
    for part in plan.parts:
        places = [at(p, plan.axis, r) for r in RATIOS] if part == "sizes" else [p]
        for place in places:
            held = peak_bytes(place, steps[part])
            if held > most:
                raise InvalidInput(
                    f"n = {place.n}, d = {place.d}, N = {place.N} needs {held / 1e9:.2g} GB in "
                    f"memory; a simulation here may take {most / 1e9:.2g} GB"
                )
            spectra = spectrum_flops(place) if part == "step" else 0.0
            total += plan.seeds * (replicate_flops(place, steps[part]) + spectra)
    seconds = 0.1 + total / rate
    if seconds > LONGEST:
        raise InvalidInput(
            f"seeds: this would take about {seconds / 3600:.0f} hours; the page runs at most "
            f"{LONGEST / 3600:.0f}. Use onegrad sweep for it"
        )
    return seconds


# -- running it ------------------------------------------------------------------------------


def run(plan: SimulationPlan) -> Iterator[dict[str, Any]]:
    """Run a plan; after every network yields the share done and what is known now."""
    # every part early, precision later
    rounds = [(part, seed) for seed in range(plan.seeds) for part in plan.parts]
    kept: dict[str, list[Any]] = {part: [] for part in PARTS}
    for done, (part, seed) in enumerate(rounds, start=1):
        kept[part].append(MEASURES[part](plan, seed))
        yield json_values(
            {"progress": done / len(rounds), "found": SUMMARIES[part](plan, kept[part])}
        )


def _along_alpha(plan: SimulationPlan, seed: int) -> list[dict[str, float]]:
    alphas = alphas_of(plan.problem)
    found = simulate(plan.problem, seeds=[seed], alpha=alphas)
    return _errors(alphas, found)


def _along_size(plan: SimulationPlan, seed: int) -> list[dict[str, float]]:
    sizes = [getattr(at(plan.problem, plan.axis, r), plan.axis) for r in RATIOS]
    along: dict[str, Any] = {plan.axis: sizes}
    found = simulate(plan.problem, seeds=[seed], **along)
    return _errors([size / plan.problem.d for size in sizes], found)


def _errors(places: list[float], found: Any) -> list[dict[str, float]]:
    train, test = np.ravel(found.train.mean), np.ravel(found.test.mean)
    return [
        {"x": x, "train": float(a), "test": float(b)}
        for x, a, b in zip(places, train, test, strict=True)
    ]


def _summary(axis: str, networks: list[list[dict[str, float]]]) -> dict[str, Any]:
    """Mean and standard error over the networks at every place; of one network it is unknown."""
    points = []
    for at_place in zip(*networks, strict=True):
        point: dict[str, float] = {"x": at_place[0]["x"], "networks": len(at_place)}
        for name in ("train", "test"):
            values = np.array([found[name] for found in at_place])
            point[name] = float(values.mean())
            point[f"{name}_se"] = float(standard_error(values))
        points.append(point)
    return {"axis": axis, "points": points}


def _at_step(plan: SimulationPlan, seed: int) -> dict[str, Any]:
    """Eigenvalues of F F^T/n and the learned part of one network at the present step."""
    found: dict[str, Any] = {}
    if seed < SPECTRA:
        values = spectrum(plan.problem, seeds=[seed], distances=False).F[0]
        found["eigenvalues"] = np.sort(values**2 / plan.problem.n)[::-1]
    part = learned_part(plan.problem, seed)
    return found | {"coefficients": part.coefficients, "u": part.u, "fitted": part.fitted}


def _step_summary(_: SimulationPlan, networks: list[dict[str, Any]]) -> dict[str, Any]:
    def over(name: str) -> tuple[Any, Any]:
        values = np.array([found[name] for found in networks])
        return values.mean(0), standard_error(values)

    mean, se = over("coefficients")
    fitted, fitted_se = over("fitted")
    return {
        "eigenvalues": [found["eigenvalues"] for found in networks if "eigenvalues" in found],
        "learned": {
            "coefficients": mean,
            "coefficients_se": se,
            "u": over("u")[0],
            "fitted": fitted,
            "fitted_se": fitted_se,
        },
    }


MEASURES: dict[str, Callable[[SimulationPlan, int], Any]] = {
    "alpha": _along_alpha,
    "step": _at_step,
    "sizes": _along_size,
}
SUMMARIES: dict[str, Callable[[SimulationPlan, list[Any]], dict[str, Any]]] = {
    "alpha": lambda plan, networks: _summary("alpha", networks),
    "step": _step_summary,
    "sizes": lambda plan, networks: _summary(plan.axis, networks),
}
