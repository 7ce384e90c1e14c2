"""Theory, simulation and estimators for networks trained with one gradient step.

Every name in `__all__` is promised to users; the rest of the package may change. Names of `_LAZY`
are loaded when they are first used: importing onegrad costs nothing, and using it NumPy and SciPy
only. Type checkers read the imports below; tests/test_public_api.py compares the two.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as that of typing, which takes a while to load

if TYPE_CHECKING:
    from onegrad.comparison import Comparison as Comparison
    from onegrad.comparison import compare as compare
    from onegrad.estimators import AlternatingClassifier as AlternatingClassifier
    from onegrad.estimators import AlternatingRegressor as AlternatingRegressor
    from onegrad.estimators import OneStepClassifier as OneStepClassifier
    from onegrad.estimators import OneStepFeatures as OneStepFeatures
    from onegrad.estimators import OneStepRegressor as OneStepRegressor
    from onegrad.exceptions import AssumptionWarning as AssumptionWarning
    from onegrad.exceptions import InvalidInput as InvalidInput
    from onegrad.exceptions import NotConverged as NotConverged
    from onegrad.exceptions import OutOfScope as OutOfScope
    from onegrad.functions import Function as Function
    from onegrad.functions import exponents as exponents
    from onegrad.functions import register as register
    from onegrad.networks import Simulation as Simulation
    from onegrad.networks import simulate as simulate
    from onegrad.networks.cost import cost as cost  # also the name of a module
    from onegrad.problem import Problem as Problem
    from onegrad.theory import Optimum as Optimum
    from onegrad.theory import Prediction as Prediction
    from onegrad.theory import Spectrum as Spectrum
    from onegrad.theory import optimum as optimum
    from onegrad.theory import predict as predict
    from onegrad.theory import spectrum as spectrum
    from onegrad.theory import spike_count as spike_count
    from onegrad.theory import thresholds as thresholds

__version__ = "0.3.0.dev0"

_LAZY = {
    "Comparison": "onegrad.comparison",
    "compare": "onegrad.comparison",
    "AlternatingClassifier": "onegrad.estimators",
    "AlternatingRegressor": "onegrad.estimators",
    "OneStepClassifier": "onegrad.estimators",
    "OneStepFeatures": "onegrad.estimators",
    "OneStepRegressor": "onegrad.estimators",
    "AssumptionWarning": "onegrad.exceptions",
    "InvalidInput": "onegrad.exceptions",
    "NotConverged": "onegrad.exceptions",
    "OutOfScope": "onegrad.exceptions",
    "Function": "onegrad.functions",
    "exponents": "onegrad.functions",
    "register": "onegrad.functions",
    "Simulation": "onegrad.networks",
    "cost": "onegrad.networks",
    "simulate": "onegrad.networks",
    "Problem": "onegrad.problem",
    "Optimum": "onegrad.theory",
    "Prediction": "onegrad.theory",
    "Spectrum": "onegrad.theory",
    "optimum": "onegrad.theory",
    "predict": "onegrad.theory",
    "spectrum": "onegrad.theory",
    "spike_count": "onegrad.theory",
    "thresholds": "onegrad.theory",
}

__all__ = [
    "AlternatingClassifier",
    "AlternatingRegressor",
    "AssumptionWarning",
    "Comparison",
    "Function",
    "InvalidInput",
    "NotConverged",
    "OneStepClassifier",
    "OneStepFeatures",
    "OneStepRegressor",
    "Optimum",
    "OutOfScope",
    "Prediction",
    "Problem",
    "Simulation",
    "Spectrum",
    "compare",
    "cost",
    "exponents",
    "optimum",
    "predict",
    "register",
    "simulate",
    "spectrum",
    "spike_count",
    "thresholds",
]

if not TYPE_CHECKING:  # a type checker must not believe that every attribute exists

    def __getattr__(name: str) -> object:
        """Load the room of a public name when the name is first used."""
        if name not in _LAZY:
            raise AttributeError(f"module 'onegrad' has no attribute {name!r}")
        value = getattr(importlib.import_module(_LAZY[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
