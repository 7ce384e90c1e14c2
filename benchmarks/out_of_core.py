"""Out of core: a fit from Parquet against the matrix products that it cannot do without.

    python benchmarks/out_of_core.py [--rows 2000000] [--columns 100] [--width 1000] [--members 1]
                                     [--dir out/out_of_core] [--workers 1,2] [--estimator one-step]

Writes the data once (float32, 131,072 rows a group). Each measurement is a process of its own whose
largest resident memory the operating system reports:

Seconds are of the wall clock, and of the processor in brackets (all threads), which a busy machine
disturbs less.

products   Z W^T and F^T F in blocks of the same size, for all rows, on numbers already in memory
fit        both passes over the file and the first layer on a sample of it
dask k     the same fit on k workers, one BLAS thread each (workers that Dask starts have no more);
           the first layer is learned here, on all cores

The coefficients of all fits are compared, and every measurement with the cost model
(benchmarks/fit_cost.py), whose rates are measured on one part of the file. A model of 10^9 rows on
100 workers is printed at the end.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from fit_cost import Rates, Size

import onegrad as og
from onegrad.tables import source
from onegrad.tables.first_layer.scaling import FEATURE_BLOCK_ROWS


def write_data(path: Path, rows: int, columns: int) -> None:
    """y = tanh of one direction plus a product, noise; in groups of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    beta = rng.standard_normal(columns) / np.sqrt(columns)
    writer = None
    for start in range(0, rows, 131_072):
        n = min(131_072, rows - start)
        X = rng.standard_normal((n, columns), dtype=np.float32)
        y = np.tanh(2 * X @ beta) + X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(n)
        table = pa.table({**{f"x{j}": X[:, j] for j in range(columns)}, "y": y.astype(np.float32)})
        writer = writer or pq.ParquetWriter(
            path, table.schema, compression="none", use_dictionary=False
        )
        writer.write_table(table)
    assert writer is not None
    writer.close()


def products(rows: int, columns: int, width: int) -> float:
    """Seconds of the products of one pass; the skip makes F wider than the layer."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((FEATURE_BLOCK_ROWS, columns))
    W = rng.standard_normal((width, columns))
    F = rng.standard_normal((FEATURE_BLOCK_ROWS, width + columns))
    total = np.zeros((width + columns,) * 2)
    start = time.perf_counter()
    for _ in range(-(-rows // FEATURE_BLOCK_ROWS)):
        Z @ W.T
        total += F.T @ F
    return time.perf_counter() - start


def estimator(name: str, width: int, members: int) -> Any:
    if name == "alternating":
        return og.AlternatingRegressor(width, members=members, random_state=0)
    return og.OneStepRegressor(width, random_state=0)


def fit(path: Path, model: Any, coefficients: Path, workers: int | None) -> tuple[float, float]:
    """Seconds of one fit, and of all processors in it; a cluster is started before the clock."""
    data = source(path, target="y")
    if workers is None:
        start, cpu = time.perf_counter(), time.process_time()
        model.fit(data)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    else:
        from distributed import Client, LocalCluster

        with (
            LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            client.run(lambda: og.OneStepRegressor)  # imports are not the fit's
            before = sum(client.run(time.process_time).values())
            start, cpu = time.perf_counter(), time.process_time()
            model.fit(data, client=client)
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            cpu += sum(client.run(time.process_time).values()) - before
    np.save(coefficients, model.readout_)
    return seconds, cpu


def measured(args: argparse.Namespace, what: str) -> dict[str, Any]:
    """Run one measurement in a process of its own; Dask decides on its workers' threads."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    if not what.startswith("dask"):
        environment |= dict.fromkeys(names, str(args.threads))
    command = [sys.executable, __file__, "--what", what, "--rows", str(args.rows),
               "--columns", str(args.columns), "--width", str(args.width), "--dir", str(args.dir),
               "--estimator", args.estimator, "--members", str(args.members)]  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{what:12s} {result['seconds']:7.1f} s ({result['cpu']:.1f})  "
        f"peak {result['peak_mb']:6.0f} MB",
        flush=True,
    )
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--width", type=int, default=1000)
    parser.add_argument("--dir", type=Path, default=Path("out/out_of_core"))
    parser.add_argument("--members", type=int, default=1, help="of the alternating family")
    parser.add_argument("--workers", default="1,2", help="of the clusters, comma-separated")
    parser.add_argument("--estimator", choices=("one-step", "alternating"), default="one-step")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of BLAS, serial")
    parser.add_argument("--skip-dask", action="store_true")
    parser.add_argument("--what", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.dir.mkdir(parents=True, exist_ok=True)
    path = args.dir / f"data_{args.rows}x{args.columns}.parquet"
    if args.what:
        coefficients = args.dir / f"{args.what.replace(' ', '_')}.npy"
        if args.what == "products":
            cpu = time.process_time()
            seconds = products(args.rows, args.columns, args.width)
            cpu = time.process_time() - cpu
        else:
            workers = int(args.what.split()[1]) if args.what.startswith("dask") else None
            model = estimator(args.estimator, args.width, args.members)
            seconds, cpu = fit(path, model, coefficients, workers)
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(json.dumps({"seconds": seconds, "cpu": cpu, "peak_mb": used.ru_maxrss / 1024}))
        return
    if not path.exists():
        write_data(path, args.rows, args.columns)
    print(f"{path.stat().st_size / 1e6:.0f} MB of Parquet, {args.estimator}", flush=True)
    before, whole, after = (measured(args, what) for what in ("products", "fit", "products"))
    for unit in ("seconds", "cpu"):
        ratio = whole[unit] / (0.5 * (before[unit] + after[unit]))
        print(f"fit / products = {ratio:.2f} ({unit})")
    print(f"{1e6 * whole['cpu'] / args.rows:.1f} processor microseconds a row", flush=True)
    rates = Rates.measure(path, args.width)
    print(rates)
    size = Size(args.rows, args.columns, args.width, args.members)
    print(f"model, in this process: {rates.cpu(size):.1f} CPU s; measured {whole['cpu']:.1f}")
    if not args.skip_dask:
        clusters = [int(k) for k in args.workers.split(",")]
        results = {k: measured(args, f"dask {k}") for k in clusters}
        for k, result in results.items():
            print(
                f"{k} workers: {results[clusters[0]]['seconds'] / result['seconds']:.2f} x the "
                f"first; model {rates.seconds(size, k):.1f} s ({rates.cpu(size):.1f} CPU)"
            )
        first = np.load(args.dir / "fit.npy")
        others = [np.load(args.dir / f"dask_{k}.npy") for k in clusters]
        worst = max(np.abs(c - first).max() for c in others) / np.abs(first).max()
        print(f"largest difference of coefficients, relative to the largest: {worst:.1e}")
    print(rates.table(Size(10**9, args.columns, args.width, args.members), 100))


if __name__ == "__main__":
    main()
