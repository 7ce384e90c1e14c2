"""
Train on a file larger than memory
==================================

What if the file is larger than the memory? A fit reads it twice, block by block. It keeps sums, and
the keys of the first 131,072 distinct rows; beyond that its memory does not grow with the number of
rows.
"""

import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import onegrad as og
from onegrad.pictures import RC
from onegrad.tables import source

plt.rcParams.update(RC)


def write(path: Path, rows: int, block: int = 50_000) -> None:
    """Write a Parquet file of 10 inputs and a target, also block by block."""
    rng = np.random.default_rng(0)
    schema = pa.schema([(name, pa.float32()) for name in [*(f"x{j}" for j in range(10)), "y"]])
    with pq.ParquetWriter(path, schema) as file:
        for _ in range(rows // block):
            X = rng.standard_normal((block, 10), dtype=np.float32)
            y = np.maximum(X[:, 0] + X[:, 1], 0) + 0.1 * rng.standard_normal(block)
            columns = [*X.T, y.astype(np.float32)]
            file.write_table(pa.table([pa.array(c) for c in columns], schema=schema))


# %%
# Four files, each twice as long as the one before:

files, peaks = [], []
counts = (50_000, 100_000, 200_000, 400_000)
with tempfile.TemporaryDirectory() as folder:
    for rows in counts:
        path = Path(folder) / f"{rows}.parquet"
        write(path, rows)
        files.append(rows * 11 * 4 / 2**20)
        model = og.OneStepRegressor(width=100, eta=1.0, sample_rows=2000, random_state=0)
        tracemalloc.start()
        model.fit(source(str(path), target="y"))
        peaks.append(tracemalloc.get_traced_memory()[1] / 2**20)
        tracemalloc.stop()

figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.plot(counts, files, "o--", color="0.5", label="the numbers in the file")
ax.plot(counts, peaks, "o-", color="#0072B2", label="most memory that the fit held")
ax.set(xlabel="rows", ylabel="MiB", ylim=(0, None))
ax.legend()
print("MiB held:", ", ".join(f"{peak:.1f}" for peak in peaks))
