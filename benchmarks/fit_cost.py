r"""A model of what a fit to n rows costs: passes, bytes, flops and traffic.

.. math:: T(k) = L + \frac{n\,(r_1 + r_2)}{\min(k, c)} + \lceil\log_2 k\rceil\,\frac{8 M N'^2}{b}

for k workers on c cores (all their own, where the workers are machines), L the seconds that the
first layer takes on its sample, r_1 and r_2 the seconds per row of the two passes, M members of
:math:`N' = N + d` features, b bytes per second between workers. The passes read every byte twice; a
row costs :math:`M(2dN + N'^2)` flops; a partition of 131,072 rows leaves :math:`8MN'^2` bytes,
which are added where they are: about one such matrix per worker travels for each level of the sum.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import onegrad as og
from onegrad.tables import Source, source
from onegrad.tables.fitting.pipeline import sample_partition
from onegrad.tables.model.rows import MomentsPass
from onegrad.tables.rows.partitions import PARTITION_ROWS

SAMPLE = 20_000
NETWORK = 1e9  # bytes per second between workers


@dataclass(frozen=True)
class Size:
    """Rows, columns, neurons of a member, members."""

    rows: int
    columns: int
    width: int
    members: int

    @property
    def flops(self) -> float:
        """Number of operations of the second pass."""
        features = self.width + self.columns
        return self.rows * self.members * (2.0 * self.columns * self.width + features**2)

    @property
    def matrix(self) -> float:
        """Bytes of the sums of one partition."""
        return 8.0 * self.members * (self.width + self.columns) ** 2


@dataclass(frozen=True)
class Rates:
    """Seconds of the first layer, seconds per row of the passes and bytes per row.

    `moments` is for one member; a partition is read once for all members.
    """

    layer: float
    sample: float
    reading: float
    moments: float
    bytes: float

    @classmethod
    def measure(cls, path: Path, width: int) -> Rates:
        """Measure the rates on the first partition of a file."""
        data = source(path, target="y")
        partition = data.partitions[0]

        def seconds(work: object) -> float:
            start = time.process_time()
            work()  # type: ignore[operator]
            return time.process_time() - start

        rows = sum(len(block) for block in partition.blocks())
        model = og.OneStepRegressor(width, random_state=0, sample_rows=SAMPLE)
        whole = seconds(lambda: model.fit(Source([partition])))
        fitted = model.fitted_
        sample = seconds(lambda: sample_partition(partition, SAMPLE, 0, ""))
        reading = seconds(lambda: [None for _ in partition.blocks()])
        sums = MomentsPass(fitted.layers, fitted.targets, fitted.encoding)
        moments = seconds(lambda: sums(partition))
        return cls(
            max(whole - sample - moments, 0.0), sample / rows, reading / rows,
            max(moments - reading, 0.0) / rows, path.stat().st_size / rows_of(data),
        )  # fmt: skip

    def cpu(self, size: Size) -> float:
        """Seconds of processor time."""
        per_row = self.sample + self.reading + size.members * self.moments
        return size.members * self.layer + size.rows * per_row

    def seconds(self, size: Size, workers: int, cores: int | None = None) -> float:
        """Seconds on k workers of one core each."""
        at_once = min(workers, cores or os.cpu_count() or 1)
        passes = (self.cpu(size) - size.members * self.layer) / at_once
        travel = math.ceil(math.log2(workers)) * size.matrix / NETWORK if workers > 1 else 0.0
        return size.members * self.layer + passes + travel

    def table(self, size: Size, workers: int) -> str:
        partitions = math.ceil(size.rows / PARTITION_ROWS)
        return (
            f"model of {size.rows:.0e} rows x {size.columns} on {workers} workers: 2 passes over "
            f"{size.rows * self.bytes / 1e9:.0f} GB, {size.flops:.1e} flops, {partitions} "
            f"partitions, {size.matrix / 1e6:.0f} MB per partition, of which each worker sends "
            f"{math.ceil(math.log2(workers)) * size.matrix / 1e6:.0f} MB; "
            f"{self.seconds(size, workers, workers) / 60:.0f} minutes"
        )


def rows_of(data: Source) -> int:
    """Return the number of rows of a Parquet source, from its footers."""
    import pyarrow.parquet as pq

    return int(np.sum([pq.ParquetFile(path).metadata.num_rows for path in set(data.paths)]))
