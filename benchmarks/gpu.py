"""The simulation engine on one GPU: agreement with the CPU, speed, and where the time goes.

    python benchmarks/gpu.py [--device cuda] [--small] [--parts agreement,components,runs,limits]

Rates count useful flops only, as benchmarks/simulate.py does; seconds include everything.
`--device torch --small` runs the same script without a GPU.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from simulate import useful_flops

import onegrad as og
from onegrad.arrays import get_ops
from onegrad.networks import simulate
from onegrad.ridge.shifted import solve_shifted

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
    print("\nstacks that are recorded and repeated, beside one stack of the same seeds")
    for fields in AGREEMENT[:-1]:  # the last has a law that a device does not draw
        problem, worst = og.Problem(**fields), 0.0
        run = {"device": device, "random": "device", "eta": [0.5, 3.0], "ridge": [1e-2, 1.0]}
        together = simulate(problem, 24, batch=24, **run)
        for batch in (1, 2):
            for _ in "ab":
                single = simulate(problem, 24, batch=batch, **run)
                for name in ("train", "test", "overlap"):
                    a, b = getattr(together, name).values, getattr(single, name).values
                    worst = max(worst, float(np.nanmax(np.abs(a - b) / np.abs(a))))
        print(f"  {'trained':20} n={problem.n} N={problem.N}: {worst:.1e}", flush=True)
        assert worst < 1e-10, "recordings do not repeat themselves"


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


def components(device: str, m: int, stack: tuple[int, int, int, int]) -> float:
    """The pieces a replicate consists of; returns the matrix-product rate."""
    ops = get_ops(device)
    place = ops.place  # type: ignore[attr-defined]
    sync = torch.cuda.synchronize if place.type == "cuda" else (lambda: None)
    make = {"dtype": torch.float64, "device": place}
    A = torch.randn(1, m, m, **make)
    C = torch.zeros(1, m, m, **make)
    t = seconds(lambda: torch.matmul(A, A), sync)
    rate = 2 * m**3 / t
    print(f"\ncomponents, one {m} x {m} matrix")
    print(f"  product               {t * 1e3:9.2f} ms  {rate / 1e12:6.2f} TFLOP/s")
    t = seconds(lambda: ops.add_gram(C, A), sync)
    print(f"  Gram matrix           {t * 1e3:9.2f} ms  {m**3 / t / 1e12:6.2f} TFLOP/s useful")
    C.zero_()
    ops.add_gram(C, A)
    b = torch.randn(1, m, **make)
    t = seconds(lambda: solve_shifted(C.clone(), [float(m)], b), sync)
    print(f"  factor and solve      {t * 1e3:9.2f} ms  {m**3 / 3 / t / 1e12:6.2f} TFLOP/s useful")
    L = torch.linalg.cholesky(C.swapaxes(1, 2) + m * torch.eye(m, **make))
    t = seconds(lambda: torch.linalg.cholesky_ex(C.swapaxes(1, 2)), sync)
    print(f"  torch's factor alone  {t * 1e3:9.2f} ms  {m**3 / 3 / t / 1e12:6.2f} TFLOP/s")
    t = seconds(lambda: torch.linalg.solve_triangular(L, b[..., None], upper=False), sync)
    print(f"  one triangular solve  {t * 1e3:9.2f} ms")
    t = seconds(lambda: torch.tanh(A), sync)
    print(f"  tanh                  {t * 1e3:9.2f} ms  {16 * m**2 / t / 1e12:6.2f} TB/s")
    t = seconds(A.normal_, sync)
    print(f"  normal numbers        {t * 1e3:9.2f} ms  {m**2 / t / 1e9:6.1f} G/s")
    B, n, d, N = stack
    X, W = torch.randn(B, n, d, **make), torch.randn(B, N, d, **make)
    print(f"components, stack of {B}: n={n} d={d} N={N}")
    t = seconds(lambda: X @ W.swapaxes(1, 2), sync)
    print(f"  product X W^T         {t * 1e3:9.2f} ms  {2 * B * n * d * N / t / 1e12:6.2f} TFLOP/s")
    F = X @ W.swapaxes(1, 2)
    G = torch.zeros(B, N, d, **make)
    t = seconds(lambda: ops.add_product(G, F, X), sync)
    print(f"  product F^T X         {t * 1e3:9.2f} ms  {2 * B * n * d * N / t / 1e12:6.2f} TFLOP/s")
    C = torch.zeros(B, N, N, **make)
    t = seconds(lambda: ops.add_gram(C, F), sync)
    print(f"  Gram matrix           {t * 1e3:9.2f} ms  {B * n * N * N / t / 1e12:6.2f} useful")
    C.zero_()
    ops.add_gram(C, F)
    b = torch.randn(B, N, **make)
    t = seconds(lambda: solve_shifted(C.clone(), [1e3], b), sync)
    print(f"  factor and solve      {t * 1e3:9.2f} ms  {B * N**3 / 3 / t / 1e12:6.2f} useful")
    full = torch.triu(C) + torch.triu(C, 1).swapaxes(1, 2) + 1e3 * torch.eye(N, **make)
    t = seconds(lambda: torch.linalg.cholesky_ex(full), sync)
    print(f"  torch's factor alone  {t * 1e3:9.2f} ms  {B * N**3 / 3 / t / 1e12:6.2f}")
    t = seconds(lambda: torch.linalg.solve_triangular(full, b[..., None], upper=False), sync)
    print(f"  one triangular solve  {t * 1e3:9.2f} ms")
    t = seconds(lambda: torch.tanh(F), sync)
    print(f"  tanh                  {t * 1e3:9.2f} ms  {16 * F.numel() / t / 1e12:6.2f} TB/s")
    return rate


def throughput(device: str, small: bool, rate: float) -> None:
    """Whole runs."""
    cases = [
        ("one large", {"n": 16384, "d": 8192, "N": 16384}, 1, 1, 4, 1, 50),
        ("32 stacked", {"n": 5120, "d": 512, "N": 1024}, 1, 1, 512, 32, 35),
        ("64 stacked", {"n": 5120, "d": 512, "N": 1024}, 1, 1, 512, 64, 35),
        ("128 stacked", {"n": 5120, "d": 512, "N": 1024}, 1, 1, 512, 128, 35),
        ("one at a time", {"n": 5120, "d": 512, "N": 1024}, 1, 1, 16, 1, None),
        ("many steps", {"n": 5120, "d": 512, "N": 1024}, 8, 10, 64, 32, 25),
    ]
    if small:
        cases = [("small", {"n": 640, "d": 64, "N": 128}, 2, 2, 4, 2, None)]
    print("\nwhole runs, everything included")
    head = f"{'case':14} {'random':7} {'n':>6} {'d':>5} {'N':>6} {'etas':>4} {'ridges':>6}"
    print(f"{head} {'seeds':>5} {'batch':>5} {'seconds':>8} {'TFLOP/s':>8} {'ratio':>6}  target")
    for random in ("device", "host"):
        for name, sizes, etas, ridges, seeds, batch, target in cases:
            problem = og.Problem(**sizes, teacher="H1 + H2/2", noise=0.5)
            axes = {
                "eta": list(np.linspace(2, 8, etas)),
                "ridge": list(np.geomspace(1e-3, 1, ridges)),
            }
            run = {"device": device, "random": random, "batch": batch}
            count = max(batch, seeds // 4) if random == "host" else seeds
            if random == "host" and name not in ("one large", "128 stacked", "small"):
                continue
            simulate(problem, batch, **run, **axes)
            took = min(simulate(problem, count, **run, **axes).provenance.seconds for _ in "ab")
            flops = count * useful_flops(problem, etas, ridges) / took
            row = f"{name:14} {random:7} {problem.n:6d} {problem.d:5d} {problem.N:6d} {etas:4d}"
            print(
                f"{row} {ridges:6d} {count:5d} {batch:5d} {took:8.3f} {flops / 1e12:8.2f} "
                f"{flops / rate:6.2f}  {'' if target is None else f'>= {target}'}",
                flush=True,
            )


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
    parser.add_argument("--parts", default="agreement,components,runs,limits")
    args = parser.parse_args()
    if args.device.startswith("cuda"):
        print(torch.cuda.get_device_name(args.device), "torch", torch.__version__)
    if "agreement" in args.parts:
        agreement(args.device)
    sizes = (256, (4, 640, 64, 128)) if args.small else (16384, (32, 5120, 512, 1024))
    rate = components(args.device, *sizes) if "components" in args.parts else float("nan")
    if "runs" in args.parts:
        throughput(args.device, args.small, rate)
    if "limits" in args.parts:
        limits(args.device, args.small)


if __name__ == "__main__":
    main()
