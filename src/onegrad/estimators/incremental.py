"""Rows that come and go: the first layer stays, moments are added and subtracted."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from onegrad.data import fold
from onegrad.errors import InvalidInput
from onegrad.estimators.fitted import CommitteeMoments, Fitted
from onegrad.estimators.inputs import more_rows
from onegrad.estimators.learner import FeatureLearner
from onegrad.estimators.passes import MomentsPass


class Incremental(FeatureLearner):
    """An estimator whose readout can be given other rows."""

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows. The first call learns the first layer; later ones change the readout only."""
        if not hasattr(self, "fitted_"):
            return self.fit(X, y, sample_weight)
        return self._with(self.fitted_.moments + self._moments(X, y, sample_weight))

    def remove(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take rows out of the readout, exactly; the first layer stays."""
        check_is_fitted(self)
        return self._with(self.fitted_.moments - self._moments(X, y, sample_weight))

    def merge(self, other: Incremental) -> Self:
        """Add the rows of an estimator that has the same first layer (see `blank`)."""
        check_is_fitted(self)
        check_is_fitted(other)
        if type(other) is not type(self) or not _same_layer(self.fitted_, other.fitted_):
            raise InvalidInput(
                "merge needs an estimator with the same first layer: start it with blank()"
            )
        return self._with(self.fitted_.moments + other.fitted_.moments)

    def blank(self) -> Self:
        """A copy with the same first layer and no rows, to be filled by partial_fit."""
        check_is_fitted(self)
        return copy(self)._with(self.fitted_.moments - self.fitted_.moments)

    def _with(self, moments: CommitteeMoments) -> Self:
        self._publish(self.fitted_.with_moments(moments))
        return self

    def _moments(self, X: Any, y: Any, sample_weight: Any) -> CommitteeMoments:
        """Of more rows under the layer as it is."""
        f = self.fitted_
        data = more_rows(self, X, y, sample_weight)
        return fold(MomentsPass(f.layers, f.targets, f.encoding, self.device), data.parts)


def _same_layer(a: Fitted, b: Fitted) -> bool:
    def arrays(f: Fitted) -> list[Any]:
        return [x for m in f.layers for x in (m.W, m.b, m.step, m.scaling.centre, m.scaling.scale)]

    return len(a.members) == len(b.members) and all(map(np.array_equal, arrays(a), arrays(b)))
