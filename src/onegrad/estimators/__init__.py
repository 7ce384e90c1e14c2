"""scikit-learn estimators: feature learning in two passes over any amount of data."""

from onegrad.estimators.alternating import AlternatingClassifier, AlternatingRegressor
from onegrad.estimators.families import FAMILIES, Family, load
from onegrad.estimators.one_step import OneStepClassifier, OneStepFeatures, OneStepRegressor
from onegrad.estimators.saving import save

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
