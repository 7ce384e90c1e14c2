"""The controls of the page, from the fields of Problem, and the presets.

The page draws its controls from this table and the server checks requests against it, so a limit
is written once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onegrad.problem import FIELDS, RATIO_FIELDS
from onegrad.problem.fields import PAPERS, Field

CONTROL_GROUPS = ("functions", "sizes", "fit", "step", "network")  # from top to bottom
CONTROLS: dict[str, Field] = {
    name: field
    for group in CONTROL_GROUPS
    for name, field in {**FIELDS, **RATIO_FIELDS}.items()
    if field.group == group
}
assert CONTROLS["alpha"].slider is not None
ALPHA_RANGE = CONTROLS["alpha"].slider  # of the slider and of every curve against the step
ALPHA_STEP = 0.005  # of the slider

DEFAULTS = {
    "activation": "softplus",
    "teacher": "H1 + H2/sqrt(2)",
    "noise": "0",
    "n": "4000",
    "phi": "0.125",
    "psi": "0.5",
    "ridge": "0.01",
    "alpha": "0.3",
    "weights": "gaussian",
    "readout": "gaussian",
    "residual": "labels",
}


@dataclass(frozen=True)
class Preset:
    """A setting from the literature: the query that shows it and one line on what to look at."""

    name: str
    title: str
    query: dict[str, str]


PRESETS = (
    Preset("Setting 1",
           "A linear teacher and noise: only the linear spike helps, a very large step hurts.",
           DEFAULTS | {"activation": "tanh", "teacher": "H1", "noise": "1", "n": "2000",
                       "phi": "0.5", "psi": "0.75"}),
    Preset("Setting 2", "A quadratic part: learned once α passes ¼, gradually at this n.",
           DEFAULTS),
    Preset("Ba Figure 3(a)", "A step of order one, tanh learns softplus: better at every n/d.",
           {"activation": "tanh", "teacher": "softplus", "noise": "0.25", "n": "2560", "d": "512",
            "N": "1024", "ridge": "0.0001", "eta": "1", "weights": "gaussian",
            "readout": "gaussian", "residual": "labels"}),
    Preset("Ba Figure 3(c)", "A large step goes below the kernel bound: erf learns erf.",
           {"activation": "erf", "teacher": "erf", "noise": "0.1", "n": "5120", "d": "512",
            "N": "1024", "ridge": "0.001", "eta": "32", "weights": "gaussian",
            "readout": "gaussian", "residual": "labels"}),
    Preset("Maximal step", "Constant readout and η = √N: every neuron turns to the teacher.",
           {"activation": "relu", "teacher": "H1 + H2/sqrt(2)", "noise": "0", "n": "8000",
            "d": "1000", "N": "2000", "n_step": "4000", "ridge": "0.01", "eta": "44.72",
            "weights": "gaussian", "readout": "constant", "residual": "labels"}),
)  # fmt: skip


def alpha_grid(step: float) -> tuple[float, ...]:
    """Return exponents this far apart over the whole range of the slider."""
    low, high = ALPHA_RANGE
    return tuple(round(low + step * i, 3) for i in range(round((high - low) / step) + 1))


def control_table() -> dict[str, Any]:
    """Return what the page needs to draw its controls and axes, as JSON values."""
    return {
        "controls": [_control(field) for field in CONTROLS.values()],
        "presets": [vars(preset) for preset in PRESETS],
        "defaults": DEFAULTS,
        "alpha_step": ALPHA_STEP,
    }


def _control(field: Field) -> dict[str, Any]:
    names = ("name", "label", "kind", "choices", "slider", "logarithmic", "group", "unset")
    return {name: getattr(field, name) for name in names} | {
        "help": f"{field.help[0].upper()}{field.help[1:]}.",
        "papers": dict(zip(PAPERS, field.papers, strict=True)),
    }
