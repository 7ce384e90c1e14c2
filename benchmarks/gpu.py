"""The simulation engine on one GPU: agreement with the CPU, speed, and where the time goes.

    python benchmarks/gpu.py [--device cuda] [--small] [--parts PARTS] [--json FILE]

Parts: agreement, runs, errors, limits, rounds; and kernels, if named. Rates count
useful flops only, as benchmarks/simulate.py does; seconds include everything, the networks that a
precision repeats in float64, too. The ratio is to the rate of the largest product in the arithmetic
of that precision.
`--device torch --small` runs the same script without a GPU.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from simulate import useful_flops

import onegrad as og
from onegrad.arrays import PRECISIONS, get_ops
from onegrad.networks import make_plan, run_plan, simulate
from onegrad.parallel.cores import blas_threads, thread_count

AGREEMENT = (
    {"n": 700, "d": 120, "N": 300, "activation": "relu", "teacher": "H1 + H2/2", "noise": 0.5},
    {"n": 300, "d": 120, "N": 700, "activation": "tanh", "intercept": True, "residual": "full"},
    {"n": 1500, "d": 100, "N": 600, "activation": "erf", "steps": 2, "corrupted": 0.1},
    {"n": 1200, "d": 150, "N": 300, "inputs": "student-t(5)", "readout": "rademacher"},
)


def agreement(device: str) -> None:
    """Largest relative difference from NumPy over all quantities, with stacks of several sizes."""
    print("\nagreement with NumPy (largest relative difference)")
    for fields in AGREEMENT:
        problem = og.Problem(**fields)
        axes = {"eta": [0.5, 3.0], "ridge": [1e-2, 1.0]}
        for model in ("trained", "gaussian-equivalent", *(["ntk"] if problem.n < 1000 else [])):
            host = simulate(problem, 3, model=model, leave_one_out=True, **axes)
            worst = 0.0
            for batch in (1, 2):
                other = simulate(
                    problem,
                    3,
                    model=model,
                    leave_one_out=True,
                    device=device,
                    batch=batch,
                    random="host",
                    **axes,
                )
                for name in ("train", "test", "squared_loss", "leave_one_out"):
                    a, b = getattr(host, name).values, getattr(other, name).values
                    worst = max(worst, float(np.max(np.abs(a - b) / np.abs(a))))
            print(f"  {model:20} n={problem.n} N={problem.N}: {worst:.1e}", flush=True)
            assert worst < 1e-10, "the devices disagree"


def seconds(f: Callable[[], object], sync: Callable[[], None], repeats: int = 3) -> float:
    """Median time of f after one warm-up."""
    f()
    times = []
    for _ in range(repeats):
        sync()
        began = time.perf_counter()
        f()
        sync()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def product_rates(device: str, m: int) -> dict[str, float]:
    """Operations per second of one large product, by the precision that consists of it."""
    place = get_ops(device).place  # type: ignore[attr-defined]
    sync = torch.cuda.synchronize if place.type == "cuda" else (lambda: None)
    A = torch.randn(1, m, m, dtype=torch.float64, device=place)
    ops = {name: get_ops(device, precision=name) for name in PRECISIONS}
    times = {
        name: seconds(partial(ops[name].product, x, x), sync)
        for name, x in (("exact", A), ("fast", A.float()))
    }
    rates = {name: 2 * m**3 / t for name, t in times.items()}
    print(f"\nproduct of two {m} x {m} matrices, TFLOP/s, conversions to half precision included")
    print("  " + ", ".join(f"{name} {rate / 1e12:.1f}" for name, rate in rates.items()), flush=True)
    return rates


CASES = {
    "one large": ({"n": 16384, "d": 8192, "N": 16384}, 1, 1, 32, 1, (46, 220)),
    "stacked": ({"n": 5120, "d": 512, "N": 1024}, 1, 1, 1024, 128, (30, 110)),
    "8 eta x 10 ridges": ({"n": 5120, "d": 512, "N": 1024}, 8, 10, 256, 32, (21, 60)),
}


def throughput(device: str, small: bool, rates: dict[str, float]) -> list[dict[str, Any]]:
    """Whole runs, by case and precision."""
    cases = CASES
    if small:
        cases = {"small": ({"n": 640, "d": 64, "N": 128}, 2, 2, 4, 2, (0, 0))}
    print("\nwhole runs, everything included; error: of the mean test error, as the run states it")
    print(f"{'case':18} {'precision':9} {'seeds':>5} {'seconds':>8} {'TFLOP/s':>8} {'ratio':>6} "
          f"{'wanted':>6} {'without repeats':>15} {'error':>9} {'train':>9}")  # fmt: skip
    table = []
    for name, (sizes, etas, ridges, seeds, batch, wanted) in cases.items():
        problem = og.Problem(**sizes, teacher="H1 + H2/2", noise=0.5)
        axes = {
            "eta": list(np.linspace(2, 8, etas)),
            "ridge": list(np.geomspace(1e-3, 1, ridges)),
        }
        for precision, goal in zip(PRECISIONS, wanted, strict=True):
            count = max(batch, seeds // 8) if precision == "exact" else seeds
            run = {"device": device, "batch": batch, "precision": precision, **axes}
            simulate(problem, batch, **run)
            result = simulate(problem, count, **run)
            plan, began = make_plan(problem, count, **run), time.perf_counter()
            run_plan(plan)
            alone = time.perf_counter() - began
            took, error = result.provenance.seconds, result.precision_error
            flops = count * useful_flops(problem, etas, ridges)
            row = {
                "case": name, "precision": precision, "seeds": count, "seconds": took,
                "rate": flops / took, "product": rates.get(precision, np.nan), "wanted": goal,
                "rate_without_repeats": flops / alone,
                "test_error": 0.0 if error is None else float(np.abs(error.test.mean).max()),
                "train_error": 0.0 if error is None else float(np.abs(error.train.mean).max()),
            }  # fmt: skip
            table.append(row)
            print(f"{name:18} {precision:9} {count:5d} {took:8.3f} {flops / took / 1e12:8.1f} "
                  f"{row['rate'] / row['product']:6.2f} {goal:6d} {flops / alone / 1e12:15.1f} "
                  f"{row['test_error']:9.1e} {row['train_error']:9.1e}", flush=True)  # fmt: skip
    return table


def kernels(device: str, small: bool) -> None:
    """Kernels that take longest in one stack of each case, with precision="fast"."""
    from torch.profiler import profile

    for name, (sizes, etas, ridges, _, batch, _) in CASES.items():
        scale = 16 if small else 1
        problem = og.Problem(**{k: v // scale for k, v in sizes.items()}, teacher="H1 + H2/2")
        axes = {
            "eta": list(np.linspace(2, 8, etas)),
            "ridge": list(np.geomspace(1e-3, 1, ridges)),
        }
        run = {"device": device, "precision": "fast", "batch": batch}
        plan = make_plan(problem, 1 if small else batch, **run, **axes)
        run_plan(plan)
        with profile() as watched:
            run_plan(plan)
        print(f"\n{name}")
        longest = sorted(watched.key_averages(), key=lambda k: -k.self_device_time_total)
        for kernel in longest[:15]:
            took = kernel.self_device_time_total / 1e3
            print(f"  {took:8.2f} ms in {kernel.count:5d} calls: {kernel.key[:80]}")


def errors(device: str, small: bool) -> list[dict[str, Any]]:
    """The error that a fast run states beside the true one, on random problems, host numbers."""
    rng = np.random.default_rng(24)
    largest, count, seeds = (90, 3, 4) if small else (400, 20, 32)
    print("\nrelative difference from float64: stated (by two networks), measured (by all)")
    table = []
    for _ in range(count):
        d = int(rng.integers(40, largest))
        problem = og.Problem(
            n=int(d * rng.uniform(1.5, 6)), d=d, N=int(d * rng.uniform(1, 5)),
            alpha=round(float(rng.uniform(0, 0.6)), 2), ridge=float(10 ** rng.uniform(-5, 0)),
            activation=str(rng.choice(["tanh", "erf", "relu", "gelu", "softplus"])),
            teacher="H1 + H2/2", noise=float(rng.choice([0, 0.5])),
            intercept=bool(rng.integers(2)),
        )  # fmt: skip
        run = {"device": device, "random": "host"}
        exact = simulate(problem, seeds, **run)
        fields = {k: problem.to_dict()[k] for k in ("n", "d", "N", "alpha", "ridge", "activation")}
        line = " ".join(f"{k}={v:.3g}" if k == "ridge" else f"{k}={v}" for k, v in fields.items())
        fast = simulate(problem, seeds, precision="fast", **run)
        row = dict(fields)
        for name in ("test", "train"):
            stated, true = getattr(fast.precision_error, name), getattr(exact, name)
            row[f"{name}_stated"] = float(stated.mean)
            row[f"{name}_measured"] = float(getattr(fast, name).mean / true.mean - 1)
            row[f"{name}_se"] = float(true.se / true.mean)
        table.append(row)
        line += f" | test {row['test_stated']:+.0e} {row['test_measured']:+.0e}"
        line += f", train {row['train_stated']:+.0e} {row['train_measured']:+.0e}"
        print(f"{line} | standard error {row['test_se']:.0e}", flush=True)
    for name in ("test", "train"):
        size = np.sort([abs(row[f"{name}_measured"]) for row in table])
        print(f"{name}: median {np.median(size):.1e}, largest {size[-1]:.1e}")
    return table


def rounds(device: str, small: bool) -> list[dict[str, Any]]:
    """The rounds of the alternating family: one core, all cores, the device."""
    n, d = (2000, 10) if small else (25_000, 20)  # 20,000 of the sample are searched
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n)
    print(f"\nrounds of the alternating family, {n} rows, {d} inputs")
    table = []
    for place, threads in ((device, thread_count()), ("cpu", thread_count()), ("cpu", 1)):
        model = og.AlternatingRegressor(device=place, random_state=0, corrections="none")
        with blas_threads(threads):
            began = time.perf_counter()
            model.fit(X, y)
            took = time.perf_counter() - began
        score = float(model.fitted_.statistics.choice["held_out_score"])
        table.append({"device": place, "threads": threads, "seconds": took, "score": score})
        print(
            f"  {place:6} {threads:2d} core(s) {took:7.2f} s, held-out score {score:.5f}",
            flush=True,
        )
    return table


def limits(device: str, small: bool) -> None:
    """Many rows in bounded memory, and a device that is full."""
    n = 20_000 if small else 1_000_000
    run = {"device": device, "random": "device", "n_test": 4096}
    problem = og.Problem(n=n, d=64 if small else 512, N=128 if small else 1024, eta=4.0)
    began = time.perf_counter()
    cuda = device.startswith("cuda")
    if cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    simulate(problem, [0], **run)
    peak = f"; {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB on the device" if cuda else ""
    print(f"\nn = {n:,}: {time.perf_counter() - began:.2f} s{peak}")
    if cuda:
        full = torch.cuda.get_device_properties(device).total_memory
        hog = torch.empty(
            int(0.95 * torch.cuda.mem_get_info()[0]), dtype=torch.uint8, device=device
        )
        try:
            simulate(og.Problem(n=40_000, d=2048, N=40_000), [0], memory_limit=float(full), **run)
            raise SystemExit("a full device was not noticed")
        except MemoryError as error:
            print(f"a full device says: {error}")
        del hog


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="sizes for a machine without a GPU")
    parser.add_argument("--parts", default="agreement,runs,errors,limits,rounds")
    parser.add_argument("--json", type=Path, help="file for the numbers of runs, errors and rounds")
    args = parser.parse_args()
    machine = args.device
    if args.device.startswith("cuda"):
        machine = f"{torch.cuda.get_device_name(args.device)}, torch {torch.__version__}"
        print(machine)
    numbers: dict[str, Any] = {"machine": machine}
    warnings.simplefilter("ignore", og.AssumptionWarning)  # speed is measured here
    size = 256 if args.small else 16384
    if "agreement" in args.parts:
        agreement(args.device)
    if "runs" in args.parts:
        numbers["product_rates"] = product_rates(args.device, size)
        numbers["runs"] = throughput(args.device, args.small, numbers["product_rates"])
    if "kernels" in args.parts:
        kernels(args.device, args.small)
    if "errors" in args.parts:
        numbers["errors"] = errors(args.device, args.small)
    if "limits" in args.parts:
        limits(args.device, args.small)
    if "rounds" in args.parts:
        numbers["rounds"] = rounds(args.device, args.small)
    if args.json:
        args.json.write_text(json.dumps(numbers, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
