"""scikit-learn estimators: feature learning in two passes over any amount of data."""

from onegrad.estimators.families import FAMILIES, Family, load
from onegrad.estimators.fitting.first_layer.alternating import (
    AlternatingClassifier,
    AlternatingRegressor,
)
from onegrad.estimators.fitting.first_layer.one_step import (
    OneStepClassifier,
    OneStepFeatures,
    OneStepRegressor,
)
from onegrad.estimators.model.saving import save

__all__ = [
    "FAMILIES",
    "AlternatingClassifier",
    "AlternatingRegressor",
    "Family",
    "OneStepClassifier",
    "OneStepFeatures",
    "OneStepRegressor",
    "load",
    "save",
]
