"""predict and spectrum: the theory that is named, over a problem or a grid of problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from onegrad.exceptions import InvalidInput, NotConverged, case_insensitive, check_choice, warn
from onegrad.problem import Problem, list_axes
from onegrad.theory import uniform
from onegrad.theory.asymptotic import random_features, small_step, staircase
from onegrad.theory.asymptotic import spectrum as asymptotic
from onegrad.theory.bounds import kernel_lower_bound
from onegrad.theory.results import Errors, Prediction, Value
from onegrad.theory.scope import answering, require_representable, sensible
from onegrad.theory.spectra import Spectrum

THEORIES: dict[str, Callable[[Sequence[Problem]], Errors]] = {
    "uniform": uniform.errors,
    "staircase": staircase.errors,
    "small-step": small_step.errors,
    "random-features": random_features.errors,
}
METHODS: dict[str, Callable[[Problem], Spectrum]] = {
    "asymptotic": asymptotic.spectrum,
    "uniform": uniform.spectrum,
}


def predict(
    problem: Problem, theory: str = "uniform", *, printed: bool = False, **axes: Any
) -> Prediction:
    """The errors of a problem under a theory; lists among `axes` make a grid.

    Parameters
    ----------
    theory : "uniform" (every step size at finite n), "staircase" (eta = n**alpha between
        thresholds, n to infinity), "small-step" (eta of order one, n to infinity) or
        "random-features" (the untrained network).
    printed : with "staircase", the formulas as printed, wrong factors included.
    axes : fields of the problem with a value or a list, e.g. alpha=[0, 0.1, 0.2].

    Examples
    --------
    >>> import onegrad as og
    >>> problem = og.Problem(n=1000, d=500, N=667, activation="softplus", alpha=0.4)
    >>> og.predict(problem)
    Prediction(uniform: train=0.0395417, test=0.113961, risk=0.113961)
    >>> og.predict(problem, theory="staircase", alpha=[0.1, 0.2]).test.round(3)
    array([...])

    See onegrad.theory.asymptotic and onegrad.theory.uniform for formulas and assumptions.
    """
    theory = check_choice("theory", case_insensitive(theory, THEORIES), THEORIES)
    if printed and theory != "staircase":
        raise InvalidInput("printed", printed, f"False with theory {theory!r}")
    problems, shape = problem.grid(**axes)
    require_representable(theory, problems)
    with answering(f"{theory} theory"):
        if printed:
            errors = staircase.printed_errors(problems)
        else:
            errors = sensible(f"{theory} theory", THEORIES[theory](problems), problems)
    warn(*errors.warnings)
    noise = np.array([p.noise**2 for p in problems])
    floor = noise + [kernel_lower_bound(p.teacher_function) for p in problems]
    apart = ("warnings", "accuracy", "spread")
    columns = {f.name: getattr(errors, f.name) for f in fields(errors) if f.name not in apart} | {
        "risk": errors.test - noise,
        "alpha": np.array([np.nan if p.alpha is None else p.alpha for p in problems]),
        "eta": np.array([p.step for p in problems]),
        "ridge": np.array([p.ridge for p in problems]),
        "linear": floor,
        "kernel_bound": floor.copy(),
    }
    values = {k: _shaped(v, shape) for k, v in columns.items()}
    for name in ("accuracy", "spread"):
        values[name] = getattr(errors, name).map(
            lambda v: _shaped(np.broadcast_to(v, len(problems)).copy(), shape)
        )
    lists = list_axes(axes)
    base = problem.replace(**{k: v for k, v in axes.items() if k not in lists})
    return Prediction(
        problem=base, theory=theory, warnings=errors.warnings, axes=lists, printed=printed, **values
    )


def _shaped(values: np.ndarray[Any, Any] | None, shape: tuple[int, ...]) -> Value:
    """A column of numbers, or of rows of them, as an array of the grid's shape or one entry."""
    if values is None:
        return None
    values = values.reshape((*shape, *values.shape[1:]))
    return values if values.ndim else values.item()


def spectrum(problem: Problem, *, method: str = "asymptotic") -> Spectrum:
    r"""Bulk density, edges and outliers of :math:`F F^\top/n` after the step.

    The bulk is that of the untrained features; outliers stand at the actual strength of their
    spikes, those of the untrained features included (an even part of the activation has some).

    Parameters
    ----------
    method : "asymptotic" (bulk and spikes as above) or "uniform" (the fixed point that also moves
        the bulk with the step).

    Examples
    --------
    >>> import onegrad as og
    >>> og.spectrum(og.Problem(n=1000, d=500, N=667, activation="softplus", alpha=0.4))
    Spectrum(asymptotic: edge=1.71772, atom=0.333, spikes: ...)

    See onegrad.theory.asymptotic.spectrum and onegrad.theory.uniform.spectrum for assumptions.
    """
    check_choice("method", method, METHODS)
    require_representable(method, [problem])
    with answering(f"{method} spectrum"):
        found = METHODS[method](problem)
    numbers = [found.edge, found.atom, *found.x, *found.rho]
    if not np.all(np.isfinite([*numbers, *(spike.eigenvalue for spike in found.spikes)])):
        raise NotConverged(f"{method} spectrum: no digits are left at these numbers")
    warn(*found.warnings)
    return found
