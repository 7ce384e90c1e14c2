"""A part in the table is learned, weighed, reported, and predicts."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import onegrad as og
from onegrad.exceptions import InvalidInput
from onegrad.tables import load
from onegrad.tables.parts.learner import Learner, Trial
from onegrad.tables.parts.part import ArraySpec, Part, check_arrays
from onegrad.tables.parts.table import PART_KINDS, PartKind

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 3))
Y = X[:, 0] + 3.0 * np.sign(np.sin(7 * X[:, 1]))  # a wave that few neurons do not see


@dataclass(frozen=True)
class Waves(Part):
    """Square waves of one input, times sizes (1, K)."""

    sizes: np.ndarray
    column: int = 1

    def __call__(self, z, keys=None):
        x = z[:, self.column, None] * X[:, self.column].std() + X[:, self.column].mean()
        return np.sign(np.sin(7 * x)) * self.sizes

    def scaled(self, factor):
        return replace(self, sizes=factor * self.sizes)

    @property
    def products_per_row(self):
        return 20

    @property
    def facts(self):
        return {"column": self.column}

    @classmethod
    def specs(cls, facts):
        return {"sizes": ArraySpec("one outputs")}

    def arrays(self):
        return {"sizes": self.sizes}

    @classmethod
    def from_arrays(cls, arrays, facts, inputs):
        return cls(arrays["sizes"], int(facts["column"]))


@dataclass(frozen=True)
class WaveLearner(Learner):
    def trials(self, fit):
        waves = Waves(np.ones((1, fit.training_set.targets.outputs)))
        yield Trial(waves(fit.judged.held_out.z), waves, lambda: [waves])


def test_a_row_of_the_table_is_enough(monkeypatch, tmp_path):
    settings = {"width": 20, "rounds": 1, "random_state": 0, "corrections": "auto"}
    without = og.AlternatingRegressor(**settings).fit(X, Y)
    monkeypatch.setitem(PART_KINDS, "waves", PartKind(Waves, lambda size: WaveLearner()))
    model = og.AlternatingRegressor(**settings).fit(X, Y)
    assert [type(part) for part in model.fitted_.parts].count(Waves) == 1
    assert model.choice_["waves_weight"] > 0.3
    assert 1 - model.held_out_score_ < 0.5 * (1 - without.held_out_score_)
    assert model.feature_importances_[1] > without.feature_importances_[1]
    assert "waves" in str(model.report())
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X), model.predict(X))


def test_arrays_of_a_part_fit_together():
    specs = {"a": ArraySpec("rows inputs"), "b": ArraySpec("rows", np.float32)}
    a, b = np.ones((3, 2)), np.ones(3, np.float32)
    check_arrays(specs, {"a": a, "b": b}, {"inputs": 2})
    for wrong in ({"a": a[:2]}, {"a": a[:, :1]}, {"b": np.ones(3)}, {"a": np.full((3, 2), np.nan)}):
        with pytest.raises(InvalidInput, match="array"):
            check_arrays(specs, {"a": a, "b": b} | wrong, {"inputs": 2})
