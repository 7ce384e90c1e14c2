"""Real inputs: rows of a data set in coordinates in which they look like the theory's."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput

BUNDLED = {"digits": "load_digits", "breast-cancer": "load_breast_cancer", "wine": "load_wine"}


def real_inputs(data: str, d: int, whiten: bool) -> Floats:
    """Return the first d principal components of a data set, of mean 0 and mean variance 1.

    Parameters
    ----------
    data : a set that comes with scikit-learn, or an .npz file with an array X.
    whiten : give every component the variance 1.
    """
    X = _rows(data)
    X = X - X.mean(0)
    deviation = X.std(0)
    X = X[:, deviation > 0] / deviation[deviation > 0]
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    rank = int((s > 1e-6 * s[0]).sum())
    if d > rank:
        raise InvalidInput("d", d, f"at most {rank}, the number of components of {data:.60}")
    scores = U[:, :d] if whiten else U[:, :d] * s[:d]
    return np.asarray(scores / np.sqrt((scores**2).mean()))


def _rows(data: str) -> Floats:
    if data in BUNDLED:
        import sklearn.datasets

        return np.asarray(getattr(sklearn.datasets, BUNDLED[data])().data, dtype=float)
    try:
        with np.load(Path(data), allow_pickle=False) as file:
            return np.asarray(file["X"], dtype=float)
    except (OSError, KeyError, ValueError) as error:
        allowed = f"{', '.join(BUNDLED)} or an .npz file with an array X ({error})"
        raise InvalidInput("data", data, allowed) from None


def digits() -> tuple[Floats, Floats]:
    """Return images of digits, pixels of mean variance one, and labels: 1 if the digit is >= 5."""
    import sklearn.datasets

    images = sklearn.datasets.load_digits()
    X = np.asarray(images.data, dtype=float)
    X = (X - X.mean()) / X.std()
    return X, np.where(images.target >= 5, 1.0, -1.0)
