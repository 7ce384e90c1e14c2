"""The controls of the page, from the fields of Problem, the presets, and how a query is read.

The page draws its controls from this table and a query of their texts is checked against it, so a
limit is written once.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.exceptions import InvalidInput, check_choice
from onegrad.pictures import style
from onegrad.problem import FIELDS, RATIO_FIELDS, Problem
from onegrad.problem.fields import PAPERS, Field
from onegrad.theory import THEORIES, Theory

CONTROLS: dict[str, Field] = {
    name: field
    for group in ("functions", "sizes", "fit", "step", "network")  # from top to bottom
    for name, field in {**FIELDS, **RATIO_FIELDS}.items()
    if field.group == group
}
assert CONTROLS["alpha"].slider is not None
ALPHA_RANGE = CONTROLS["alpha"].slider  # of the slider and of every curve against the step
ALPHA_STEP = 0.005  # of the slider
RATIO_RANGE = (0.25, 25.0)  # n/d or N/d of the curves against a size
PLOTLY_DASHES = {style.DOTS: "dot", style.DASH_DOTS: "dashdot", style.SOLID: "solid"}
MAX_VALUE_LENGTH = 400  # characters: longer formulas than anybody types, not a tuned limit
# float() would also take 1_000, nan, infinity and digits of other scripts
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
ALTERNATIVES = (("d", "phi"), ("N", "psi"), ("alpha", "eta"))  # two ways to say the same

LAWS = {"weights": "gaussian", "readout": "gaussian", "residual": "labels"}
DEFAULTS = {
    "activation": "softplus",
    "teacher": "H1 + H2/sqrt(2)",
    "noise": "0",
    "n": "4000",
    "phi": "0.125",
    "psi": "0.5",
    "ridge": "0.01",
    "alpha": "0.3",
    **LAWS,
}


@dataclass(frozen=True)
class Preset:
    """A setting from the literature: the query that shows it and one line on what to look at."""

    name: str
    title: str
    query: dict[str, str]


PRESETS = (
    Preset("Two spikes, two stairs",
           "A quadratic part is learned once α passes ¼, gradually at this n (Moniri, 2).",
           DEFAULTS),
    Preset("One spike, with noise",
           "A linear teacher: only the linear spike helps, a very large step hurts (Moniri, 1).",
           DEFAULTS | {"activation": "tanh", "teacher": "H1", "noise": "1", "n": "2000",
                       "phi": "0.5", "psi": "0.75"}),
    Preset("A small step helps",
           "A step of order one, tanh learns softplus: better at every n/d (Ba, figure 3a).",
           {"activation": "tanh", "teacher": "softplus", "noise": "0.25", "n": "2560", "d": "512",
            "N": "1024", "ridge": "0.0001", "eta": "1", **LAWS}),
    Preset("Below every kernel",
           "A large step goes below the kernel bound: erf learns erf (Ba, figure 3c).",
           {"activation": "erf", "teacher": "erf", "noise": "0.1", "n": "5120", "d": "512",
            "N": "1024", "ridge": "0.001", "eta": "32", **LAWS}),
    Preset("All neurons turn",
           "Constant readout and η = √N: every neuron turns to the teacher (Cui).",
           {"activation": "relu", "teacher": "H1 + H2/sqrt(2)", "noise": "0", "n": "8000",
            "d": "1000", "N": "2000", "n_step": "4000", "ridge": "0.01", "eta": "44.72",
            **LAWS, "readout": "constant"}),
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
        "ratios": RATIO_RANGE,
        "theories": [
            {
                "key": theory_key(theory),
                "label": theory.label,
                "about": theory.about,
                "dash": PLOTLY_DASHES.get(theory.dash, "dash"),
            }
            for theory in limit_theories()
        ],
    }


def limit_theories() -> list[Theory]:
    """Return the theories drawn beside the uniform one; the untrained network is a level."""
    return [t for t in THEORIES.values() if t.name not in ("uniform", "random-features")]


def theory_key(theory: Theory) -> str:
    """Return the key of a theory's curve in the answers."""
    return theory.name.replace("-", "_")


def _control(field: Field) -> dict[str, Any]:
    names = ("name", "label", "kind", "choices", "slider", "logarithmic", "group", "unset")
    return {name: getattr(field, name) for name in names} | {
        "help": f"{field.help[0].upper()}{field.help[1:]}.",
        "papers": dict(zip(PAPERS, field.papers, strict=True)),
    }


def read_problem(query: Mapping[str, str]) -> Problem:
    """Return the problem that a query describes, its missing values taken from the defaults.

    `phi` stands for d = phi n, `psi` for N = d/psi. The argument of what it raises is the control.
    """
    for name in query:
        check_choice("control", name[:40], CONTROLS)
    entered = {name: value.strip() for name, value in query.items()}
    texts = DEFAULTS | entered
    for one, other in ALTERNATIVES:
        if one in entered and other in entered:
            raise InvalidInput(other, problem=f"it is given as {one}, too; keep one of them")
        if one in entered or other in entered:
            texts.pop(other if one in entered else one, None)
    values = {name: _value(CONTROLS[name], text) for name, text in texts.items()}
    if "phi" in values:
        values["d"] = _size_from("phi", CONTROLS["d"], values.pop("phi") * values["n"])
    if "psi" in values:
        values["N"] = _size_from("psi", CONTROLS["N"], values["d"] / values.pop("psi"))
    with np.errstate(all="ignore"):  # a coefficient may overflow, which Problem reports
        return Problem(**values)


def _value(control: Field, text: str) -> Any:
    """Return the value of a control, within its limits."""
    if len(text) > MAX_VALUE_LENGTH:
        raise InvalidInput(control.name, problem=f"longer than {MAX_VALUE_LENGTH} characters")
    if control.limits is None:
        return text  # Problem parses formulas and knows the choices
    low, high = control.limits
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    integer = control.kind == "whole"
    if not low <= value <= high or (integer and not value.is_integer()):
        kind = "a whole number" if integer else "a number"
        raise InvalidInput(
            control.name, text, f"{kind} from {plain_number(low)} to {plain_number(high)}"
        )
    return int(value) if integer else value


def plain_number(x: float) -> str:
    """Return a number as people write it: 1,000,000,000 and 0.00000001.

    >>> plain_number(1e9), plain_number(1e-8), plain_number(-0.5)
    ('1,000,000,000', '0.00000001', '-0.5')
    """
    return f"{int(x):,}" if x == int(x) else np.format_float_positional(x, trim="-")


def read_whole(name: str, text: str, low: int, high: int) -> int:
    """Return the whole number that a text is, from `low` to `high`."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and low <= int(text) <= high):
        raise InvalidInput(name, text, f"a whole number from {low} to {high}")
    return int(text)


def _size_from(ratio: str, control: Field, size: float) -> int:
    """Return the size that follows from a ratio, within the size's own limits."""
    assert control.limits is not None
    low, high = control.limits
    if not low <= round(size) <= high:
        limits = f"{plain_number(low)} to {plain_number(high)}"
        problem = f"it makes {control.name} = {size:.3g}, which must be from {limits}"
        raise InvalidInput(ratio, problem=problem)
    return round(size)


def control_of(error: Exception) -> str | None:
    """Return the control that an error is about, if it is about one."""
    name = error.argument if isinstance(error, InvalidInput) else None
    return name if name in (*CONTROLS, "seeds") else None
