"""The finite-size terms of the uniform theory switched off one by one: what each is worth.

    OMP_NUM_THREADS=1 python benchmarks/uniform_ablation.py [FILE...]

FILE is a path or a name in benchmarks/settings (precise_settings by default). Percent beyond two
standard errors, mean, 99th percentile and worst, of train and test together.
"""

import argparse
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from settings_files import named_files, read_settings

import onegrad as og
from onegrad.theory.uniform import discretisation, preparation, quadrature_nodes

Change = Callable[[Callable[..., Any]], Callable[..., Any]]  # a function to its replacement
LARGE = 1e8  # an input dimension at which lengths no longer fluctuate


def changed_result(change: Callable[[Any], Any]) -> Change:
    """Return what replaces a function by one whose result is changed."""
    return lambda function: lambda *a, **k: change(function(*a, **k))


def without_own_step(step: Any) -> Any:
    return replace(step, own_noise=0.0, own_output=0.0, c3=0.0)


def without_direction(eq: Any) -> Any:
    return replace(eq, omega=np.append(eq.omega[:-1], 0.0))


TERMS: dict[str, list[tuple[Any, str, Change]]] = {
    "nothing": [],
    "length of a neuron's initial weight": [
        (quadrature_nodes, "length_fluctuation", changed_result(lambda _: 0.0)),
    ],
    "step of a neuron along its own weight": [
        (preparation, "take_step", changed_result(without_own_step)),
    ],
    "length of a sample": [
        (discretisation, "sample_nodes", lambda f: lambda _, *a: f(LARGE, *a)),
    ],
    "quadratic part of the teacher off v": [
        (
            discretisation,
            "quadratic_part",
            changed_result(lambda q: replace(q, Y=0 * q.Y)),
        ),
    ],
    "tilt of neurons towards Mv": [
        (discretisation, "neuron_tilt", lambda f: lambda epsilon, *a: f(0 * epsilon, *a)),
    ],
    "the learned direction as one of d": [
        (discretisation, "Equations", changed_result(without_direction)),
    ],
}


def deviations(path: Path) -> np.ndarray:
    """Return deviations beyond two standard errors, in percent."""
    beyond = []
    for setting in read_settings(path):
        for problem, mean, se in zip(setting.problems(), setting.mean, setting.se, strict=True):
            p = og.predict(problem)
            off = np.abs(np.array([p.train, p.test]) / mean - 1) - 2 * se / mean
            beyond.append(100 * np.maximum(off, 0.0))
    return np.ravel(beyond)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="*", default=[Path("precise_settings")])
    options = parser.parse_args()
    warnings.simplefilter("ignore", og.AssumptionWarning)
    print("| switched off | mean % | 99 % % | worst % |\n|---|--:|--:|--:|")
    for name, patches in TERMS.items():
        with ExitStack() as stack:
            for module, function, change in patches:
                stack.enter_context(
                    patch.object(module, function, change(getattr(module, function)))
                )
            off = np.concatenate([deviations(path) for path in named_files(options.files)])
        print(f"| {name} | {off.mean():.3f} | {np.quantile(off, 0.99):.2f} | {off.max():.2f} |",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
