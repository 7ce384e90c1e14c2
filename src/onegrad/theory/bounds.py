r"""What kernels cannot do and one maximal step can: :math:`\tau^*`, Theorem 7 of Ba et al."""

from __future__ import annotations

from onegrad.activations import Function

LARGEST_SLOPE = 50.0  # kappa is searched in [-50, 50]


def kernel_lower_bound(teacher: Function) -> float:
    r"""Risk below which no rotation-invariant kernel gets with n of the order of d.

    .. math:: \|P_{>1} f^*\|^2 = c_\star^2 - c_{\star,1}^2

    See Ba et al. 2022, eq. (3.3); tests/theory/test_reference_values.py (task 9).
    """
    return teacher.nonlinear_energy
