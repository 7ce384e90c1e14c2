"""Means over replicates, brought to where theory expects what moves them most."""

import numpy as np


def at_expected(values, realised, expected):
    """Mean of `values` where each realised quantity is as expected, and its standard error.

    By least squares in realised - expected, a column a quantity: the standard error is that of
    what they leave unexplained.
    """
    x = np.reshape(realised, (len(values), -1)) - np.atleast_1d(expected)
    A = np.column_stack([np.ones(len(values)), x])
    coefficients, *_ = np.linalg.lstsq(A, values, rcond=None)
    residual = values - A @ coefficients
    variance = residual @ residual / (len(A) - A.shape[1])
    return coefficients[0], np.sqrt(variance * np.linalg.inv(A.T @ A)[0, 0])
