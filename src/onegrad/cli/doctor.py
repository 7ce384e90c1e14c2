"""onegrad doctor: what is installed, which devices are seen, a self-check."""

import argparse
import importlib.metadata
import platform
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import onegrad as og
from onegrad.arrays import gpus
from onegrad.cli.options import add_command
from onegrad.cli.output import print_json, styled
from onegrad.parallel.cores import core_count

PACKAGES = (
    "numpy", "scipy", "scikit-learn", "joblib", "matplotlib", "pyarrow", "jinja2", "torch",
    "dask", "distributed", "starlette", "uvicorn",
)  # fmt: skip


def add_parser(subparsers: Any) -> None:
    """Add `onegrad doctor`."""
    summary = "installed versions, available devices, a self-check"
    description = "Report versions and devices, and check theory and simulation on known values."
    add_command(subparsers, "doctor", summary, description, "onegrad doctor --json")


def run(args: argparse.Namespace) -> int:
    """Print the report; return 1 if a check fails."""
    report: dict[str, Any] = {
        "onegrad": og.__version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "devices": _devices(),
        "checks": [_check(name, test) for name, test in CHECKS.items()],
    }
    healthy = all(check["passed"] for check in report["checks"])
    if args.json:
        print_json(report | {"healthy": healthy})
        return 0 if healthy else 1
    print(f"onegrad {report['onegrad']}, Python {report['python']}")
    print("\n".join(f"  {k:14} {v or 'not installed'}" for k, v in report["packages"].items()))
    print("\n".join(f"  {k:14} {v}" for k, v in report["devices"].items()))
    for check in report["checks"]:
        word, colour = ("ok", "green") if check["passed"] else ("FAILED", "red")
        print(f"  {styled(f'{word:6}', colour, sys.stdout)} {check['name']}: {check['detail']}")
    print("all checks passed" if healthy else "some checks FAILED: see above")
    return 0 if healthy else 1


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _devices() -> dict[str, str]:
    from onegrad.networks.cost import product_rate

    rate = product_rate(size=1500, repeats=1) / 1e9
    cpu = {"cpu": f"{core_count()} cores, {rate:.0f} GFLOP/s in float64 matrix products"}
    return cpu | ({f"gpu {i}": name for i, name in enumerate(gpus())} or {"gpu": "none seen"})


def _check(name: str, test: Callable[[], tuple[bool, str]]) -> dict[str, Any]:
    try:
        passed, detail = test()
    except Exception as error:  # a self-check reports whatever is broken
        passed, detail = False, f"{type(error).__name__}: {' '.join(str(error).split())}"
    return {"name": name, "passed": bool(passed), "detail": detail}


def _hermite_coefficients() -> tuple[bool, str]:
    relu = og.Problem(n=2, d=1, N=1, activation="relu:raw").sigma
    error = abs(relu.c[2] * 2 * np.sqrt(2 * np.pi) - 1)
    return error < 1e-12, f"ReLU's second coefficient to {error:.0e}"


def _small_step() -> tuple[bool, str]:
    """Check that errors after a vanishing step are those of untrained features."""
    problem = og.Problem(n=1000, d=500, N=667, noise=0.5, ridge=0.1)
    untrained = og.predict(problem, theory="random-features")
    limit = og.predict(problem.replace(eta=1e-9), theory="small-step")
    gap = abs(float(limit.test) / float(untrained.test) - 1)
    return gap < 1e-9, f"a vanishing step changes nothing, to {gap:.0e}"


def _agreement() -> tuple[bool, str]:
    problem = og.Problem(n=300, d=150, N=200, noise=0.5, ridge=0.1, eta=3.0)
    theory = float(og.predict(problem).test)
    measured = og.simulate(problem, seeds=40).test
    z = (theory - float(measured.mean)) / float(measured.se)
    detail = f"theory {theory:.4f}, 40 networks {measured.mean:.4f} ± {measured.se:.4f}"
    # at n = 300 the theory itself is accurate to about 1 %
    return abs(theory - measured.mean) < 4 * measured.se + 0.01 * theory, f"{detail}, z = {z:+.1f}"


CHECKS: dict[str, Callable[[], tuple[bool, str]]] = {
    "Hermite coefficients": _hermite_coefficients,
    "small step": _small_step,
    "theory against simulation": _agreement,
}
