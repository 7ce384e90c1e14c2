"""Speed of the simulation engine beside the matrix products of which it consists.

    python benchmarks/simulate.py [--quick] [--seeds 1]
    python benchmarks/simulate.py --float32             # processor time in float32

Efficiency is useful flops / (seconds x the matrix-product rate measured in the same process).
Useful flops: 2 n d N per product with X or X_tilde, n N min(n, N) per Gram matrix, m^3/3 per
Cholesky factor (however the ridge path was solved). Seconds include random numbers, activations,
test rows and everything else; those under `estimate` are what `onegrad.cost` says before the run.
Products and runs take turns and the medians of both count: the rate of a shared machine drifts.
"""

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import onegrad as og
from onegrad.networks import cost, make_plan, run_plan, simulate
from onegrad.parallel.cores import thread_count


def useful_flops(p: og.Problem, etas: int, ridges: int) -> float:
    """Return the operations of one replicate: products of gradient and features, Gram, factors."""
    product = 2.0 * p.n * p.d * p.N
    products = 2 + (1 if etas == 1 else 2)
    smaller = min(p.n, p.N)
    return products * product + etas * (p.n * p.N * smaller + ridges * smaller**3 / 3)


def best(f: Callable[[], object], repeats: int) -> float:
    """Shortest time of several calls."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        f()
        times.append(time.perf_counter() - began)
    return min(times)


def product_rate(m: int = 2048, repeats: int = 3) -> float:
    """Flops per second of a square float64 matrix product on all cores."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, m, m))
    return 2.0 * m**3 / best(lambda: A @ B, repeats)


TURNS = 5
CASES = {
    "many steps": ({"n": 5120, "d": 512, "N": 1024}, 8, 10, 0.6),
    "large": ({"n": 4096, "d": 2048, "N": 4096}, 1, 1, 0.75),
    "n < N": ({"n": 1024, "d": 512, "N": 4096}, 4, 4, 0.6),
}


def compare_types() -> None:
    """Processor time of one network on one thread, by type."""
    for sizes in ({"n": 2048, "d": 1024, "N": 2048}, {"n": 5120, "d": 512, "N": 1024}):
        problem = og.Problem(**sizes, noise=0.5)
        seconds: dict[str, float] = {}
        for _ in range(3):
            for name in ("float64", "float32"):
                plan, began = make_plan(problem, 1, threads=1, dtype=name), time.process_time()
                run_plan(plan)
                took = time.process_time() - began
                seconds[name] = min(seconds.get(name, np.inf), took)
        times = ((name, s, seconds["float64"] / s) for name, s in seconds.items())
        faster = ", ".join(f"{name} {s:.2f} s ({ratio:.2f})" for name, s, ratio in times)
        print(f"{sizes}: {faster}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one pass over the first case")
    parser.add_argument("--seeds", type=int, help="networks (default: twice the cores)")
    parser.add_argument("--long", action="store_true", help="also a million rows")
    parser.add_argument("--float32", action="store_true", help="time by type instead")
    args = parser.parse_args()
    if args.float32:
        return compare_types()
    k = thread_count()
    print(f"{k} core(s)")
    head = f"{'case':12} {'n':>6} {'d':>5} {'N':>5} {'etas':>4} {'ridges':>6} {'seeds':>5}"
    print(
        f"{head} {'seconds':>8} {'GFLOP/s':>8} {'product':>8} {'ratio':>6} {'estimate':>8}  target"
    )
    for name, (sizes, etas, ridges, target) in CASES.items():
        problem = og.Problem(**sizes, teacher="H1 + H2/2", noise=0.5)
        seeds = args.seeds or 2 * k
        axes = {
            "eta": list(np.linspace(1, 8, etas)),
            "ridge": list(np.geomspace(1e-3, 1, ridges)),
        }
        simulate(problem.replace(n=256, d=64, N=128), k, **axes)  # threads and libraries are awake
        run = partial(simulate, problem, seeds, **axes)
        turns = [(product_rate(), best(run, 1)) for _ in range(1 if args.quick else TURNS)]
        rate, seconds = np.median(turns, axis=0)
        expected = cost(problem, seeds, **axes).seconds
        flops = seeds * useful_flops(problem, etas, ridges) / seconds
        row = f"{name:12} {problem.n:6d} {problem.d:5d} {problem.N:5d} {etas:4d} {ridges:6d}"
        print(
            f"{row} {seeds:5d} {seconds:8.2f} {flops / 1e9:8.1f} {rate / 1e9:8.1f} "
            f"{flops / rate:6.2f} {expected:8.2f}  {'' if target is None else f'>= {target}'}",
            flush=True,
        )
        if args.quick:
            return None
    for n in (16_384, 65_536, 262_144, *([1_000_000] if args.long else [])):
        streamed = og.Problem(n=n, d=512, N=1024, eta=4.0)
        estimate = cost(streamed, [0], n_test=4096)
        took = best(partial(simulate, streamed, [0], n_test=4096), 1)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"n = {n:,}, d = 512, N = 1,024: {took:.2f} s, estimate {estimate.seconds:.2f} s; "
            f"peak memory of this process {peak:.2f} GiB",
            flush=True,
        )
    return None


if __name__ == "__main__":
    main()
