"""Simulate the variants of the uniform theory: readouts, residuals, n_step, weights, activations.

    python benchmarks/uniform_variants.py --device cuda --seeds 600

Prints tests/numbers/uniform_variants.json (with --outside: uniform_outside.json, with --raw:
uniform_raw.json), which tests/theory/uniform reads: each problem with mean and standard error of
(train, test).
"""

from __future__ import annotations

import argparse
import json

import onegrad as og

BASE = {"n": 600, "d": 300, "N": 400, "noise": 0.3, "ridge": 0.02, "eta": 10.0}
VARIANTS = [
    {"activation": "tanh", "teacher": "H1 + H2/sqrt(2)", "readout": "constant"},
    {"activation": "relu", "teacher": "H1 + H2/sqrt(2)", "readout": "constant", "n_step": 1500},
    {"activation": "softplus:unit", "teacher": "relu", "readout": "rademacher", "n_step": 300,
     "residual": "full"},
    {"activation": "tanh", "teacher": "sin", "readout": "rademacher", "weights": "sphere"},
    {"activation": "gelu", "teacher": "tanh", "weights": "sphere", "n_step": 2000, "d": 150},
    {"activation": "hardtanh", "teacher": "H1 + H3/sqrt(6)", "residual": "full", "ridge": 0.2},
    {"activation": "relu:raw", "teacher": "relu:raw"},
    {"activation": "tanh", "teacher": "H2", "n_step": 1200},
    {"activation": "sin", "teacher": "sin", "N": 1200},
    {"activation": "relu:unit", "teacher": "H1 + H2/sqrt(2)", "residual": "full", "n_step": 300},
    {"activation": "tanh", "teacher": "tanh", "readout": "constant", "residual": "full"},
]  # fmt: skip
OUTSIDE = [  # the checked range: predictions that warn, but for the first
    {"activation": "tanh", "teacher": "H1 + H2/sqrt(2)", "eta": 90.0},
    {"activation": "relu", "teacher": "H1 + H2/sqrt(2)", "eta": 90.0},
    {"activation": "H1 + H2/2 + H3/6", "teacher": "H1 + H2/sqrt(2)", "eta": 25.0},
    {"activation": "tanh", "teacher": "H1", "N": 600, "ridge": 1e-4},
    {"activation": "tanh", "teacher": "H1", "N": 600, "ridge": 1e-6},
]
RAW = [  # activations with a mean, which the initial output adds up
    {"activation": "relu:raw", "teacher": "H1 + H2/sqrt(2)", "residual": "full"},
    {"activation": "relu:raw", "teacher": "relu", "residual": "full", "readout": "constant",
     "eta": 2.0},
    {"activation": "softplus:raw", "teacher": "relu:raw", "residual": "full",
     "readout": "rademacher", "weights": "sphere"},
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument(
        "--outside", action="store_true", help="the cases outside the checked range"
    )
    parser.add_argument("--raw", action="store_true", help="raw activations, full residual")
    options = parser.parse_args()
    rows = []
    for variant in RAW if options.raw else OUTSIDE if options.outside else VARIANTS:
        problem = og.Problem(**(BASE | variant))
        random = "device" if options.device.startswith("cuda") else "host"
        s = og.simulate(
            problem, seeds=options.seeds, device=options.device, random=random, n_test=8192
        )
        rows.append(
            {
                "problem": BASE | variant,
                "mean": [round(float(x), 7) for x in (s.train.mean, s.test.mean)],
                "se": [round(float(x), 7) for x in (s.train.se, s.test.se)],
            }
        )
    about = f"benchmarks/uniform_variants.py: {options.seeds} seeds, float64"
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    print(f'{{\n "about": {json.dumps(about)},\n "settings": [\n{lines}\n ]\n}}')


if __name__ == "__main__":
    main()
