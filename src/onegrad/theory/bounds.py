r"""Bounds: what kernels cannot learn, and what one maximal step can (Theorem 7 of Ba et al.)."""

import math
from typing import NamedTuple

import numpy as np
import scipy

from onegrad.exceptions import OutOfScope
from onegrad.functions import Function, FunctionSpec, MultiIndex, resolve
from onegrad.functions.averages import gaussian_averages
from onegrad.functions.hermite import gaussian_rule
from onegrad.problem.fields import check_number

MAX_SLOPE = 20.0  # of kappa in the search; beyond, a bounded activation is a sign
SLOPE_GRID_POINTS = 81


class Approximation(NamedTuple):
    """The smallest error tau of one averaged neuron, and the slope kappa that attains it."""

    tau: float
    kappa: float


def kernel_lower_bound(teacher: FunctionSpec) -> float:
    r"""Return the risk that every rotation-invariant kernel leaves when n is of the order of d.

    .. math:: \|P_{>1} f^*\|^2 = c_\star^2 - c_{\star,1}^2

    See Ba et al. 2022, eq. (3.3); tests/theory/asymptotic/test_reference_values.py (task 9).

    Examples
    --------
    >>> import onegrad as og
    >>> from onegrad.theory import kernel_lower_bound
    >>> round(kernel_lower_bound("H1 + H2/sqrt(2)"), 9)
    1.0
    """
    return resolve(teacher, "teacher").nonlinear_energy


def tau_star(activation: FunctionSpec, teacher: FunctionSpec) -> Approximation:
    r"""Return the error of the best neuron that one step of size :math:`\sqrt N` can make.

    .. math:: \tau^* = \inf_\kappa E[(\sigma^*(\xi_1) - E_{\xi_2}\sigma(\kappa\xi_1 + \xi_2))^2]

    with :math:`\kappa \in [-20, 20]`.
    See Ba et al. 2022, eq. (5.1); tests/theory/asymptotic/test_reference_values.py (task 9).

    Examples
    --------
    >>> import onegrad as og
    >>> from onegrad.theory import tau_star
    >>> round(tau_star("tanh", "tanh").kappa, 4)
    1.5883
    """
    sigma, target = _function(activation, "activation"), _function(teacher, "teacher")
    x, w = gaussian_rule(target.kinks)
    near = np.abs(x) < 9  # the rest weighs 1e-18
    x, w = x[near], w[near]
    y, one = target(x), np.ones(1)

    def error(kappa: float) -> float:
        return float(w @ (y - gaussian_averages(sigma, kappa * x, one, tol=1e-14).value) ** 2)

    grid = np.linspace(-MAX_SLOPE, MAX_SLOPE, SLOPE_GRID_POINTS)
    best = int(np.argmin([error(kappa) for kappa in grid]))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, SLOPE_GRID_POINTS - 1)]
    minimum = scipy.optimize.minimize_scalar(
        error, bounds=ends, method="bounded", options={"xatol": 1e-10}
    )
    return Approximation(float(minimum.fun), float(minimum.x))


def theorem7_bound(
    activation: FunctionSpec, teacher: FunctionSpec, ratio: float, C: float
) -> float:
    r"""Return the risk after one step of size :math:`\sqrt N`, up to an unknown constant C.

    .. math:: R_1 \le 10\,\tau^* + C\big(\sqrt{\tau^* d/n} + d/n\big)

    The bracket is printed as :math:`\sqrt{\tau^*}\sqrt{d/n + d/n}`, which would make the bound
    zero where :math:`\tau^* = 0`.

    Parameters
    ----------
    ratio : d/n.
    C : the constant; the theorem says that one exists.

    See Ba et al. 2022, Theorem 7 and Corollary 8; tests/theory/test_bounds.py.

    Examples
    --------
    >>> import onegrad as og
    >>> from onegrad.theory import theorem7_bound
    >>> theorem7_bound("tanh", "tanh", ratio=0.01, C=1.0) < 0.0274
    True
    """
    ratio, C = check_number("ratio", ratio, 0.0, above=True), check_number("C", C, 0.0, above=True)
    tau = tau_star(activation, teacher).tau
    return 10 * tau + C * (math.sqrt(tau * ratio) + ratio)


def _function(spec: FunctionSpec, argument: str) -> Function:
    function = resolve(spec, argument)
    if isinstance(function, MultiIndex):
        raise OutOfScope("single-neuron", argument, function.name, "functions of one index")
    return function
