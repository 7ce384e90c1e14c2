"""The Python script and the command that recompute what a view shows."""

import shlex
from typing import Any

from onegrad.explorer.api import CURVE_ALPHAS, CURVE_RATIOS, problem_at
from onegrad.problem import FIELDS, Problem

CURVES = ("errors", "stairs")  # against alpha; the second at a size of its own
ONLY_PYTHON = ("learned", "neurons")  # views that no command prints
OG = "import onegrad as og\n"
CURVE = "curve = og.predict(problem, {}={})\nprint(curve.train, curve.test)\n"
SCRIPTS = {  # imports and lines
    "learned": (
        OG + "from onegrad.theory import learned_coefficients\n",
        "part = learned_coefficients(problem)\n"
        "print(part.target, part.learned)  # normalised Hermite coefficients\n",
    ),
    "neurons": (
        OG + "from onegrad.networks import neurons\n",
        "cloud = neurons(problem, seed=0)\n"
        "print(cloud.readout, cloud.before, cloud.after)  # overlaps with the teacher\n",
    ),
    "spectrum": (
        OG,
        "spectrum = og.spectrum(problem)\n"
        "print(spectrum.edge, [(s.eigenvalue, s.alignment) for s in spectrum.spikes])\n",
    ),
}


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
    if view in SCRIPTS:
        imports, lines = SCRIPTS[view]
    elif view in CURVES:
        alphas = f"np.linspace({CURVE_ALPHAS[0]}, {CURVE_ALPHAS[-1]}, {len(CURVE_ALPHAS)})"
        imports, lines = f"import numpy as np\n\n{OG}", CURVE.format("alpha", alphas)
    else:
        imports, lines = OG, CURVE.format(axis, _sizes(problem, axis))
    return f"{imports}\nproblem = og.Problem({arguments})\n{lines}"


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
