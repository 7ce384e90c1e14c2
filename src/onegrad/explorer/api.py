"""The answers that the page asks for, as pure functions from a problem to JSON values."""

import dataclasses
import functools
import itertools
import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import onegrad as og
from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput, NotConverged
from onegrad.explorer.controls import (
    ALPHA_RANGE,
    RATIO_RANGE,
    alpha_grid,
    limit_theories,
    theory_key,
)
from onegrad.functions.function import hermite_text
from onegrad.io.json_values import json_values
from onegrad.networks.cost import replicate_flops
from onegrad.networks.one_network import FirstStep
from onegrad.networks.plan import peak_bytes
from onegrad.problem import Problem
from onegrad.theory import THEORIES, Theory, evaluate_theory
from onegrad.theory.asymptotic.assumptions import require_linear_part, violated_assumptions
from onegrad.theory.asymptotic.scalars import Scalars
from onegrad.theory.asymptotic.staircase import learned_degrees
from onegrad.theory.bounds import kernel_lower_bound
from onegrad.theory.uniform import uniform_errors
from onegrad.theory.uniform.discretise import Nodes
from onegrad.theory.uniform.learned import MAX_FITTED_DEGREE, learned_coefficients

CURVE_ALPHAS = alpha_grid(0.025)
CURVE_RATIOS = tuple(float(f"{x:.3g}") for x in np.geomspace(*RATIO_RANGE, 33))  # n/d and N/d
AXES = ("alpha", "n", "N")
VIEWS = ("spectrum", "errors", "learned", "neurons", "stairs", "sizes")
THRESHOLDS = tuple(og.thresholds(8).tolist())  # alpha of spike k: 0, 1/4, 1/3, 3/8, ...
COARSE_STRIDE = 4  # the first pass over a curve takes every fourth point
# A few seconds of a network while a slider moves; limits of patience, which no measurement set.
MAX_VIEW_FLOPS, MAX_VIEW_BYTES = 3e11, 1.5e9
MAX_NEURONS = 400  # that are drawn
NO_NUMBER = "the theory gives no reliable number here; Simulate shows what networks do"


def answer_of(compute: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Make JSON values of what a function returns, and notes of its assumption warnings.

    Raises NotConverged where the limits of the controls leave the range of floating point.
    """

    @functools.wraps(compute)
    def answer(*arguments: Any) -> dict[str, Any]:
        with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
            warnings.simplefilter("always")
            try:
                values = compute(*arguments)
            except InvalidInput:
                raise
            except (ArithmeticError, ValueError) as error:
                raise NotConverged(f"no finite answer for this setting ({error})") from None
        ours = (w.message for w in caught if issubclass(w.category, og.AssumptionWarning))
        notes = list(dict.fromkeys(map(reader_message, ours)))
        return dict(json_values(values | {"notes": notes}))

    return answer


def reader_message(message: object) -> str:
    """Return a message of the library in one line, without residuals or iterations."""
    return NO_NUMBER if isinstance(message, NotConverged) else str(message)


@answer_of
def instant_answer(problem: Problem) -> dict[str, Any]:
    """Return what needs no fixed point: sizes, thresholds, asymptotic curves, reference levels."""
    sigma, sigma_star, degrees = problem.sigma, problem.sigma_star, range(MAX_FITTED_DEGREE + 1)
    u = np.linspace(-3, 3, 61)
    norms = np.sqrt([math.factorial(k) for k in degrees])
    return {
        "problem": problem.to_dict() | {"phi": problem.phi, "psi": problem.psi},
        "alphas": ALPHA_RANGE,
        "thresholds": THRESHOLDS,
        "levels": reference_levels(problem),
        "untrained": _untrained_errors(problem),
        **{theory_key(theory): _limit(problem, theory) for theory in limit_theories()},
        "teacher": {
            "u": u,
            "target": sigma_star(u),
            "coefficients": norms * sigma_star.c[: len(degrees)],
            "variance": sigma_star.variance,
        },
        "spikes": _limiting_spikes(problem),
        "formulas": {"activation": hermite_text(sigma), "teacher": hermite_text(sigma_star)},
    }


def _untrained_errors(problem: Problem) -> dict[str, float]:
    """Return the errors without a step, at this n where the uniform theory has them."""
    try:
        return _errors(og.predict(problem, theory="uniform", eta=0.0))
    except (InvalidInput, NotConverged):
        return _errors(evaluate_theory(problem, "random-features", eta=0.0))


def _limiting_spikes(problem: Problem) -> dict[str, Any]:
    """Return the degrees whose spikes appear at their thresholds as n grows: those with c_k != 0.

    `unless` is the assumption of that count which the setting violates, or None.
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
    """Return test errors, with label noise, of the teacher, the best kernel and a constant."""
    noise2 = problem.noise**2
    return {
        "noise": noise2,
        "kernel": noise2 + kernel_lower_bound(problem.sigma_star),
        "constant": noise2 + problem.sigma_star.variance,
    }


def _limit(problem: Problem, theory: Theory) -> dict[str, Any]:
    """Return a limit theory along alpha: a curve, or stairs that are flat between thresholds."""
    low, high = ALPHA_RANGE
    if not theory.jumps:
        alphas = np.linspace(low, min(high, theory.max_alpha), 36).tolist()
        return _along_alpha(problem, theory.name, alphas)
    stairs = list(itertools.pairwise([low, *THRESHOLDS]))
    curve = _along_alpha(problem, theory.name, [(a + b) / 2 for a, b in stairs])
    doubled = {k: np.repeat(v, 2) for k, v in curve.items() if k in ("train", "test")}
    return curve | doubled | {"alpha": np.ravel(stairs) if doubled["test"].size else []}


def _along_alpha(problem: Problem, theory: str, alphas: list[float]) -> dict[str, Any]:
    """Return the errors of a theory along alpha, or why it does not cover the problem."""
    try:
        curve = evaluate_theory(problem, theory, alpha=alphas)
    except (InvalidInput, NotConverged) as error:
        return {"alpha": [], "train": [], "test": [], "unavailable": reader_message(error)}
    return {"alpha": alphas, "train": curve.train, "test": curve.test}


def _errors(prediction: og.Prediction) -> dict[str, float]:
    return {"train": float(prediction.train), "test": float(prediction.test)}


@answer_of
def spectrum_answer(problem: Problem) -> dict[str, Any]:
    """Return the bulk, its edge and the spikes of F F^T/n at the problem's step."""
    spectrum = og.spectrum(problem).to_dict()
    return {name: spectrum[name] for name in ("edge", "atom", "spikes")} | spectrum["density"]


def axis_values(axis: str) -> list[float]:
    """Return the points of a curve: coarse points first, then those between them."""
    values = CURVE_ALPHAS if axis == "alpha" else CURVE_RATIOS
    coarse = [*values[::COARSE_STRIDE], values[-1]]
    return list(dict.fromkeys([*coarse, *values[:: COARSE_STRIDE // 2], *values]))


def problem_at(problem: Problem, axis: str, value: float) -> Problem:
    """Return the problem at one point of an axis; those of n and N are ratios to d."""
    if axis == "alpha":
        return problem.replace(alpha=value)
    return problem.replace(**{axis: max(2, round(value * problem.d))})


def curve_point(problem: Problem, axis: str, value: float) -> dict[str, Any]:
    """Return the uniform theory at one point of an axis; along alpha also what is learned."""
    try:
        return {"x": value, **errors_answer(problem_at(problem, axis, value), axis == "alpha")}
    except (InvalidInput, NotConverged) as error:
        return {"x": value, "unavailable": reader_message(error)}


# on the usual nodes, whose number is not checked: half the time, and where they are enough, as
# they nearly always are, the same numbers; the curve that follows is checked
QUICK_THEORY = dataclasses.replace(
    THEORIES["uniform"], function=functools.partial(uniform_errors, nodes=Nodes())
)


def here_answer(problem: Problem) -> dict[str, Any]:
    """Return the errors and what is learned at the place of a slider that moves."""
    return errors_answer(problem, True, QUICK_THEORY)


@answer_of
def errors_answer(
    problem: Problem, with_learned: bool = True, theory: str | Theory = "uniform"
) -> dict[str, Any]:
    """Return the errors of the uniform theory and, if wanted, what is learned."""
    prediction = evaluate_theory(problem, theory)
    accuracy = prediction.accuracy
    stated = {"train_accuracy": accuracy.train, "test_accuracy": accuracy.test}
    learned = {"learned": learned_coefficients(problem).learned} if with_learned else {}
    return _errors(prediction) | stated | learned


def network_answer(problem: Problem, seed: int = 0) -> dict[str, Any]:
    """Return the eigenvalues of F F^T/n that may differ from zero, and the first neurons."""
    n, d, N = problem.n, problem.d, problem.N
    flops = replicate_flops(problem) + 8 * n * d * N  # X W^T and X G^T, which `FirstStep` keeps
    if flops > MAX_VIEW_FLOPS or peak_bytes(problem, 1) + 8 * (3 * N + d) * n > MAX_VIEW_BYTES:
        network = f"a network with n = {n}, d = {d}, N = {N}"
        return {"refused": f"{network} takes too long to follow the sliders; Simulate trains it"}
    began = time.perf_counter()
    first_step = _first_step(problem.replace(eta=0.0), seed)
    neurons = first_step.neurons(problem.step)
    answer = {
        "seed": seed,
        "eigenvalues": _rounded(first_step.eigenvalues(problem.step)),
        "neurons": {
            name: _rounded(getattr(neurons, name)[:MAX_NEURONS])
            for name in ("readout", "before", "after")
        },
        # of all neurons, not only of those that are drawn
        "correlation": _correlation(neurons.readout, neurons.after),
        "overlap": float(np.sqrt(np.mean(neurons.after**2))),
        "overlap_before": float(np.sqrt(np.mean(neurons.before**2))),
        "seconds": time.perf_counter() - began,
    }
    return dict(json_values(answer))


@functools.lru_cache(maxsize=1)
def _first_step(untrained: Problem, seed: int) -> FirstStep:
    """Return the first step of the network of this seed; remembered while sliders move its size."""
    return FirstStep.of(untrained, seed)


def _correlation(readout: Floats, overlap: Floats) -> float | None:
    """Return the correlation over the neurons; None if one of the two is constant."""
    if np.ptp(readout) == 0.0 or np.ptp(overlap) == 0.0:
        return None
    return float(np.corrcoef(readout, overlap)[0, 1])


def _rounded(values: Floats) -> list[float]:
    """Return the values with five digits: more than a picture shows, and half the bytes."""
    return [float(f"{value:.5g}") for value in values]
