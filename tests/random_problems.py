"""Random valid problems, from ordinary to hostile: sizes, numbers and functions over wide ranges.

Every theory must answer each with numbers, or say in one line why it has none.
"""

from __future__ import annotations

import numpy as np

import onegrad as og

NAMED = ("tanh", "erf", "relu", "leaky_relu", "elu", "hardtanh", "softplus", "sigmoid", "gelu",
         "silu", "sin", "cos", "arctan")  # fmt: skip
WRITTEN = ("H1", "H2", "H3", "H1 - H1", "H1 + H2/sqrt(2)", "H1 + H2/2 + H3/6", "H1 + H20/1e9",
           "H2 - H4/10", "100*H1", "1e-6*H1", "1e6*H1 + H2", "H1 + 1e-9*H2", "1e20*H3",
           "H1 + H5/100")  # fmt: skip
TEACHERS_ONLY = ("H1 - H1", "H1@1 + H2@2", "H1 + H30/sqrt(2.65e32)", "1e-200*H1")
MODES = ("", "", "", ":raw", ":unit")
EXTREME = 0.1  # share of problems with numbers that nobody means


def random_problem(rng: np.random.Generator) -> og.Problem:
    """A problem that `Problem` accepts."""
    while True:
        try:
            return og.Problem(**_fields(rng))
        except og.InvalidInput:  # ":unit" of a constant, a teacher of more indices than inputs
            continue


def ordinary_problem(rng: np.random.Generator) -> og.Problem:
    """A problem that the uniform theory covers, of the sizes that people simulate."""
    return og.Problem(
        **_sizes(rng, 2.5, 4.3),
        activation=str(rng.choice(NAMED)),
        teacher=str(rng.choice([*NAMED, "H1", "H1 + H2/sqrt(2)", "H1 + H2/2 + H3/6"])),
        noise=float(rng.choice([0.0, 0.1, 0.3, 1.0])),
        ridge=10 ** rng.uniform(-5, 0.5),
        alpha=rng.uniform(-0.2, 0.7),
        weights=str(rng.choice(["gaussian", "sphere"])),
        readout=str(rng.choice(["gaussian", "constant", "rademacher"])),
        residual=str(rng.choice(["labels", "full"])),
    )


def _sizes(rng: np.random.Generator, low: float, high: float) -> dict[str, int]:
    """n, d, N and n_step, log-uniform, mostly within a factor of 30 of one another."""
    centre = rng.uniform(low, high)
    near = rng.random() < 0.8
    draws = centre + rng.uniform(-0.75, 0.75, 4) if near else rng.uniform(low, high, 4)
    return {k: max(1, int(10**x)) for k, x in zip(("n", "d", "N", "n_step"), draws, strict=True)}


def _fields(rng: np.random.Generator) -> dict[str, object]:
    def extreme(ordinary: object, hostile: object) -> object:
        return hostile if rng.random() < EXTREME else ordinary

    fields: dict[str, object] = dict(_sizes(rng, 0.0, 7.0 if rng.random() < EXTREME else 4.5))
    named = rng.random() < 0.6
    activation = str(rng.choice(NAMED if named else WRITTEN)) + str(rng.choice(MODES))
    teacher = str(rng.choice([*NAMED, *WRITTEN, *TEACHERS_ONLY])) + str(rng.choice(MODES))
    step = (
        {"eta": extreme(0.0, 10 ** rng.uniform(-30, 13))}
        if rng.random() < 0.3 or fields["n"] == 1
        else {"alpha": extreme(rng.uniform(-0.3, 1.0), rng.uniform(-10, 10))}
    )
    return fields | step | {
        "activation": activation,
        "teacher": teacher,
        "noise": extreme(float(rng.choice([0.0, 0.1, 1.0])), 10 ** rng.uniform(-200, 200)),
        "ridge": 10 ** extreme(rng.uniform(-8, 2), rng.uniform(-300, 200)),
        "weights": str(rng.choice(["gaussian", "sphere"])),
        "readout": str(rng.choice(["gaussian", "constant", "rademacher"])),
        "residual": str(rng.choice(["labels", "full"])),
        "intercept": bool(rng.random() < 0.1),
        "corrupted": float(rng.choice([0.0, 0.0, 0.0, 0.0, 0.3])),
        "noise_law": str(rng.choice(["gaussian", "gaussian", "gaussian", "student-t(3)"])),
        "ridge_rows": str(rng.choice(["fresh"] * 9 + ["same"])),
        "steps": int(rng.choice([1] * 19 + [2])),
        "update": str(rng.choice(["gradient"] * 18 + ["preconditioned", "spectral"])),
        "labels": str(rng.choice(["plain"] * 18 + ["centred", "residual-linear"])),
        "inputs": str(rng.choice(["gaussian"] * 12 + ["rademacher", "spiked(4)", "power-law(1)"])),
    }  # fmt: skip
