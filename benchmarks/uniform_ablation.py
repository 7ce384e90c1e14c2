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
from onegrad.theory.uniform import discretise, evaluation, fit, response
from onegrad.theory.uniform.laws import neurons
from onegrad.theory.uniform.pencil import Shares, no_shares

Change = Callable[[Any], Any]  # what a name stands for to its replacement
SMALL = 1e-3  # relative, of squared lengths: none, but a difference can be taken


def changed_result(change: Callable[[Any], Any]) -> Change:
    """Return what replaces a function by one whose result is changed."""
    return lambda function: lambda *a, **k: change(function(*a, **k))


def without_own_step(step: Any) -> Any:
    numbers = [
        replace(x, own_noise=0.0, own_output=0.0, c3=0.0)
        for x in (*step.activations, step.activation)
    ]
    return replace(step, activations=tuple(numbers[:-1]), activation=numbers[-1])


def without_shares(eq: Any, state: Any, quadratic: Any) -> Shares:
    del state, quadratic
    return no_shares(eq.pencil)


def rows_of_one_length(function: Any) -> Any:
    def fresh_rows(step: Any, rows: Any, variables: Any, rule: Any, nodes: Any, *a: Any) -> Any:
        return function(step, rows, variables, rule, nodes, SMALL, *a[1:])

    return fresh_rows


TERMS: dict[str, list[tuple[Any, str, Change]]] = {
    "nothing": [],
    "length of a neuron's initial weight": [
        (neurons, "TWO_POINT_NODES", lambda x: 0 * x),
        (
            discretise,
            "neuron_types",
            changed_result(lambda t: replace(t, length_deviation=0.0, s_by_length=0 * t.s)),
        ),
    ],
    "step of a neuron along its own weight": [
        (discretise, "take_step", changed_result(without_own_step)),
    ],
    "length of a row": [(discretise, "fresh_rows", rows_of_one_length)],
    "initial weight along v, in the features": [
        (discretise, "fresh_features", lambda f: lambda *a: f(*a[:3], 0 * a[3])),
    ],
    "products of weights along special directions": [
        (fit, "_add_products", lambda _: lambda *a: None),
    ],
    "shares of the special variables": [
        (module, "special_shares", lambda _: without_shares) for module in (evaluation, response)
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
