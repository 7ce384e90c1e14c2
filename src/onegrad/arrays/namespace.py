"""Array namespaces, the few functions that NumPy and torch spell differently, standard errors."""

import sys
from typing import Any

import numpy as np
import scipy.special

Array = Any  # a numpy.ndarray or a torch.Tensor
Floats = np.ndarray[Any, np.dtype[np.float64]]


def is_torch(x: object) -> bool:
    """Return whether x is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def namespace(x: object) -> Any:
    """Return the module whose functions accept x: numpy or torch."""
    return sys.modules["torch"] if is_torch(x) else np


def erf(x: Array) -> Array:
    """Return the error function of x, which the array API does not name."""
    return sys.modules["torch"].special.erf(x) if is_torch(x) else scipy.special.erf(x)


def one_minus_square(x: Array) -> Array:
    """Return 1 - x^2, in one pass over a torch tensor."""
    if is_torch(x):
        return sys.modules["torch"].addcmul(x.new_ones(()), x, x, value=-1)
    return 1 - x * x


def to_numpy(x: Array) -> np.ndarray[Any, Any]:
    """Return x as a NumPy array in host memory."""
    return np.asarray(x.detach().cpu() if is_torch(x) else x)


def transpose(x: Array) -> Array:
    """Return x with its last two axes exchanged."""
    return x.swapaxes(-1, -2)


def standard_error(values: Any) -> Any:
    r"""Return the standard error :math:`s/\sqrt k` of the mean of k independent values.

    The values are along axis 0; it is NaN for a single one.
    """
    values = np.asarray(values, dtype=float)
    k = len(values)
    if k < 2:
        return np.full_like(values.mean(0), np.nan)[()]
    return values.std(0, ddof=1) / np.sqrt(k)


def normal_score(t: Any, freedom: Any) -> Any:
    """Return the normal quantile with the tail probability of Student's t, element by element.

    A few seeds count for less in this way; NaN without a degree of freedom.
    """
    t, freedom = np.asarray(t, dtype=float), np.asarray(freedom, dtype=float)
    with np.errstate(invalid="ignore"):
        tail = scipy.special.stdtr(np.where(freedom >= 1, freedom, np.nan), -np.abs(t))
    # ndtri(0) is infinite
    return np.copysign(-scipy.special.ndtri(np.maximum(tail, 1e-300)), t)[()]


def student_score(score: float, freedom: Any) -> Any:
    """Return the quantile of Student's t with the tail probability of a normal score >= 0.

    It is the inverse of `normal_score`; the score itself with infinite degrees of freedom, NaN
    without one.
    """
    freedom = np.asarray(freedom, dtype=float)
    finite = np.where((freedom >= 1) & np.isfinite(freedom), freedom, np.nan)
    quantile = -scipy.special.stdtrit(finite, scipy.special.ndtr(-score))
    return np.where(np.isposinf(freedom), score, quantile)[()]
