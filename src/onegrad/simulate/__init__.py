"""Real networks: sampling, one gradient step, ridge, errors, spectra.

`onegrad.simulate` is a package and, called, its main function: `og.simulate(problem, seeds=20)`.
"""

from __future__ import annotations

import inspect
import sys
import types
from typing import Any

from onegrad.simulate.cell import MODELS, Cell, cell, cells
from onegrad.simulate.simulation import Measured, Provenance, Simulation
from onegrad.simulate.simulation import simulate as _simulate
from onegrad.simulate.spectrum import MeasuredSpectrum, spectrum

__all__ = [
    "MODELS",
    "Cell",
    "Measured",
    "MeasuredSpectrum",
    "Provenance",
    "Simulation",
    "cell",
    "cells",
    "simulate",
    "spectrum",
]


class _Callable(types.ModuleType):
    """A module that runs `simulate` when called: og.simulate(...) and og.simulate.spectrum(...)."""

    def __call__(self, *args: Any, **kwargs: Any) -> Simulation:
        return _simulate(*args, **kwargs)


_signature = inspect.signature(_simulate)
_self = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
_Callable.__call__.__doc__ = _simulate.__doc__
_Callable.__call__.__signature__ = _signature.replace(  # type: ignore[attr-defined]
    parameters=[_self, *_signature.parameters.values()]
)
simulate = sys.modules[__name__]
simulate.__class__ = _Callable
