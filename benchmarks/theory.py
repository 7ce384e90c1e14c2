"""Speed of the asymptotic theories beside the floor of each, measured in the same process.

    python benchmarks/theory.py

Floors: for the traces, the exponentials that their iterations take; for a curve, building its
problems, which no formula can avoid; for a spectrum, its outliers alone, the bulk being known.
A curve of 200 points is meant to take less than 50 ms, so that a page can redraw it.
"""

import itertools
import warnings
from functools import partial

import numpy as np
import simulate

import onegrad as og
from onegrad.theory.asymptotic.resolvent import traces

best = partial(simulate.best, repeats=40)  # seconds of the fastest of so many calls


def line(what: str, seconds: float, floor: float) -> None:
    print(f"{what:<44} {1e3 * seconds:8.2f} ms   {seconds / floor:6.1f} x floor")


def main() -> None:
    warnings.simplefilter("ignore", og.AssumptionWarning)
    rng = np.random.default_rng(0)
    phi, psi = 10 ** rng.uniform(-3, 3, (2, 10_000))
    lam = 10 ** rng.uniform(-8, 4, 10_000)
    solved = traces(0.367, 0.0274, phi, psi, lam)
    exponentials = solved.iterations * best(lambda: np.exp(lam * 1e-4))
    seconds = best(lambda: traces(0.367, 0.0274, phi, psi, lam))
    line(f"traces, 10,000 points, {solved.iterations} Newton steps", seconds, exponentials)

    p = og.Problem(n=1000, d=500, N=667, activation="relu", teacher="H1 + H2/sqrt(2)", alpha=0.3)
    axes = {
        "alpha": ((np.arange(200) + 0.55) / 402).tolist(),  # off the thresholds
        "ridge": np.geomspace(1e-6, 1e2, 200),
        "noise": np.linspace(0, 1, 200),
    }
    for axis, values in axes.items():
        grid = {axis: values}
        problems = best(lambda grid=grid: p.grid(**grid))
        for theory in ("random-features", "small-step", "staircase"):
            curve = best(lambda theory=theory, grid=grid: og.predict(p, theory, **grid))
            line(f"curve of 200 points in {axis}, {theory}", curve, problems)
    widths = itertools.count(p.N + 1)
    fresh = best(lambda: og.spectrum(p.replace(N=next(widths))))
    again = best(lambda: og.spectrum(p))
    line("spectrum: density, edges, outliers", fresh, again)
    print(f"{'the same bulk at another step':<44} {1e3 * again:8.2f} ms")


if __name__ == "__main__":
    main()
