"""The two passes over the data, as functions of one part: the sample, and the moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from onegrad.arrays import Array, Ops, get_ops, to_numpy
from onegrad.data.encoding import Encoding, encode
from onegrad.data.partition_sum import add_optional
from onegrad.data.partitions import Partition, RowBlock
from onegrad.data.sample import Sample, row_keys, sample_block
from onegrad.data.table import is_table, take_rows
from onegrad.estimators.model.fitted import CommitteeMoments
from onegrad.estimators.model.targets import Targets
from onegrad.exceptions import InvalidInput
from onegrad.layers.layer import DeviceLayer, Layer
from onegrad.parallel import thread_map
from onegrad.ridge import Moments

HEAVIEST = 1e100  # weight whose sums with squares of anything scaled are numbers


@dataclass(frozen=True)
class SamplePass:
    """partition -> Sample of its rows."""

    size: int
    seed: int
    labels: str

    def __call__(self, partition: Partition) -> Sample | None:
        return reduce(add_optional, thread_map(self.block, checked(partition.blocks())), None)

    def block(self, block: RowBlock) -> Sample:
        return sample_block(block.X, targets_of(block), block.w, self.size, self.seed, self.labels)


@dataclass(frozen=True)
class MomentsPass:
    """partition -> moments of its rows under fixed layers, those of all members in one reading.

    Rows whose key is below `skip_below` do not count: they were used up by the gradient step.
    """

    layers: tuple[Layer, ...]
    targets: Targets
    encoding: Encoding | None
    device: str = "cpu"
    seed: int = 0
    skip_below: int = 0

    def __call__(self, partition: Partition) -> CommitteeMoments | None:
        return reduce(add_optional, thread_map(self.block, checked(partition.blocks())), None)

    def block(self, block: RowBlock) -> CommitteeMoments:
        """Moments of one block, on the device, and back."""
        X, y, w = block.X, targets_of(block), block.w
        if self.skip_below:
            keep = np.flatnonzero(row_keys(X, y, self.seed) >= np.uint64(self.skip_below))
            X, y, w = take_rows(X, keep), y[keep], None if w is None else w[keep]
        x, t = encode(X, self.encoding, training=True), self.targets.encode(y)
        w = self.targets.weighted(y, w)
        if self.device == "cpu":
            return CommitteeMoments(tuple(layer.moments(x, t, w) for layer in self.layers))
        there = get_ops(self.device)
        rows = [None if v is None else there.asarray(v) for v in (x, t, w)]
        return CommitteeMoments(tuple(self._on(there, layer, *rows) for layer in self.layers))

    def _on(self, there: Ops, layer: Layer, x: Array, t: Array, w: Array | None) -> Moments:
        m = DeviceLayer.of(layer, there).moments(x, t, w)
        return Moments(m.rows, m.weight, *map(to_numpy, (m.F1, m.y1, m.FtF, m.Fty, m.yty)))


def targets_of(block: RowBlock) -> Any:
    """The targets of a block that has some."""
    if block.y is None:
        raise InvalidInput("y", problem="there is no target; name its column, or give y")
    return block.y


def checked(blocks: Iterator[RowBlock]) -> Iterator[RowBlock]:
    """Blocks whose rows are consistent and finite; anything else is named."""
    for block in blocks:
        n = len(block)
        for name, values in (("y", block.y), ("weights", block.w)):
            if values is not None and len(values) != n:
                problem = f"a block has {n} rows of inputs and {len(values)} of {name}"
                raise InvalidInput(name, problem=problem)
            if values is not None and values.dtype.kind == "f" and not np.isfinite(values).all():
                raise InvalidInput(name, problem="it must be finite; found NaN or infinity")
        if not is_table(block.X):
            _check_matrix(block.X)
        if block.y is not None and block.y.ndim > 2:
            raise InvalidInput("y", f"{block.y.ndim} dimensions", "a vector or a matrix")
        if block.y is not None and block.y.dtype.kind == "c":
            raise InvalidInput("y", problem="it must be real; found complex numbers")
        if block.w is not None and block.w.dtype.kind not in "fiub":
            raise InvalidInput("weights", str(block.w.dtype), "numbers")
        if block.w is not None and (block.w.ndim != 1 or (block.w < 0).any()):
            raise InvalidInput("weights", allowed="one number per row, and not negative")
        if block.w is not None and len(block.w) and block.w.max() > HEAVIEST:
            raise InvalidInput("weights", block.w.max(), f"at most {HEAVIEST:g}")
        if n:
            yield block


def _check_matrix(X: Any) -> None:
    if X.ndim != 2:
        raise InvalidInput("X", f"{X.ndim} dimensions", "a matrix")
    if X.dtype.kind not in "fiub":
        raise InvalidInput("X", str(X.dtype), "a matrix of real numbers")
    if not np.isfinite(X).all():
        raise InvalidInput("X", problem="inputs must be finite; found NaN or infinity")
