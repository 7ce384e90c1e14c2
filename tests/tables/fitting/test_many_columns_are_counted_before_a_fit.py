"""A fit whose matrices do not fit into memory is refused with what it would need."""

import numpy as np
import pytest

import onegrad as og
from onegrad.exceptions import InvalidInput


def test_more_inputs_than_memory(monkeypatch):
    X = np.random.default_rng(0).standard_normal((60, 200))
    monkeypatch.setattr("onegrad.tables.fitting.pipeline.free_bytes", lambda: 8 * 8 * 199**2)
    with pytest.raises(InvalidInput, match=r"columns: a fit needs about 0\.0 GB for 200 inputs"):
        og.OneStepRegressor(width=30, random_state=0).fit(X, X[:, 0])
    og.OneStepRegressor(width=30, random_state=0).fit(X[:, :199], X[:, 0])
