"""Random valid problems, from ordinary to hostile: sizes, numbers and functions over wide ranges.

Every theory must answer each with numbers, or say in one line why it has none.
"""

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
ATTACKS = (  # random problems that were off a bound or took minutes
    og.Problem(
        n=75, d=46, N=404, n_step=73, activation="H2", teacher="H1 + H30/sqrt(2.65e32)",
        ridge=1.0833932046696898e-07, alpha=-0.041794262416266326, weights="sphere",
        inputs="spiked(4)", corrupted=0.3,
    ),
    og.Problem(
        n=218, d=92, N=1052, n_step=350, activation="H1 + H2/sqrt(2)", ridge=1.8855e-05, eta=0.0,
        teacher="H1 + H30/sqrt(2.65e32)", inputs="power-law(1)",
    ),
    og.Problem(
        n=1439, d=37, N=30185, n_step=1, activation="silu", teacher="erf", noise=1.0, ridge=5.66596,
        alpha=0.64792, weights="sphere", readout="constant", residual="full", inputs="power-law(1)",
    ),
    og.Problem(
        n=8, d=8, N=49, n_step=42, activation="H2 - H4/10", teacher="H1 + H2/sqrt(2)", noise=1.0,
        ridge=1.0285e-05, alpha=0.3694, weights="sphere", readout="rademacher", residual="full",
        inputs="spiked(4)", noise_law="student-t(3)", corrupted=0.3,
    ),
    og.Problem(
        n=1512, d=5655, N=11229, n_step=8990, activation="sin", teacher="H1 + H2/2 + H3/6:raw",
        noise=1.0, ridge=2.9701e-07, alpha=0.53403, weights="sphere", residual="full",
        inputs="power-law(1)",
    ),
    og.Problem(
        n=20, d=10**12, N=30, activation="tanh", teacher="H1", alpha=0.3, inputs="power-law(1)",
    ),
    og.Problem(
        n=1783, d=12053, N=3228, n_step=3680, activation="elu", teacher="erf:raw", noise=1.0,
        ridge=2.3069e-06, alpha=0.15014, readout="constant", inputs="power-law(1)",
    ),
    og.Problem(
        n=9193, d=7173, N=9245, n_step=311, activation="softplus", teacher="sigmoid", noise=1.0,
        ridge=2.3233e-05, alpha=0.46003, readout="rademacher", residual="full", steps=2,
        labels="centred",
    ),
    og.Problem(
        n=118, d=9, N=6, n_step=147, activation="1e-6*H1:raw", noise=1.0, ridge=5.9495, eta=0.0,
        teacher="H1 + H30/sqrt(2.65e32):raw", labels="centred", noise_law="student-t(3)",
    ),
    og.Problem(
        n=194, d=29, N=152, n_step=81, activation="1e-6*H1:raw", teacher="erf:unit",
        ridge=6.6519e-07, alpha=-0.0618, readout="constant", residual="full", labels="centred",
    ),
)  # fmt: skip


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
