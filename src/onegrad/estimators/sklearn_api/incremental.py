"""Rows that come and go: the first layer stays, moments are added and subtracted."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from onegrad.data import sum_over_partitions
from onegrad.estimators.model.fitted import Fitted
from onegrad.estimators.model.row_sums import MomentsPass
from onegrad.estimators.model.update import (
    Counted,
    CountedPass,
    added,
    described_by,
    emptied,
    removed,
)
from onegrad.estimators.sklearn_api.base import FeatureLearner
from onegrad.estimators.sklearn_api.inputs import more_rows
from onegrad.exceptions import InvalidInput


class Incremental(FeatureLearner):
    """An estimator whose readout can be given other rows."""

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows. The first call learns the first layer; later ones change the readout only."""
        if not hasattr(self, "fitted_"):
            return self.fit(X, y, sample_weight)
        return self._became(added(self.fitted_, self._counted(X, y, sample_weight)))

    def remove(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take rows out of the readout, exactly; the first layer stays.

        Rows that are not in the model are refused as long as it has at most 131,072 distinct ones.
        """
        check_is_fitted(self)
        return self._became(removed(self.fitted_, self._counted(X, y, sample_weight)))

    def merge(self, other: Incremental) -> Self:
        """Add the rows of an estimator that has the same first layer (see `blank`)."""
        check_is_fitted(self)
        check_is_fitted(other)
        if type(other) is not type(self) or not _same_layer(self.fitted_, other.fitted_):
            raise InvalidInput(
                "other", problem="it needs the same first layer; make it with blank() and fill it"
            )
        theirs = other.fitted_
        rows = Counted(theirs.moments, theirs.tally, theirs.targets)
        return self._became(added(self.fitted_, rows))

    def blank(self) -> Self:
        """A copy with the same first layer and no rows, to be filled by partial_fit."""
        check_is_fitted(self)
        return copy(self)._became(emptied(self.fitted_))

    def calibrate(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Let other rows, which are not in the model, say how good it is.

        Importances, intervals, the slope of probabilities and the scores of the report are those
        of the rows that were held out at the fit. Once rows came or went, rows of today can take
        their place.
        """
        check_is_fitted(self)
        data, encoding = more_rows(self, X, y, sample_weight), self.fitted_.encoding
        return self._became(described_by(self.fitted_, data.blocks(), encoding))

    def _became(self, fitted: Fitted) -> Self:
        self._publish(fitted)
        return self

    def _counted(self, X: Any, y: Any, sample_weight: Any) -> Counted:
        """More rows under the layer as it is."""
        f = self.fitted_
        data = more_rows(self, X, y, sample_weight)
        sums = MomentsPass(f.layers, f.targets, f.encoding, self.device)
        return sum_over_partitions(
            CountedPass(sums, None if f.tally is None else f.tally.seed), data.partitions
        )


def _same_layer(a: Fitted, b: Fitted) -> bool:
    def arrays(f: Fitted) -> list[Any]:
        return [x for m in f.layers for x in (m.W, m.b, m.step, m.scaling.centre, m.scaling.scale)]

    return len(a.members) == len(b.members) and all(map(np.array_equal, arrays(a), arrays(b)))
