"""Speed of the uniform theory on one core.

    OMP_NUM_THREADS=1 python benchmarks/uniform_speed.py [--extensions]

Sampling one network of the same size and solving its ridge problem is shown for comparison.
--extensions: the extensions only.
"""

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_digits

import onegrad as og
from onegrad.theory.uniform import uniform_errors, uniform_spectrum

CASES = [
    ("tanh", "H1", 1.0),
    ("softplus", "H1 + H2/sqrt(2)", 0.2),
    ("relu", "H1 + H2/sqrt(2)", 0.0),
    ("H1 + H2/2 + H3/6", "H1 + H2/2 + H3/6", 0.3),
]

WIDE = {"n": 2000, "d": 1200, "N": 1886, "n_step": 1000}
FULL_EVEN = {"activation": "H1 + H2/2", "readout": "constant", "residual": "full"}
RELU_LABELS = {"teacher": "relu", "noise": 0.3, "ridge": 0.469}
EXTENSIONS = {
    "ridge on the rows of the step": {"ridge_rows": "same"},
    "two steps": {"steps": 2, "later_alpha": "0.2"},
    "two steps, two indices": {
        "steps": 2,
        "later_alpha": "0.4",
        "activation": "silu",
        "residual": "full",
    },
    "a preconditioned step": {"activation": "relu", "update": "preconditioned"},
    "power-law(0.5)": {"inputs": "power-law(0.5)"},
    "power-law(0.5), ridge on the rows of the step": {
        "inputs": "power-law(0.5)",
        "ridge_rows": "same",
    },
    "spiked(5)": {"inputs": "spiked(5)"},
    "spiked(20), two indices": {**WIDE, "inputs": "spiked(20)", "alpha": 0.5}
    | FULL_EVEN
    | RELU_LABELS,
}
DIGITS = {
    "alpha 0.2": {"alpha": 0.2},
    "alpha 0.4": {"alpha": 0.4},
    "two indices": {"alpha": 0.3, "activation": "gelu", "readout": "rademacher"},
}


def best(call: Callable[[], object], repeats: int) -> float:
    """Processor seconds of the fastest of several calls, whatever else the machine does."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def print_extensions() -> None:
    """Print one line per extension of the theory."""
    base = og.Problem(n=1000, d=500, N=667, teacher="H1 + H2/sqrt(2)", noise=0.1, alpha=0.3)
    uniform_errors([base])  # imports and tables
    print("| extension | first point | one point |\n|---|--:|--:|")
    for name, fields in EXTENSIONS.items():
        problem = base.replace(**fields)
        first, again = (best(lambda p=problem: uniform_errors([p]), k) for k in (1, 3))
        print(f"| {name} | {1e3 * first:.0f} ms | {1e3 * again:.0f} ms |")
    X = standardised_digits()
    base = og.Problem(n=500, d=X.shape[1], N=300, teacher="H1 + H2/4", noise=0.3, ridge=0.01)
    for name, fields in DIGITS.items():
        problem = base.replace(**fields)
        seconds = best(lambda p=problem: og.predict(p, rows=X), 1)
        print(f"| digits, {name} | | {1e3 * seconds:.0f} ms |", flush=True)


def standardised_digits() -> np.ndarray:
    """Return scikit-learn's digits, each pixel that varies at mean zero and variance one."""
    X = load_digits().data
    X = X[:, X.std(0) > 0]
    return (X - X.mean(0)) / X.std(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extensions", action="store_true", help="the extensions only")
    options = parser.parse_args()
    warnings.simplefilter("ignore", og.AssumptionWarning)
    print_extensions()
    if not options.extensions:
        print_plain_theory()


def print_plain_theory() -> None:
    """Print points, curves and spectra of the theory without extensions."""
    print("\n| student | alpha | one point | nodes |\n|---|--:|--:|---|")
    for activation, teacher, noise in CASES:
        base = og.Problem(
            n=1000, d=500, N=667, activation=activation, teacher=teacher, noise=noise, ridge=0.01
        )
        for alpha in (0.0, 0.3, 0.5):
            problem = base.replace(alpha=alpha)
            seconds = best(lambda p=problem: uniform_errors([p]), 5)
            rows, types = uniform_errors([problem]).nodes[0].tolist()
            milliseconds = f"{1e3 * seconds:.0f} ms"
            print(f"| {activation} | {alpha:g} | {milliseconds} | {rows} x {types} |")
        curve = [base.replace(alpha=float(a)) for a in np.linspace(0, 0.5, 50)]
        print(f"| {activation} | 50 steps | {best(lambda c=curve: uniform_errors(c), 2):.2f} s | |")
        problem = base.replace(alpha=0.3)
        seconds = best(lambda p=problem: uniform_spectrum(p), 1)
        print(f"| {activation} | spectrum | {seconds:.2f} s | |")
    base = og.Problem(n=1000, d=500, N=667, ridge=0.01, alpha=0.3)
    seconds = best(lambda: og.simulate(base, seeds=1), 3)
    print(f"\none simulated network of this size: {1e3 * seconds:.0f} ms")


if __name__ == "__main__":
    main()
