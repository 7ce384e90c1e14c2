"""The Python lines and the command that compute again what a view shows."""

from __future__ import annotations

import shlex
from typing import Any

from onegrad.explorer.api import ALPHAS, RATIOS, at
from onegrad.problem import FIELDS, Problem

CURVES = ("errors", "stairs")  # against alpha; the second at a size of its own
IMPORTS = {
    "learned": "from onegrad.theory import learned_coefficients\n",
    "neurons": "from onegrad.networks import neurons\n",
}  # views that og's own names do not give


def fields(problem: Problem) -> dict[str, Any]:
    """The arguments that say this problem: alpha or eta, whichever is shorter; no defaults."""
    values = problem.changed()
    if problem.alpha is not None:
        by_alpha = len(repr(problem.alpha)) <= len(repr(problem.eta))
        del values["eta" if by_alpha else "alpha"]
    return values


def python(problem: Problem, view: str, axis: str = "n") -> str:
    """A script that prints the view's numbers."""
    arguments = ", ".join(f"{k}={v!r}" for k, v in fields(problem).items())
    numpy = "import numpy as np\n\n" if view in CURVES else ""
    head = (
        f"{numpy}import onegrad as og\n{IMPORTS.get(view, '')}\nproblem = og.Problem({arguments})\n"
    )
    if view == "spectrum":
        return head + (
            "spectrum = og.spectrum(problem)\n"
            "print(spectrum.edge, [(s.eigenvalue, s.alignment) for s in spectrum.spikes])\n"
        )
    if view == "learned":
        return head + (
            "found = learned_coefficients(problem)\n"
            "print(found.target, found.learned)  # normalised Hermite coefficients\n"
        )
    if view == "neurons":
        return head + (
            "found = neurons(problem, seed=0)\n"
            "print(found.readout, found.before, found.after)  # overlaps with the teacher\n"
        )
    if view in CURVES:
        values, name = f"np.linspace({ALPHAS[0]}, {ALPHAS[-1]}, {len(ALPHAS)})", "alpha"
    else:
        values, name = str(_sizes(problem, axis)), axis
    return head + (
        f"curve = og.predict(problem, {name}={values})\nprint(curve.train, curve.test)\n"
    )


def command(problem: Problem, view: str, axis: str = "n") -> str:
    """The command that prints the view's numbers, as JSON where onegrad has one for it."""
    if view in IMPORTS:
        lines = [line for line in python(problem, view).splitlines() if line]
        return f"python -c {shlex.quote('; '.join(lines))}"
    given = fields(problem)
    if view in CURVES:
        given.pop("eta", None)
        given["alpha"] = f"{ALPHAS[0]}:{ALPHAS[-1]}:{len(ALPHAS)}"
    elif view == "sizes":
        given[axis] = ",".join(map(str, _sizes(problem, axis)))
    options = [
        FIELDS[k].option if v is True else f"{FIELDS[k].option}={shlex.quote(str(v))}"
        for k, v in given.items()
    ]
    name = "spectrum" if view == "spectrum" else "predict"
    return " ".join(["onegrad", name, *options, "--json"])


def _sizes(problem: Problem, axis: str) -> list[int]:
    return [getattr(at(problem, axis, ratio), axis) for ratio in RATIOS]
