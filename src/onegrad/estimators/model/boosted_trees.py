r"""A sum of small symmetric trees.

.. math:: q(z) = \sum_t v_t\big[\ell_t(z)\big], \qquad
          \ell_t(z) = \sum_j 2^j\,1\{z_{c_{tj}} > \theta_{tj}\}

A tree asks all rows the same few questions, each about one input, and the answers are the bits of
the number of its leaf. Products of thresholds are what neurons in general position find last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.estimators.model.coded_network import Single
from onegrad.layers.rows import row_slices

PRODUCTS_PER_QUESTION = 200  # in the same time

Leaves = np.ndarray[Any, np.dtype[np.intp]]


def leaf_numbers(answers: Any) -> Leaves:
    """(n,) numbers whose bits are the answers (n, D)."""
    return answers @ (1 << np.arange(answers.shape[1]))


@dataclass(frozen=True)
class BoostedTrees:
    """T trees of depth D, in the order in which they were grown.

    Parameters
    ----------
    columns : (T, D) inputs, as numbers, that a tree asks about.
    thresholds : (T, D) above which the answer is yes.
    values : (T, 2^D, K) what a leaf adds to the scores, in single precision.
    """

    columns: Floats
    thresholds: Floats
    values: Single

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def numbers_per_row(self) -> int:
        """Number of products that take as long as the scores of one row."""
        return PRODUCTS_PER_QUESTION * self.columns.size

    def __call__(self, z: Floats) -> Floats:
        """Return (n, K) scores of scaled inputs."""
        return np.concatenate([self._scores(z[rows]) for rows in row_slices(len(z))])

    def _scores(self, z: Floats) -> Floats:
        scores = np.zeros((len(z), self.values.shape[2]))
        for columns, thresholds, values in zip(
            self.columns.astype(np.intp), self.thresholds, self.values, strict=True
        ):
            scores += values[leaf_numbers(z[:, columns] > thresholds)]
        return scores

    def scaled(self, factor: float) -> BoostedTrees:
        """Return the trees whose scores are multiplied by a factor."""
        return replace(self, values=np.float32(factor) * self.values)

    def __add__(self, other: BoostedTrees) -> BoostedTrees:
        """Return the trees of both, of one depth."""
        names = ("columns", "thresholds", "values")
        return BoostedTrees(
            *(np.concatenate([getattr(each, name) for each in (self, other)]) for name in names)
        )
