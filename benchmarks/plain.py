"""The engine beside the scripts that anybody would write first, in NumPy and in torch.

    python benchmarks/plain.py [--sizes 3326,29532,262144] [--seeds 1,2,10] [--threads 16,2]
    python benchmarks/plain.py --sizes 3326 --seeds 1 --tests 20000       # quick, on two cores
    python benchmarks/plain.py --device cuda --sizes 5120 --seeds 128     # float64
    python benchmarks/plain.py --device cuda --sizes 5120 --seeds 512 --fast
        # the script in float32 with TF32 products, the engine with precision="fast"

d = 512, N = 1024, one step of the same rows, ridge, 100,000 test rows (on a GPU the default of the
engine). Every run has a process of its own, so that its peak memory is its own; seconds are those
after the imports and a small run that wakes the libraries. The scripts hold what they make, as a
notebook does.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

D, WIDTH, ETA, RIDGE, NOISE = 512, 1024, 4.0, 0.01, 0.5


def with_numpy(n: int, tests: int, seeds: int, device: str) -> float:
    """A notebook's cell: one network after the other."""
    import numpy as np

    d, N, errors = D, WIDTH, []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        W, a = rng.standard_normal((N, d)) / np.sqrt(d), rng.standard_normal(N) / np.sqrt(N)
        beta = rng.standard_normal(d)
        beta /= np.linalg.norm(beta)
        X = rng.standard_normal((n, d))
        u = X @ beta
        y = u + (u**2 - 1) / 2 + NOISE * rng.standard_normal(n)
        G = (np.outer(y, a) * (1 - np.tanh(X @ W.T) ** 2)).T @ X / n
        W = W + ETA * G
        F = np.tanh(X @ W.T)
        coef = np.linalg.solve(F.T @ F / n + RIDGE * np.eye(N), F.T @ y / n)
        X_test = rng.standard_normal((tests, d))
        u = X_test @ beta
        errors.append(np.mean((u + (u**2 - 1) / 2 - np.tanh(X_test @ W.T) @ coef) ** 2))
    return float(np.mean(errors))


def with_torch(n: int, tests: int, seeds: int, device: str, tf32: bool = False) -> float:
    """The same lines in torch; in float32 with TF32 products if so asked."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = tf32
    d, N, errors = D, WIDTH, []
    dtype = torch.float32 if tf32 else torch.float64
    kind = {"dtype": dtype, "device": "cpu" if device == "torch" else device}
    for seed in range(seeds):
        torch.manual_seed(seed)
        W, a = torch.randn(N, d, **kind) / d**0.5, torch.randn(N, **kind) / N**0.5
        beta = torch.randn(d, **kind)
        beta /= torch.linalg.norm(beta)
        X = torch.randn(n, d, **kind)
        u = X @ beta
        y = u + (u**2 - 1) / 2 + NOISE * torch.randn(n, **kind)
        G = (torch.outer(y, a) * (1 - torch.tanh(X @ W.T) ** 2)).T @ X / n
        W = W + ETA * G
        F = torch.tanh(X @ W.T)
        coef = torch.linalg.solve(F.T @ F / n + RIDGE * torch.eye(N, **kind), F.T @ y / n)
        X_test = torch.randn(tests, d, **kind)
        u = X_test @ beta
        errors.append(torch.mean((u + (u**2 - 1) / 2 - torch.tanh(X_test @ W.T) @ coef) ** 2))
    return float(torch.stack(errors).mean())


def with_engine(n: int, tests: int, seeds: int, device: str, precision: str | None = None) -> float:
    """Return the mean risk by this package."""
    import onegrad as og

    problem = og.Problem(
        n=n, d=D, N=WIDTH, activation="tanh", teacher="H1 + H2/2", noise=NOISE, eta=ETA,
        ridge=RIDGE, ridge_rows="same",
    )  # fmt: skip
    run = og.simulate(problem, seeds, n_test=tests, device=device, precision=precision)
    return float(run.risk.mean)


PROGRAMS: dict[str, Callable[[int, int, int, str], float]] = {
    "numpy": with_numpy, "torch": with_torch, "tf32": partial(with_torch, tf32=True),
    "engine": with_engine, "fast": partial(with_engine, precision="fast"),
}  # fmt: skip


def one(name: str, n: int, tests: int, seeds: int, device: str, repeats: int) -> None:
    """In a process of its own: seconds (the least of several), risk and peak memory as JSON."""
    PROGRAMS[name](256, 256, 1, device)
    if device != "cpu":
        PROGRAMS[name](n, tests, 2, device)  # kernels are chosen and loaded
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        risk = PROGRAMS[name](n, tests, seeds, device)
        times.append(time.perf_counter() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": min(times), "risk": risk, "peak": peak}))


def measured(
    name: str, n: int, tests: int, seeds: int, device: str, threads: int
) -> dict[str, Any]:
    """`one` on so many cores."""
    arguments = [name, n, tests, seeds, device, 3 if seeds * n < 100_000 else 1]
    environment = dict(os.environ)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        environment[variable] = str(threads)
    command = [sys.executable, __file__, "--one", ",".join(map(str, arguments))]
    mine = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, mine[:threads])  # a child inherits it
    try:
        output = subprocess.run(
            command, env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
    finally:
        os.sched_setaffinity(0, mine)
    return dict(json.loads(output.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="3326,29532,262144", help="numbers of rows")
    parser.add_argument("--seeds", default="1,2,10", help="numbers of networks")
    parser.add_argument("--threads", help="numbers of cores (default: all)")
    parser.add_argument("--tests", type=int, help="test rows (default 100,000; n/4 on a GPU)")
    parser.add_argument("--device", default="cpu", help="cpu: NumPy; torch or cuda: torch")
    parser.add_argument("--fast", action="store_true", help="fast precision, beside TF32 in torch")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        name, n, tests, seeds, device, repeats = args.one.split(",")
        return one(name, int(n), int(tests), int(seeds), device, int(repeats))
    engine = "fast" if args.fast else "engine"
    script = "numpy" if args.device == "cpu" else "tf32" if args.fast else "torch"
    print(f"{'cores':>5} {'n':>8} {'seeds':>5} {script + ', s':>10} {'engine, s':>10} "
          f"{'faster':>7} {script + ', GB':>10} {'engine, GB':>10}   risks")  # fmt: skip
    for threads in _numbers(args.threads or str(len(os.sched_getaffinity(0)))):
        for n in _numbers(args.sizes):
            tests = args.tests or (100_000 if args.device == "cpu" else max(1024, n // 4))
            for seeds in _numbers(args.seeds):
                run = (n, tests, seeds, args.device, threads)
                theirs, ours = measured(script, *run), measured(engine, *run)
                print(
                    f"{threads:5d} {n:8d} {seeds:5d} {theirs['seconds']:10.3f} "
                    f"{ours['seconds']:10.3f} {theirs['seconds'] / ours['seconds']:7.2f} "
                    f"{theirs['peak'] / 1e9:10.2f} {ours['peak'] / 1e9:10.2f}   "
                    f"{theirs['risk']:.4f} {ours['risk']:.4f}",
                    flush=True,
                )
    return None


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
