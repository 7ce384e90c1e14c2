"""What one gradient step learns: theory, simulation, experiments, estimators."""

from __future__ import annotations

import importlib
from typing import Any

from onegrad.exceptions import AssumptionWarning, InvalidInput, NotConverged, OutOfScope
from onegrad.functions import Function, exponents, register
from onegrad.problem import Problem

__version__ = "0.2.0"

_LAZY = {
    "predict": "onegrad.theory",
    "Prediction": "onegrad.theory",
    "spectrum": "onegrad.theory",
    "Spectrum": "onegrad.theory",
    "spike_count": "onegrad.theory",
    "thresholds": "onegrad.theory",
    "simulate": "onegrad.networks",
    "Simulation": "onegrad.networks",
    "cost": "onegrad.networks",
    "OneStepRegressor": "onegrad.estimators",
    "OneStepClassifier": "onegrad.estimators",
    "OneStepFeatures": "onegrad.estimators",
    "AlternatingRegressor": "onegrad.estimators",
    "AlternatingClassifier": "onegrad.estimators",
}

__all__ = [
    "AssumptionWarning",
    "Function",
    "InvalidInput",
    "NotConverged",
    "OutOfScope",
    "Problem",
    "exponents",
    "register",
    *_LAZY,
]


def __getattr__(name: str) -> Any:
    """Load a room when one of its names is first used: importing onegrad stays light."""
    if name not in _LAZY:
        raise AttributeError(f"module 'onegrad' has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
