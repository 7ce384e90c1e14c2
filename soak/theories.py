"""Random valid problems through every theory: numbers that can be, or one line; and no jumps."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import onegrad as og
import random_problems
from onegrad.theory.dispatch import METHODS, THEORIES
from soak.attempt import attempt
from soak.ledger import Tally

REFUSALS = (og.InvalidInput, og.NotConverged)
ROUNDING = 1e-6
STEP = 0.002  # of alpha between neighbours
JUMP = 0.01  # of the error: what two neighbours may differ by beyond the line through them


def problems(rng: np.random.Generator, count: int, where: str) -> Tally:
    """Every theory of errors, on one problem after the other."""
    tally = Tally()
    with _quiet():
        for i in range(count):
            problem = random_problems.random_problem(rng)
            for theory in THEORIES:
                name = f"{where}.{i} {theory} {problem}"
                with attempt(tally, name, REFUSALS):
                    found = og.predict(problem, theory=theory)
                    _judge(tally, name, problem, float(found.train), float(found.test))
    tally.attacks = count  # what counts is the problem
    return tally


def spectra(rng: np.random.Generator, count: int, where: str) -> Tally:
    """Every theory of spectra."""
    tally = Tally()
    with _quiet():
        for i in range(count):
            problem = random_problems.random_problem(rng)
            for method in METHODS:
                name = f"{where}.{i} {method} {problem}"
                with attempt(tally, name, REFUSALS):
                    found = og.spectrum(problem, method=method)
                    spikes = [spike.eigenvalue for spike in found.spikes]
                    if not np.all(np.isfinite([found.edge, found.atom, *spikes])):
                        tally.fault("wrong", name, f"edge {found.edge}, spikes {spikes}")
                    tally.ends["numbers"] += 1
    tally.attacks = count
    return tally


@contextmanager
def _quiet() -> Iterator[None]:
    """Warnings of assumptions are answers too."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _judge(tally: Tally, name: str, problem: og.Problem, train: float, test: float) -> None:
    """Train error at most that of predicting nothing, test error at least the noise."""
    tally.ends["numbers"] += 1
    star = problem.sigma_star
    labels = float(star.variance + star.c[0] ** 2 + problem.noise**2)
    if not (math.isfinite(train) and math.isfinite(test)):
        tally.fault("wrong", name, f"train {train}, test {test}")
    elif math.isfinite(labels) and not -ROUNDING * labels <= train <= labels * (1 + ROUNDING):
        tally.fault("wrong", name, f"train {train} of labels {labels}")
    elif test < problem.noise**2 * (1 - ROUNDING):
        tally.fault("wrong", name, f"test {test} below the noise {problem.noise**2}")


def jumps(rng: np.random.Generator, count: int, where: str) -> Tally:
    """Three neighbours along alpha: the middle one is near the line through the others."""
    tally = Tally()
    with _quiet():
        for i in range(count):
            problem = random_problems.ordinary_problem(rng)
            name = f"{where}.{i} {problem}"
            with attempt(tally, name, REFUSALS):
                alphas = [problem.alpha + k * STEP for k in (-1, 0, 1)]
                found = [og.predict(problem.replace(alpha=alpha)) for alpha in alphas]
                for quantity in ("train", "test"):
                    a, b, c = (float(getattr(x, quantity)) for x in found)
                    if abs(b - (a + c) / 2) > JUMP * abs(b) + 1e-9:
                        tally.fault("jumps", name, f"{quantity} {a}, {b}, {c}")
                tally.ends["numbers"] += 1
    return tally
