"""The numbers of an exported page: grids of the answers that a server would compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from onegrad import __version__
from onegrad.explorer import api, measure
from onegrad.explorer.controls import DEFAULTS, PRESETS, Preset, describe
from onegrad.explorer.network import one_network
from onegrad.explorer.request import read_problem
from onegrad.parallel.processes import process_map
from onegrad.problem import Problem

SLIDER = tuple(round(a, 3) for a in np.arange(api.ALPHAS[0], api.ALPHAS[-1] + 1e-9, 0.005).tolist())
ABOUT = (
    "Exported by onegrad {version}: presets, step, ridge and the size n of the stairs move over "
    "numbers computed beforehand; for everything else run onegrad explore."
)


@dataclass(frozen=True)
class Grids:
    """What is computed of each preset, besides its own ridge and the whole slider of the step."""

    presets: tuple[Preset, ...] = PRESETS
    ridges: tuple[str, ...] = ("0.0001", "0.001", "0.01", "0.1", "1")
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)  # n of the stairs
    alphas: tuple[float, ...] = api.ALPHAS  # of the curves
    network_alphas: tuple[float, ...] = (*api.ALPHAS[::3], api.ALPHAS[-1])
    networks: int = 4  # trained for the points on the curve


Task = tuple[tuple[Any, ...], Callable[[], Any]]  # where its answer belongs, and how to get it


def numbers(
    grids: Grids, jobs: int = 1, progress: Callable[[int, int], None] | None = None
) -> dict[str, Any]:
    """Everything that static/offline.js answers from, as JSON values."""
    tasks = [task for preset in grids.presets for task in _tasks(preset, grids)]
    tasks.sort(key=lambda task: task[0][1] not in ("network", "simulation"))  # the long ones first
    found: dict[tuple[Any, ...], Any] = {}
    for place, answer in process_map(_answer, tasks, jobs):
        found[place] = answer
        if progress:
            progress(len(found), len(tasks))
    queries = [preset.query for preset in grids.presets]
    table = {
        "presets": [vars(preset) for preset in grids.presets],
        "defaults": DEFAULTS if DEFAULTS in queries else queries[0],
    }
    return {
        "controls": describe() | table,
        "about": ABOUT.format(version=__version__),
        "settings": [_setting(preset, grids, found) for preset in grids.presets],
    }


def _answer(task: Task) -> tuple[tuple[Any, ...], Any]:
    place, compute = task
    return place, compute()


def _tasks(preset: Preset, grids: Grids) -> Iterator[Task]:
    problem, name = read_problem(preset.query), preset.name
    for ridge in _ridges(preset, grids):
        at_ridge = problem.replace(ridge=float(ridge))
        yield (name, "curve", ridge), partial(_curve, at_ridge, grids.alphas)
        yield (name, "instant", ridge), partial(api.instant, at_ridge)
        yield (name, "untrained", ridge), partial(api.here, at_ridge.replace(eta=0.0))
    for n in grids.sizes:
        there = read_problem(resized(preset.query, n))
        yield (name, "stairs", n), partial(_curve, there, grids.alphas, False)
    yield (name, "spikes"), partial(_spikes, problem)
    yield (name, "network"), partial(_networks, problem, grids.network_alphas)
    yield (name, "simulation"), partial(_simulated, problem, grids.networks)


def _setting(preset: Preset, grids: Grids, found: dict[tuple[Any, ...], Any]) -> dict[str, Any]:
    """A preset's part of the page."""
    name, ridges = preset.name, _ridges(preset, grids)
    bulk, spikes, steps = found[name, "spikes"]
    networks, untrained = found[name, "network"]
    for step in steps:
        if step["eta"] == "0":
            step["here"] = {ridge: found[name, "untrained", ridge] for ridge in ridges}
            step["network"] = untrained
    return {
        "query": preset.query,
        "alphas": [SLIDER[0], SLIDER[-1]],
        "bulk": bulk,
        "spikes": spikes,
        "steps": steps,
        "networks": networks,
        "simulation": found[name, "simulation"],
        "ridges": [
            {
                "ridge": ridge,
                "instant": found[name, "instant", ridge],
                "points": found[name, "curve", ridge],
            }
            for ridge in ridges
        ],
        "stairs": [
            {"query": resized(preset.query, n), "points": found[name, "stairs", n]}
            for n in grids.sizes
        ],
    }


def _ridges(preset: Preset, grids: Grids) -> tuple[str, ...]:
    own = preset.query["ridge"]
    others = [ridge for ridge in grids.ridges if float(ridge) != float(own)]
    return tuple(sorted((own, *others), key=float))


def resized(query: dict[str, str], n: int) -> dict[str, str]:
    """The query at another n, everything else in proportion; as `resized` of static/state.js."""
    problem = read_problem(query)
    kept = {k: v for k, v in query.items() if k not in ("d", "N", "alpha", "eta")}
    ratios = {"phi": f"{problem.phi:.6g}", "psi": f"{problem.psi:.6g}", "n": str(n)}
    rows = {"n_step": str(round(problem.rows_of_step / problem.n * n))} if "n_step" in query else {}
    return kept | ratios | rows


def _curve(
    problem: Problem, alphas: tuple[float, ...], with_learned: bool = True
) -> list[dict[str, Any]]:
    points = [api.point(problem, "alpha", alpha) for alpha in alphas]
    return [p if with_learned else {k: p[k] for k in p if k != "learned"} for p in points]


def _spikes(problem: Problem) -> tuple[dict[str, Any], list[Any], list[dict[str, Any]]]:
    """The bulk, which no step moves; the spikes along the slider; those of steps given by eta."""
    along = [api.spectrum(problem.replace(alpha=alpha)) for alpha in SLIDER]
    bulk = {name: along[0][name] for name in ("edge", "atom", "x", "rho")}
    etas = {0.0, problem.eta} if problem.eta is not None else {0.0}
    steps = [
        {"eta": f"{eta:g}", "spikes": api.spectrum(problem.replace(eta=eta))["spikes"]}
        for eta in sorted(etas)
    ]
    return bulk, [found["spikes"] for found in along], steps


def _networks(
    problem: Problem, alphas: tuple[float, ...]
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """One network along alpha, and untrained; nothing where it is too large."""
    untrained = one_network(problem.replace(eta=0.0))
    if "refused" in untrained:
        return [], None
    return [{"x": a, **one_network(problem.replace(alpha=a))} for a in alphas], untrained


def _simulated(problem: Problem, networks: int) -> dict[str, Any] | None:
    plan = measure.SimulationPlan(problem, networks, ("alpha",))
    said = list(measure.run(plan)) if networks else []
    return dict(said[-1]["found"]) if said else None
