r"""A step of constant size, :math:`\eta = \Theta(1)`: Ba et al.'s Theorem 5."""

from __future__ import annotations

from collections.abc import Sequence

from onegrad.problem import Problem
from onegrad.theory.asymptotic.assumptions import assumption_warnings
from onegrad.theory.asymptotic.random_features import Pair, lower_errors
from onegrad.theory.asymptotic.scalars import Scalars
from onegrad.theory.prediction import Errors


def small_step_errors(problems: Sequence[Problem]) -> Errors:
    """Return the errors after one constant-size step: the untrained ones less the drops."""
    s = Scalars.of(problems)
    return lower_errors(s, small_step_drops(s), assumption_warnings("small-step", problems))


def small_step_drops(s: Scalars) -> Pair:
    r"""Return how much one constant-size step lowers the errors.

    .. math::
        D = c_{\star,1}^4 M_2 \frac{s^2 p}{1 + p\,Q},\quad
        \delta = -\frac{\partial_\lambda D}{M_1^2} = \frac{c_{\star,1}^4}{M_1^2}\Big[
            (-M_2')\frac{s^2 p}{1 + pQ} + M_2\frac{s^2(-p')}{(1 + pQ)^2}\Big]

    with :math:`s = c_1^2\eta`, :math:`p = \kappa M_2` and :math:`Q = s^2 b^2`, or
    :math:`s^2 b^2 - 2 s c_1^2` for the full residual (then part of :math:`\beta` is
    :math:`-c_1 W_0^\top a`, which the removed neuron direction also reads). The training drop is
    :math:`\lambda D`. As :math:`\eta \to \infty` both become the first stair.

    Holds for eta of order one, isotropic Gaussian inputs, n, d, N proportional.
    See Ba et al. 2022, Theorem 5; tests/theory/asymptotic/test_reference_values.py (task 6).
    """
    t = s.traces
    step = s.c1**2 * s.eta
    Q = step**2 * s.direction.b_squared - 2 * s.full * step * s.c1**2
    p = t.kappa * t.M2
    dp = t.kappa_prime * t.M2 + t.kappa * t.M2_prime
    linear = s.c_star[:, 1] ** 4 * step**2
    D = linear * t.M2 * p / (1 + p * Q)
    dD = linear * (t.M2_prime * p / (1 + p * Q) + t.M2 * dp / (1 + p * Q) ** 2)
    return Pair(s.lam * D, -dD / t.M1**2)
