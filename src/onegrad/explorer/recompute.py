"""The Python script and the command that recompute what a view shows."""

from __future__ import annotations

import shlex
from typing import Any

from onegrad.explorer.api import CURVE_ALPHAS, CURVE_RATIOS, problem_at
from onegrad.problem import FIELDS, Problem

CURVES = ("errors", "stairs")  # against alpha; the second at a size of its own
IMPORTS = {
    "errors": "import numpy as np\n\nimport onegrad as og\n",
    "stairs": "import numpy as np\n\nimport onegrad as og\n",
    "learned": "import onegrad as og\nfrom onegrad.theory import learned_coefficients\n",
    "neurons": "import onegrad as og\nfrom onegrad.networks import neurons\n",
}
ONLY_PYTHON = {
    "learned": (
        "part = learned_coefficients(problem)\n"
        "print(part.target, part.learned)  # normalised Hermite coefficients\n"
    ),
    "neurons": (
        "cloud = neurons(problem, seed=0)\n"
        "print(cloud.readout, cloud.before, cloud.after)  # overlaps with the teacher\n"
    ),
}  # views that no command prints


def problem_arguments(problem: Problem) -> dict[str, Any]:
    """Return the arguments that make this problem, without defaults; alpha or eta, if shorter."""
    values = problem.changed()
    if problem.alpha is not None:
        by_alpha = len(repr(problem.alpha)) <= len(repr(problem.eta))
        del values["eta" if by_alpha else "alpha"]
    return values


def python_script(problem: Problem, view: str, axis: str = "n") -> str:
    """Return a script that prints the numbers of a view."""
    arguments = ", ".join(f"{k}={v!r}" for k, v in problem_arguments(problem).items())
    imports = IMPORTS.get(view, "import onegrad as og\n")
    head = f"{imports}\nproblem = og.Problem({arguments})\n"
    if view in ONLY_PYTHON:
        return head + ONLY_PYTHON[view]
    if view == "spectrum":
        return head + (
            "spectrum = og.spectrum(problem)\n"
            "print(spectrum.edge, [(s.eigenvalue, s.alignment) for s in spectrum.spikes])\n"
        )
    if view in CURVES:
        low, high, count = CURVE_ALPHAS[0], CURVE_ALPHAS[-1], len(CURVE_ALPHAS)
        values, name = f"np.linspace({low}, {high}, {count})", "alpha"
    else:
        values, name = str(_sizes(problem, axis)), axis
    return head + (
        f"curve = og.predict(problem, {name}={values})\nprint(curve.train, curve.test)\n"
    )


def command(problem: Problem, view: str, axis: str = "n") -> str:
    """Return the command that prints the numbers of a view, as JSON if onegrad has one for it."""
    if view in ONLY_PYTHON:
        lines = [line for line in python_script(problem, view).splitlines() if line]
        return f"python -c {shlex.quote('; '.join(lines))}"
    values = problem_arguments(problem)
    if view in CURVES:
        values.pop("eta", None)
        values["alpha"] = f"{CURVE_ALPHAS[0]}:{CURVE_ALPHAS[-1]}:{len(CURVE_ALPHAS)}"
    elif view == "sizes":
        values[axis] = ",".join(map(str, _sizes(problem, axis)))
    options = [
        FIELDS[k].option if v is True else f"{FIELDS[k].option}={shlex.quote(str(v))}"
        for k, v in values.items()
    ]
    name = "spectrum" if view == "spectrum" else "predict"
    return " ".join(["onegrad", name, *options, "--json"])


def _sizes(problem: Problem, axis: str) -> list[int]:
    return [getattr(problem_at(problem, axis, ratio), axis) for ratio in CURVE_RATIOS]
