"""Array namespaces: the only file that knows torch exists."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import scipy.special

Array = Any  # a numpy.ndarray or a torch.Tensor


def is_torch(x: object) -> bool:
    """Whether x is a torch tensor; torch is never imported for the question."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def namespace(x: object) -> Any:
    """The module whose functions accept x: numpy or torch."""
    return sys.modules["torch"] if is_torch(x) else np


def erf(x: Array) -> Array:
    """The error function, which the array API does not name."""
    return sys.modules["torch"].special.erf(x) if is_torch(x) else scipy.special.erf(x)


def to_numpy(x: Array) -> np.ndarray[Any, Any]:
    """x as a NumPy array in host memory."""
    return np.asarray(x.detach().cpu() if is_torch(x) else x)
