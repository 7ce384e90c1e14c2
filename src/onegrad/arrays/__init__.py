"""Arrays on NumPy and torch, BLAS without Python's lock, threads, standard errors."""

from typing import Any

import numpy as np

from onegrad.arrays.backend import backend, to_numpy
from onegrad.arrays.statistics import standard_error

Floats = np.ndarray[Any, np.dtype[np.float64]]

__all__ = ["Floats", "backend", "standard_error", "to_numpy"]
