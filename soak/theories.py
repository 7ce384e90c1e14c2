"""Random valid problems through every theory: possible numbers or one line, and no jumps."""

import math
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import onegrad as og
from onegrad.theory.theories import SPECTRUM_METHODS, THEORIES
from soak import random_problems
from soak.ledger import AttackCounts, attempt

Check = Callable[[AttackCounts, str, og.Problem], None]
REFUSALS = (og.InvalidInput, og.NotConverged)
ROUNDING_ERROR = 1e-6
ALPHA_STEP = 0.002  # between neighbours
MAX_ASYMMETRY = 1e-3  # of errors that are equal by a symmetry, or in a limit
MAX_JUMP = 0.01  # of the error, by which a point may be off the line through its neighbours


def predict_problems(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Predict the errors of random problems with every theory."""
    checks = {theory: partial(_check_errors, theory=theory) for theory in THEORIES}
    return _ask(where, [random_problems.random_problem(rng) for _ in range(count)], checks)


def predict_spectra(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Predict the spectra of random problems with every method."""
    checks = {method: partial(_check_spectrum, method=method) for method in SPECTRUM_METHODS}
    return _ask(where, [random_problems.random_problem(rng) for _ in range(count)], checks)


def find_jumps(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Predict three neighbours along alpha: the middle one is near the line through the others."""
    problems = [random_problems.ordinary_problem(rng) for _ in range(count)]
    return _ask(where, problems, {"neighbours": _check_neighbours})


def check_symmetries(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Predict problems that are the same but for a sign or a unit, and problems in a limit."""
    problems = [random_problems.ordinary_problem(rng) for _ in range(count)]
    return _ask(where, problems, {"symmetries": _check_symmetries})


def _ask(where: str, problems: list[og.Problem], checks: dict[str, Check]) -> AttackCounts:
    """Make every check of each problem; a number with a warning is an answer, too."""
    counts = AttackCounts()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for i, problem in enumerate(problems):
            for kind, check in checks.items():
                name = f"{where}.{i} {kind} {problem}"
                with attempt(counts, name, REFUSALS):
                    check(counts, name, problem)
                    counts.ends["numbers"] += 1
    counts.attacks = len(problems)  # not one per check
    return counts


def _check_errors(counts: AttackCounts, name: str, problem: og.Problem, theory: str) -> None:
    """Check that the train error is at most that of predicting 0, the test error above noise."""
    prediction = og.predict(problem, theory=theory)
    train, test = float(prediction.train), float(prediction.test)
    labels = _second_moment_of_labels(problem)
    if not (math.isfinite(train) and math.isfinite(test)):
        counts.fault("wrong", name, f"train {train}, test {test}")
    elif math.isfinite(labels) and not -ROUNDING_ERROR * labels <= train <= labels * (
        1 + ROUNDING_ERROR
    ):
        counts.fault("wrong", name, f"train {train} of labels {labels}")
    elif test < problem.noise**2 * (1 - ROUNDING_ERROR):
        counts.fault("wrong", name, f"test {test} below the noise {problem.noise**2}")


def _check_spectrum(counts: AttackCounts, name: str, problem: og.Problem, method: str) -> None:
    """Check that edge, atom and spikes are finite."""
    spectrum = og.spectrum(problem, method=method)
    spikes = [spike.eigenvalue for spike in spectrum.spikes]
    if not np.all(np.isfinite([spectrum.edge, spectrum.atom, *spikes])):
        counts.fault("wrong", name, f"edge {spectrum.edge}, spikes {spikes}")


def _second_moment_of_labels(problem: og.Problem) -> float:
    """Return E y^2 for isotropic inputs; infinity where it depends on more than the teacher."""
    if problem.inputs != "gaussian" or problem.labels not in ("plain", "centred"):
        return math.inf
    star = problem.sigma_star
    moment = float(star.variance + star.c[0] ** 2 + problem.noise**2)
    if problem.labels == "plain":
        return moment
    return moment * (1 + 1 / problem.n_step)  # the mean that is taken off is of the step's rows


def _check_neighbours(counts: AttackCounts, name: str, problem: og.Problem) -> None:
    """Check that the middle of three neighbours is near the line through the others."""
    alphas = [problem.alpha + k * ALPHA_STEP for k in (-1, 0, 1)]
    predictions = [og.predict(problem.replace(alpha=alpha)) for alpha in alphas]
    for quantity in ("train", "test"):
        a, b, c = (float(getattr(x, quantity)) for x in predictions)
        if abs(b - (a + c) / 2) > MAX_JUMP * abs(b) + 1e-9:
            counts.fault("jumps", name, f"{quantity} {a}, {b}, {c}")


def _check_symmetries(counts: AttackCounts, name: str, problem: og.Problem) -> None:
    """Check that problems which are the same have the same errors, and the limits of one."""
    # a readout of one sign tells the signs of the teacher apart
    readout = "gaussian" if problem.readout == "constant" else problem.readout
    problem = problem.replace(residual="labels", eta=problem.step, readout=readout)
    first = og.predict(problem)
    for kind, other, scale in _equal_problems(problem):
        again = og.predict(other)
        for quantity in ("train", "test"):
            a, b = float(getattr(first, quantity)), float(getattr(again, quantity))
            if abs(b / scale - a) > MAX_ASYMMETRY * abs(a) + 1e-12:
                counts.fault("wrong", name, f"{kind}: {quantity} {a}, {b / scale}")
    _check_limits(counts, name, problem, first)


def _equal_problems(problem: og.Problem) -> Iterator[tuple[str, og.Problem, float]]:
    """Yield problems whose errors are those of this one, up to a factor."""
    # a named teacher is centred, a formula is as it is written
    negative, triple = (f"{factor}*({problem.teacher}):centred" for factor in (-1, 3))
    yield "sign of the teacher", problem.replace(teacher=negative), 1.0
    yield "sign of the activation", problem.replace(activation=f"-1*({problem.activation})"), 1.0
    scaled = {"teacher": triple, "noise": 3 * problem.noise}
    yield "unit of the labels", problem.replace(**scaled, eta=problem.step / 3), 9.0


def _check_limits(
    counts: AttackCounts, name: str, problem: og.Problem, prediction: og.Prediction
) -> None:
    """Check that the train error grows with the penalty, and the limits of both parameters."""
    more = og.predict(problem.replace(ridge=2 * problem.ridge))
    train, larger = float(prediction.train), float(more.train)
    if not train * (1 - ROUNDING_ERROR) <= larger <= 2 * train * (1 + ROUNDING_ERROR):
        counts.fault("wrong", name, f"train {train} and, with twice the penalty, {larger}")
    labels = _second_moment_of_labels(problem)
    null = og.predict(problem.replace(ridge=1e9))
    for quantity in ("train", "test"):
        value = float(getattr(null, quantity))
        if abs(value - labels) > 1e-2 * labels:
            counts.fault("wrong", name, f"{quantity} {value} of labels {labels} without a fit")
    untrained = float(og.predict(problem.replace(eta=0.0)).test)
    vanishing = float(og.predict(problem.replace(eta=1e-9)).test)
    if abs(vanishing - untrained) > MAX_ASYMMETRY * untrained:
        counts.fault("wrong", name, f"test {vanishing} after a vanishing step, {untrained} without")
