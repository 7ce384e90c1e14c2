"""Checks of every theory: a problem it can represent, and errors that are possible."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput, NotConverged, OutOfScope
from onegrad.problem import FIELDS, Problem
from onegrad.theory.prediction import Errors

MAX_NUMBER = 1e100  # of a standard deviation or a step: squares stay far from overflow
RIDGE_RANGE = 1e-40, 1e40  # in units of the activation's mean square
MAX_EXCESS = 1e-3  # beyond a bound, by quadrature: values are put on the bound
NETWORKS = 20  # of which a refusal says the cost: as many as `simulate` trains by default
TYPICAL_RATE = 1e10  # floating-point operations per second of a core


def require_known_fields(theory: str, fields: Collection[str], problems: Sequence[Problem]) -> None:
    """Raise OutOfScope for a problem with a value that the theory does not take into account.

    fields : the fields that it does; any other field must have its default.
    """
    others = [field for field in FIELDS.values() if not field.required and field.name not in fields]
    for problem in problems if others else ():
        implied = {"eta": 0.0, "n_step": problem.n}  # what None stands for
        for field in others:
            value, default = getattr(problem, field.name), implied.get(field.name, field.default)
            if value != default:
                raise OutOfScope(theory, field.name, value, f"{field.name}={default!r}")


def require_representable(theory: str, problems: Sequence[Problem]) -> None:
    """Raise OutOfScope where the squares of a problem's numbers overflow or vanish."""
    for p in problems:
        for name, value in (("noise", p.noise), ("eta", p.step)):
            if value > MAX_NUMBER:
                raise OutOfScope(theory, name, value, f"values up to {MAX_NUMBER:g}")
        energy = p.sigma.second_moment
        low, high = (bound * energy for bound in RIDGE_RANGE)
        if energy and not low <= p.ridge <= high:
            covered = f"{low:.1e} to {high:.1e} with this activation"
            raise OutOfScope(theory, "ridge", p.ridge, covered)


def simulation_flops(p: Problem) -> float:
    r"""Return the operations of `simulate` with its default arguments.

    .. math:: 20\,\big(4kn_0dN + 2(n + n')dN + nNm + m^3/3\big), \qquad
        n' = \max(1024, n/4),\quad m = \min(n, N)

    for k steps on n_0 rows each, features of n rows and n' test rows, and ridge.
    """
    smaller, rows = min(p.n, p.N), p.n + max(1024, p.n // 4)
    steps = 4.0 * p.steps * p.rows_of_step * p.d * p.N
    return NETWORKS * (steps + 2.0 * rows * p.d * p.N + p.n * p.N * smaller + smaller**3 / 3)


def only_simulated(field: str, p: Problem, covered: str) -> OutOfScope:
    """Return the refusal of the uniform theory that says what networks cost instead."""
    flops = simulation_flops(p)
    cost = f"{flops:.1e} operations, {flops / TYPICAL_RATE:.2g} s at {TYPICAL_RATE:.0e} per second"
    instead = f"`simulate` covers it: {NETWORKS} networks take about {cost}"
    return OutOfScope("uniform", field, getattr(p, field), covered, instead=instead)


@contextmanager
def numerical_failures(theory: str) -> Iterator[None]:
    """Raise NotConverged for an overflow, a singular matrix or a root without a bracket."""
    try:
        with np.errstate(all="ignore"):
            yield
    except InvalidInput:
        raise
    except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
        cause = " ".join(str(error).split())
        raise NotConverged(f"{theory}: rounding leaves no correct digits ({cause:.80})") from error


def require_possible(theory: str, errors: Errors, problems: Sequence[Problem]) -> Errors:
    """Return the errors, put on the bounds that hold for any fit where rounding is beyond them.

    Zero weights have the mean square of the labels as their objective, and no fit predicts the
    noise of a new label: 0 <= loss <= objective <= E y^2 and test >= noise^2. The mean of n_0 rows
    adds at most E y^2/n_0 to centred labels. (Labels less a linear fit have no bound here: the fit
    may be worse than none.)
    """
    noise = np.array([p.noise**2 for p in problems])
    labels = noise + [p.teacher_function.second_moment for p in problems]
    labels = np.where(np.isnan(errors.label_energy), labels, errors.label_energy)
    labels = labels * [1 + (p.labels == "centred") / p.rows_of_step for p in problems]
    labels = np.where([p.labels in ("plain", "centred") for p in problems], labels, np.inf)
    train = _within(theory, "train", errors.train, np.zeros_like(labels), labels)
    test = _within(theory, "test", errors.test, noise, np.full_like(labels, np.inf))
    loss = _within(theory, "squared_loss", errors.squared_loss, np.zeros_like(labels), train)
    return replace(errors, train=train, test=test, squared_loss=loss)


def _within(theory: str, name: str, values: Floats, low: Floats, high: Floats) -> Floats:
    """Return the values clipped to the bounds; raise NotConverged where they are far outside."""
    scale = np.where(np.isfinite(high), high, low)
    wrong = ~np.isfinite(values) | (values < low - MAX_EXCESS * scale)
    wrong |= values > high + MAX_EXCESS * scale
    if np.any(wrong):
        i = int(np.argmax(wrong))
        raise NotConverged(
            f"{theory}: {name} = {values[i]:g} is not between {low[i]:g} and {high[i]:g}: "
            "rounding leaves no correct digits"
        )
    return np.clip(values, low, high)
