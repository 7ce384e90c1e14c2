"""The page's controls: what each one is, its limits, its name in every paper; and the presets.

The page draws its controls from this table and the server checks requests against it, so a limit
is written once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from onegrad.functions import REGISTRY
from onegrad.problem import CHOICES

MONIRI, BA, CUI = "Moniri et al. 2024", "Ba et al. 2022", "Cui et al. 2024"


@dataclass(frozen=True)
class Control:
    """One input of the page: its name in the query, its limits, and what the papers call it."""

    name: str
    label: str
    help: str
    kind: str = "number"  # number, whole, text or choice
    low: float = 0.0
    high: float = 0.0
    slider: tuple[float, float] | None = None  # the part of the limits that the slider spans
    logarithmic: bool = False
    choices: tuple[str, ...] = ()
    papers: dict[str, str] = field(default_factory=dict)


TEACHERS = ("H1", "H1 + H2/sqrt(2)", "H1 + H2/2 + H3/6", "tanh", "erf", "relu", "softplus", "sin")

_TABLE = (
    Control(
        "activation", "Activation σ", "A name or a Hermite combination; centred under N(0, 1).",
        "text", choices=tuple(REGISTRY), papers={MONIRI: "σ", BA: "σ", CUI: "σ"},
    ),
    Control(
        "teacher", "Teacher σ*", "The label is σ*(β*·x) plus noise. Hk is the k-th Hermite"
        " polynomial, as in H1 + H2/sqrt(2); or a name.",
        "text", choices=TEACHERS, papers={MONIRI: "σ*", BA: "σ*", CUI: "g"},
    ),
    Control(
        "noise", "Label noise σ_ε", "Standard deviation of the noise on the labels.",
        high=100.0, slider=(0.0, 2.0), papers={MONIRI: "σ_ε", BA: "σ_ε", CUI: "√Δ"},
    ),
    Control(
        "n", "Rows n", "Rows of the ridge fit, and of the step unless n₀ is given.",
        "whole", 2, 1e9, (100, 100_000), True, papers={MONIRI: "n", BA: "n = ψ₁d", CUI: "n"},
    ),
    Control(
        "d", "Inputs d", "Dimension of x.",
        "whole", 2, 1e9, (50, 50_000), True, papers={MONIRI: "d", BA: "d", CUI: "d"},
    ),
    Control(
        "N", "Neurons N", "Width of the hidden layer.",
        "whole", 2, 1e9, (50, 50_000), True, papers={MONIRI: "N", BA: "N = ψ₂d", CUI: "p"},
    ),
    Control(
        "phi", "φ = d/n", "Inputs per row; d follows n.",
        "number", 1e-3, 1e3, (0.05, 5), True, papers={MONIRI: "φ", BA: "1/ψ₁", CUI: "d/n"},
    ),
    Control(
        "psi", "ψ = d/N", "Inputs per neuron; N follows d.",
        "number", 1e-3, 1e3, (0.05, 5), True, papers={MONIRI: "ψ", BA: "1/ψ₂", CUI: "d/p"},
    ),
    Control(
        "n_step", "Step rows n₀", "Rows of the gradient step; empty means n.",
        "whole", 2, 1e9, papers={MONIRI: "n", BA: "n", CUI: "n₀"},
    ),
    Control(
        "ridge", "Ridge λ", "Penalty of the second layer: (1/n)|y − Fa|² + λ|a|².",
        "number", 1e-8, 1e4, (1e-5, 10), True,
        papers={MONIRI: "λ", BA: "λ (as λ/N with features σ/√N)", CUI: "λp/n"},
    ),
    Control(
        "alpha", "Step exponent α", "The step is η = n^α. Spike k comes out near α = (k − 1)/(2k).",
        "number", -1.0, 1.0, (-0.25, 0.6),
        papers={MONIRI: "α, with c = 1", BA: "log η / log n", CUI: "log(η̃√p) / log n"},
    ),
    Control(
        "eta", "Step size η", "The step itself: W = W₀ + ηG; 0 is the untrained network.",
        "number", 0.0, 1e6,
        papers={MONIRI: "η = c·n^α", BA: "η (with √N·G)", CUI: "η̃√p"},
    ),
    Control(
        "weights", "Initial weights W₀", "Rows N(0, I/d), or uniform on the unit sphere.",
        "choice", choices=CHOICES["weights"],
        papers={MONIRI: "sphere", BA: "Gaussian", CUI: "Gaussian or sphere"},
    ),
    Control(
        "readout", "Readout a", "Entries of √N·a: N(0, 1), all one, or ±1.",
        "choice", choices=CHOICES["readout"],
        papers={MONIRI: "N(0, I/N)", BA: "a/√N with a ~ N(0, I/N)", CUI: "constant, 1/√p"},
    ),
    Control(
        "residual", "Residual", "What the step fits: the labels, or labels minus first output.",
        "choice", choices=CHOICES["residual"],
        papers={MONIRI: "full in the text, labels in the formulas", BA: "labels", CUI: "labels"},
    ),
)  # fmt: skip

CONTROLS: dict[str, Control] = {control.name: control for control in _TABLE}

DEFAULTS = {
    "activation": "softplus", "teacher": "H1 + H2/sqrt(2)", "noise": "0", "n": "4000",
    "phi": "0.125", "psi": "0.5", "ridge": "0.01", "alpha": "0.3", "weights": "gaussian",
    "readout": "gaussian", "residual": "labels",
}  # fmt: skip


@dataclass(frozen=True)
class Preset:
    """A setting of the literature: the query that shows it and one line on what to look at."""

    name: str
    title: str
    query: dict[str, str]


PRESETS = (
    Preset("Setting 1", "A linear teacher and noise: one spike, one stair.",
           DEFAULTS | {"activation": "tanh", "teacher": "H1", "noise": "1", "n": "2000",
                       "phi": "0.5", "psi": "0.75"}),
    Preset("Setting 2", "A quadratic part: learned once α passes 1/4.", DEFAULTS),
    Preset("Ba Figure 3(a)", "A step of order one, tanh learns softplus: better at every n/d.",
           {"activation": "tanh", "teacher": "softplus", "noise": "0.25", "n": "2560", "d": "512",
            "N": "1024", "ridge": "0.0001", "eta": "1", "weights": "gaussian",
            "readout": "gaussian", "residual": "labels"}),
    Preset("Ba Figure 3(c)", "A large step beats the kernel lower bound: erf learns erf.",
           {"activation": "erf", "teacher": "erf", "noise": "0.1", "n": "5120", "d": "512",
            "N": "1024", "ridge": "0.001", "eta": "32", "weights": "gaussian",
            "readout": "gaussian", "residual": "labels"}),
    Preset("Maximal step", "Constant readout and η = √N: every neuron turns to the teacher.",
           {"activation": "relu", "teacher": "H1 + H2/sqrt(2)", "noise": "0", "n": "8000",
            "d": "1000", "N": "2000", "n_step": "4000", "ridge": "0.01", "eta": "44.72",
            "weights": "gaussian", "readout": "constant", "residual": "labels"}),
)  # fmt: skip


def describe() -> dict[str, Any]:
    """Everything the page needs to draw its controls, as JSON values."""
    return {
        "controls": [vars(control) for control in _TABLE],
        "presets": [vars(preset) for preset in PRESETS],
        "defaults": DEFAULTS,
    }
