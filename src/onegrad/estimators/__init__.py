"""scikit-learn estimators: feature learning in two passes over any amount of data."""

from onegrad.estimators.families import FAMILIES, Family, load
from onegrad.estimators.model.files import save
from onegrad.estimators.sklearn_api.alternating_estimators import (
    AlternatingClassifier,
    AlternatingRegressor,
)
from onegrad.estimators.sklearn_api.one_step_estimators import (
    OneStepClassifier,
    OneStepFeatures,
    OneStepRegressor,
)

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
