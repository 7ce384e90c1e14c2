"""Fit the accuracy of every route of the uniform theory to simulated settings, and verify it.

    OMP_NUM_THREADS=1 python benchmarks/calibrate_accuracy.py [ROUTE...] [--write]

ROUTE is a section of src/onegrad/theory/uniform/accuracy.json; all of them by default, fresh rows
first. `CALIBRATIONS` says which files of benchmarks/settings a route is fitted to (their even
halves), which are only shown, and which coefficients have a smallest value and why. --write makes
the sections what was fitted: nothing in accuracy.json is set elsewhere.

Quantile regression on a logarithmic scale: with bar^2 = quadrature^2 + sum_j (c_j f_j)^2, c_j >= 0,
log|deviation| is below log sqrt((2 s.e.)^2 + bar^2) for LEVEL of the values, also along each term;
where the standard error is at most 0.2 %, it is below the bar alone.

To calibrate an extension: have its errors call

    accuracy, reason = stated_accuracy(sizes, route="my route")      # theory/uniform/accuracy.py

once per point, with sizes = {"what is neglected, in words": a number >= 0 it grows with, ...}, a
few physical numbers (`neglected_sizes` gives those of fresh rows, to which others may be added);
terms without coefficients count fully. Then add the route to `CALIBRATIONS`, run this file, look at
the odd half, and run it again with --write. Three to eight terms are plenty for 80 settings.
"""

import argparse
import json
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from settings_files import named_files, read_settings

import onegrad as og
from onegrad.theory.uniform import accuracy
from onegrad.theory.uniform.accuracy import PLAIN_ROUTE, SHARED, NeglectedSizes, stated_accuracy

COEFFICIENTS = Path(accuracy.__file__).parent / "accuracy.json"
WHOLE = ("precise_settings",)  # files of which both halves are fitted: held_out_precise verifies
LEVEL = (
    0.92  # of the values of the fitted half, by weight: precise ones of the usual range reach 96 %
)
WIDTH = 0.1  # of the kink of the loss, in log(deviation)
PRIOR = 0.02  # per unit of log(coefficient^2): a term that explains nothing vanishes
PRECISE = 2e-3  # relative standard error below which bars are tested alone
# smallest coefficients of terms on which the settings say nothing, for every route
MIN_COEFFICIENTS = {
    "the error of the theory itself": 2.0,  # 0.2 %: what standard errors of 0.1 % leave open
    "very small sizes": 0.3,  # no setting has fewer than 100 of anything
    # cubics of the reference simulations, which are not among the settings: up to 2 % in the test
    "an activation with steep tails at a small d": 1.0,
    # H3 and H1/3 + H3 at d from 100 to 800, alpha = 1/2: 6 to 16 % in the test error
    "neurons that the step lengthens, of an activation with steep tails": 0.8,
    # few settings of each kind; the largest deviation that was seen anywhere
    "an activation with an even part and a strong step on few rows": 0.1,
    # what precise_settings say without the shares below, which no setting with so strong a step has
    "equal readouts, an activation with an even part and a strong step": 0.027,
    # as fitted on the rows of the step; with 0.1 softplus and H1 + H2 on fresh rows, n/d = 12, are
    # five bars off
    "readouts of both signs, an activation with an even part and a strong step": 0.25,
    # strong_settings, even half: fits of both routes are 3 to 6, cover 91 % of it and leave values
    # beyond twice their bar; these cover 96 % and leave none
    "a direction that the quadratic part of the labels singles out": 8.0,
    "random weights along the learned direction, which the step lengthens": 1.0,
    "steep tails of the features near interpolation": 1.0,  # off by a factor: bars say so
    "a constant of the initial output that changes the length of neurons": 0.3,
    "ridge near zero at the interpolation threshold": 0.05,
    "labels with heavy tails at a small d": 0.8,  # what is missing at eta -> 0, docs/same_rows.md
    "a first step that blows the residuals of the second up": 0.05,
    # means over draws of the teacher: two of their standard errors
    "errors that differ from teacher to teacher": 2.0,
    # with 0.3 almost a percent fewer values of reach_covariance are covered
    "few directions that carry most of a neuron's output beside the learned one": 0.5,
    # spiked(20) with a given angle to the teacher: 5 to 8 % at alpha = 1/2
    "second moments of the step that differ from network to network": 0.07,
    # setting 64 of reach_steps: the training error falls by 10^4 and is a third too low
    "equal readouts after a step that blows residuals up": 0.45,
}


@dataclass(frozen=True)
class Calibration:
    """What a route is fitted to.

    files, checked : names of settings of which even halves are fitted; that are only shown.
    alphas : the steps that are taken; all by default (values of a setting share their seeds).
    above_plain : whether no coefficient is below that of fresh rows, where the route neglects
        whatever the plain theory does.
    by_hand : coefficients that are set and not fitted; without files the others are those of
        fresh rows.
    """

    files: tuple[str, ...]
    checked: tuple[str, ...]
    alphas: tuple[float, ...] | None = None
    above_plain: bool = False
    by_hand: Mapping[str, float] = field(default_factory=dict)


CALIBRATIONS = {
    PLAIN_ROUTE: Calibration(
        (
            "precise_settings",
            "calibration_settings",
            "random_settings",
            "wide_settings",
            "strong_settings",
        ),
        ("held_out_precise",),
    ),
    "same rows": Calibration(
        ("reach_same", "strong_settings"), ("held_out_same",), above_plain=True
    ),
    "input covariance": Calibration(
        ("reach_covariance",),
        ("held_out_covariance",),
        (0.0, 0.3, 0.5),
        above_plain=True,
        # no settings: tests/theory/uniform/test_a_users_rows_are_predicted.py
        by_hand={
            "rows of few directions or uneven lengths, which are not as good as Gaussian": 1.0,
        },
    ),
}
NAMES = ("train", "test")


@dataclass(frozen=True)
class Rows:
    """Values of a file: relative deviations, standard errors and quadrature errors, (m, 2)."""

    file: str
    even: np.ndarray  # (m,)
    sizes: tuple[NeglectedSizes, ...]
    off: np.ndarray
    se: np.ndarray
    quadrature: np.ndarray


@contextmanager
def recorded_sizes() -> Iterator[list[tuple[str, NeglectedSizes]]]:
    """Collect (route, sizes) of every accuracy that is stated within this context."""
    records: list[tuple[str, NeglectedSizes]] = []

    def stated(sizes: NeglectedSizes, route: str = PLAIN_ROUTE) -> tuple[og.theory.TrainTest, str]:
        records.append((route, dict(sizes)))
        return stated_accuracy(sizes, route)

    with mock.patch.object(accuracy, "stated_accuracy", stated):
        yield records


def predicted(path: Path, route: str, alphas: tuple[float, ...] | None) -> Rows:
    """Return the values of a file that this route answers."""
    even, sizes, off, se, quadrature = [], [], [], [], []
    for setting in read_settings(path):
        points = zip(setting.alphas, setting.problems(), setting.mean, setting.se, strict=True)
        for alpha, problem, mean, error in points:
            if alphas is not None and alpha not in alphas:
                continue
            with recorded_sizes() as records:
                try:
                    prediction = og.predict(problem)
                except (og.OutOfScope, og.NotConverged):
                    continue
            if not records or records[0][0] != route:
                continue
            even.append(setting.half == "even" or path.stem in WHOLE)
            sizes.append(records[0][1])
            # bars are relative to the prediction
            values = np.array([prediction.train, prediction.test])
            off.append(1 - mean / values)
            se.append(error / values)
            quadrature.append(np.nan_to_num([prediction.quadrature_error] * 2))
    return Rows(path.stem, np.array(even), tuple(sizes), *map(np.array, (off, se, quadrature)))


def design(rows: Sequence[Rows], names: Sequence[str]) -> np.ndarray:
    """Return the sizes of all rows as a matrix."""
    return np.array([[s.get(name, 0.0) for name in names] for r in rows for s in r.sizes])


def fit_bars(
    f: np.ndarray,
    off: np.ndarray,
    se: np.ndarray,
    quadrature: np.ndarray,
    low: np.ndarray,
    file: np.ndarray,
) -> np.ndarray:
    """Return coefficients c >= low, (J,), of bars sqrt(quadrature^2 + sum (c f)^2).

    f : (m, J); off, se, quadrature : (m,), relative.
    file : (m,) number of a value's file: every file has the same weight in all.
    """
    known = np.where(se > PRECISE, 4 * se**2, 0.0)  # precise values are covered by bars alone
    floor, f2 = known + quadrature**2 + 1e-12, f**2
    weight = 1 / (1 + se / PRECISE)  # values that share seeds deviate together
    of_file = np.bincount(file, weight)
    weight *= (weight.sum() / np.count_nonzero(of_file) / of_file)[file]
    largest = f2.max(0)
    shape = f2 / np.where(largest > 0, largest, 1.0)  # squares over the largest of each term
    log_off = np.log(np.maximum(np.abs(off), 1e-6))

    def loss(log: np.ndarray) -> tuple[float, np.ndarray]:
        share = shape * np.exp(log)
        square = floor + share.sum(1)
        beyond = log_off - np.log(square) / 2
        positive = np.logaddexp(0.0, beyond / WIDTH) * WIDTH  # max(beyond, 0), smoothed
        slope = LEVEL - expit(-beyond / WIDTH)
        value = positive - (1 - LEVEL) * beyond
        gradient = PRIOR - 0.5 * (weight * slope / square) @ share
        return float(weight @ value) + PRIOR * float(log.sum()), gradient

    lowest = 2 * np.log(np.maximum(low * np.sqrt(largest), 1e-6))
    starts = np.random.default_rng(0).uniform(-12, -4, (12, f.shape[1]))
    fits = [
        minimize(loss, x, jac=True, method="L-BFGS-B", bounds=[(x, max(x, 4.0)) for x in lowest])
        for x in np.maximum(starts, lowest)
    ]
    log = min(fits, key=lambda fit: float(fit.fun)).x
    c = np.exp(log / 2) / np.sqrt(np.where(largest > 0, largest, 1.0))
    return np.maximum(np.where((largest > 0) & (log > -25), c, 0.0), low)


def fitted(
    rows: Sequence[Rows], lowest: Mapping[str, tuple[float, float]], by_hand: Collection[str]
) -> dict[str, tuple[float, float]]:
    """Return (train, test) coefficients of every term, fitted to the even halves.

    lowest : coefficients that they are not below.
    by_hand : terms that are left out.
    """
    terms = dict.fromkeys(name for r in rows for s in r.sizes for name in s)
    names = [name for name in terms if name not in by_hand]
    f, even = design(rows, names), np.concatenate([r.even for r in rows])
    off, se, quadrature = (
        np.concatenate([getattr(r, k) for r in rows]) for k in ("off", "se", "quadrature")
    )
    file = np.concatenate([np.full(len(r.even), i) for i, r in enumerate(rows)])
    low = np.array([MIN_COEFFICIENTS.get(name, 0.0) for name in names])
    low = np.maximum(low[:, None], [lowest.get(name, (0.0, 0.0)) for name in names])
    columns = [
        fit_bars(f[even], off[even, j], se[even, j], quadrature[even, j], low[:, j], file[even])
        for j in range(2)
    ]
    return {
        name: (float(f"{a:.2g}"), float(f"{b:.2g}"))
        for name, a, b in zip(names, *columns, strict=True)
    }


def table(rows: Sequence[Rows], coefficients: dict[str, tuple[float, float]]) -> None:
    """Print coverage and bars by file and half."""
    head = ["settings", "half", "error", "values", "covered %", "by bars alone % (values)"]
    head += ["median bar %", "90 %", "largest", "worst off %"]
    print("\n| " + " | ".join(head) + " |\n|---|---|---|" + 7 * "--:|")
    names = list(coefficients)
    for r in rows:
        f = design([r], names)
        for half in (True, False):
            for j, name in enumerate(NAMES):
                here = r.even == half
                if not here.any():
                    continue
                c = np.array([coefficients[k][j] for k in names])
                bar = np.sqrt(r.quadrature[here, j] ** 2 + (f[here] ** 2) @ c**2)
                off, se = np.abs(r.off[here, j]), r.se[here, j]
                covered = np.mean(off**2 <= 4 * se**2 + bar**2)
                alone = (off <= bar)[se <= PRECISE]
                share = f"{100 * alone.mean():.1f} ({len(alone)})" if len(alone) else "(0)"
                print(f"| {r.file} | {'even' if half else 'odd'} | {name} | {here.sum()} | "
                      f"{100 * covered:.1f} | {share} | {100 * np.median(bar):.2f} | "
                      f"{100 * np.quantile(bar, 0.9):.2f} | {100 * bar.max():.1f} | "
                      f"{100 * np.max(off - 2 * se):.1f} |")  # fmt: skip


def write(route: str, coefficients: dict[str, tuple[float, float]]) -> None:
    """Put the coefficients of a route into the data; those of every route stand there once."""
    routes = {**accuracy.accuracy_coefficients(), route: coefficients}
    routes = {r: {name: list(pair) for name, pair in c.items()} for r, c in routes.items()}
    shared = {
        name: pair
        for name, pair in routes[PLAIN_ROUTE].items()
        if all(name in c for c in routes.values())
    }
    sections = {SHARED: shared} | {
        r: {name: pair for name, pair in c.items() if shared.get(name) != pair}
        for r, c in routes.items()
    }
    body = ",\n".join(
        f" {json.dumps(name)}: {{\n"
        + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in terms.items())
        + "\n }"
        for name, terms in sections.items()
    )
    COEFFICIENTS.write_text(f"{{\n{body}\n}}\n")


def calibrate(route: str) -> dict[str, tuple[float, float]]:
    """Return the coefficients of a route, and print them with the table of its files."""
    plan = CALIBRATIONS[route]
    rows, checked = (
        [predicted(path, route, plan.alphas) for path in named_files([Path(f) for f in files])]
        for files in (plan.files, plan.checked)
    )
    plain = dict(accuracy.accuracy_coefficients()[PLAIN_ROUTE])
    coefficients = fitted(rows, plain if plan.above_plain else {}, plan.by_hand) if rows else plain
    coefficients |= {name: (c, c) for name, c in plan.by_hand.items()}
    print(f"\n{route}")
    for name, pair in coefficients.items():
        print(name, *pair)
    table([*rows, *checked], coefficients)
    return coefficients


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("routes", nargs="*", default=list(CALIBRATIONS), metavar="ROUTE")
    parser.add_argument("--write", action="store_true", help="write the sections of these routes")
    options = parser.parse_args()
    warnings.simplefilter("ignore", og.AssumptionWarning)
    for route in options.routes:
        coefficients = calibrate(route)
        if options.write:
            write(route, coefficients)
            accuracy.accuracy_coefficients.cache_clear()


if __name__ == "__main__":
    main()
