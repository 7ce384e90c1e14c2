"""scikit-learn estimators: feature learning in two passes over any amount of data."""

from onegrad.estimators.models import (
    AlternatingClassifier,
    AlternatingRegressor,
    OneStepClassifier,
    OneStepFeatures,
    OneStepRegressor,
)
from onegrad.estimators.saving import load, save

__all__ = [
    "AlternatingClassifier",
    "AlternatingRegressor",
    "OneStepClassifier",
    "OneStepFeatures",
    "OneStepRegressor",
    "load",
    "save",
]
