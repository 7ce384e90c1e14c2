"""What the page is told, as pure functions from a problem to JSON values."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import onegrad as og
from onegrad.exceptions import InvalidInput, NotConverged
from onegrad.explorer.readers import for_readers
from onegrad.io.json_values import json_values
from onegrad.problem import Problem
from onegrad.theory.asymptotic.assumptions import require_linear_part, violated_assumptions
from onegrad.theory.asymptotic.scalars import Scalars
from onegrad.theory.asymptotic.staircase import learned_degrees
from onegrad.theory.bounds import kernel_lower_bound
from onegrad.theory.uniform.learned_coefficients import MAX_LEARNED_DEGREE, learned_coefficients

ALPHAS = tuple(round(-0.25 + 0.025 * i, 3) for i in range(35))  # -0.25 .. 0.6
RATIOS = tuple(float(f"{x:.3g}") for x in np.geomspace(0.25, 25.0, 33))  # n/d and N/d
AXES = ("alpha", "n", "N")
VIEWS = ("spectrum", "errors", "learned", "neurons", "stairs", "sizes")
THRESHOLDS = tuple(og.thresholds(8).tolist())  # of spike k: 0, 1/4, 1/3, 3/8, ...
SMALL_ALPHAS = list(np.linspace(ALPHAS[0], 0.1, 36))  # where the small-step theory is drawn
COARSE = 4  # the first pass over a curve takes every fourth point


def instant(problem: Problem) -> dict[str, Any]:
    """What needs no fixed point: sizes, thresholds, the asymptotic curves, reference lines."""
    with computing() as notes:
        answer = {
            "problem": problem.to_dict() | {"phi": problem.phi, "psi": problem.psi},
            "alphas": [ALPHAS[0], ALPHAS[-1]],
            "thresholds": THRESHOLDS,
            "levels": reference_levels(problem),
            "untrained": _errors(og.predict(problem, theory="random-features", eta=0.0)),
            "staircase": _staircase(problem),
            "small_step": _asymptotic(problem, "small-step", SMALL_ALPHAS),
            "teacher": teacher(problem),
            "spikes": limit_spikes(problem),
        }
    return dict(json_values(answer | {"notes": notes}))


def teacher(problem: Problem) -> dict[str, Any]:
    """The target function on a grid of its index, its variance, its Hermite coefficients."""
    u = np.linspace(-3, 3, 61)
    norms = np.sqrt([math.factorial(k) for k in range(MAX_LEARNED_DEGREE + 1)])
    sigma_star = problem.sigma_star
    return {
        "u": u,
        "target": sigma_star(u),
        "coefficients": norms * sigma_star.c[: MAX_LEARNED_DEGREE + 1],
        "variance": sigma_star.variance,
    }


def limit_spikes(problem: Problem) -> dict[str, Any]:
    """The degrees whose spikes appear at their thresholds as n grows: those with c_k != 0.

    `unless` says which assumption of that count the setting breaks; null where it holds.
    """
    stepped = problem.replace(alpha=0.1)
    try:
        require_linear_part("staircase", [stepped])
    except InvalidInput:
        return {"degrees": [], "unless": "the activation has no linear part"}
    violated = violated_assumptions([stepped])
    degrees, _ = learned_degrees(Scalars.of([stepped]), np.array([len(THRESHOLDS)]))
    unless = violated[0].statement if violated else None
    return {"degrees": np.flatnonzero(degrees[0]), "unless": unless}


def reference_levels(problem: Problem) -> dict[str, float]:
    """Test errors to compare with, label noise included: of the truth, every kernel, a constant."""
    noise2 = problem.noise**2
    return {
        "noise": noise2,
        "kernel": noise2 + kernel_lower_bound(problem.sigma_star),
        "constant": noise2 + problem.sigma_star.variance,
    }


def _staircase(problem: Problem) -> dict[str, Any]:
    """The stairs: constant between thresholds, each drawn from its left to its right end."""
    stairs = list(itertools.pairwise([ALPHAS[0], *THRESHOLDS]))
    curve = _asymptotic(problem, "staircase", [(a + b) / 2 for a, b in stairs])
    doubled = {k: np.repeat(v, 2) for k, v in curve.items() if k in ("train", "test")}
    return curve | doubled | {"alpha": np.ravel(stairs) if doubled["test"].size else []}


def _asymptotic(problem: Problem, theory: str, alphas: list[float]) -> dict[str, Any]:
    """An asymptotic theory along alpha; what it does not cover is said, not drawn."""
    try:
        curve = og.predict(problem, theory=theory, alpha=alphas)
    except (InvalidInput, NotConverged) as error:
        return {"alpha": [], "train": [], "test": [], "unavailable": for_readers(error)}
    return {"alpha": alphas, "train": curve.train, "test": curve.test}


def _errors(prediction: Any) -> dict[str, float]:
    return {"train": float(prediction.train), "test": float(prediction.test)}


def spectrum(problem: Problem) -> dict[str, Any]:
    """Bulk, edge and spikes of F F^T/n at this step."""
    with computing() as notes:
        numbers = og.spectrum(problem).to_dict()
        answer = {name: numbers[name] for name in ("edge", "atom", "spikes")} | numbers["density"]
    return dict(json_values(answer | {"notes": notes}))


def axis_values(axis: str) -> list[float]:
    """Where a curve along an axis is computed: coarse points first, then those between."""
    values = ALPHAS if axis == "alpha" else RATIOS
    order = sorted(range(len(values)), key=lambda i: (_pass(i, len(values)), i))
    return [values[i] for i in order]


def _pass(i: int, count: int) -> int:
    """0 for every COARSE-th point and the last, 1 for the halves, 2 for the rest."""
    if i % COARSE == 0 or i == count - 1:
        return 0
    return 1 if i % (COARSE // 2) == 0 else 2


def at(problem: Problem, axis: str, value: float) -> Problem:
    """The problem at one place of an axis; n and N are given as ratios to d."""
    if axis == "alpha":
        return problem.replace(alpha=value)
    return problem.replace(**{axis: max(2, round(value * problem.d))})


def point(problem: Problem, axis: str, value: float) -> dict[str, Any]:
    """The uniform theory at one place of an axis; along alpha also what is learned there."""
    try:
        return {"x": value, **here(at(problem, axis, value), axis == "alpha")}
    except (InvalidInput, NotConverged) as error:
        return {"x": value, "unavailable": for_readers(error)}


def here(problem: Problem, with_learned: bool = True) -> dict[str, Any]:
    """The uniform theory of one problem: errors and, if wanted, what is learned."""
    with computing() as notes:
        found = og.predict(problem, theory="uniform")
        bars = {f"{name}_accuracy": getattr(found.accuracy, name) for name in ("train", "test")}
        answer: dict[str, Any] = _errors(found) | bars
        if with_learned:
            answer["learned"] = learned_coefficients(problem).learned
    return dict(json_values(answer | {"notes": notes}))


@contextmanager
def computing() -> Iterator[list[str]]:
    """A list that fills with the assumption warnings raised inside, each once.

    Where the limits of the controls leave the range of floating point, NotConverged is raised.
    """
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            yield notes
        except InvalidInput:
            raise
        except (ArithmeticError, ValueError) as error:
            raise NotConverged(f"no finite answer for this setting ({error})") from None
    ours = (w for w in caught if issubclass(w.category, og.AssumptionWarning))
    notes.extend(dict.fromkeys(for_readers(warning.message) for warning in ours))
