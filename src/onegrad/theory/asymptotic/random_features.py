r"""Errors of the untrained features, and after a step of constant size (Ba et al.'s Theorem 5)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import AssumptionWarning
from onegrad.problem import Problem
from onegrad.theory.asymptotic.assumptions import assumption_warnings
from onegrad.theory.asymptotic.scalars import Scalars
from onegrad.theory.prediction import Errors


class Pair(NamedTuple):
    """Training objective and test error, or how much a step lowers them; one entry per problem."""

    train: Floats
    test: Floats


def random_feature_errors(problems: Sequence[Problem]) -> Errors:
    """Return the errors of the untrained features; any eta is ignored."""
    s = Scalars.of(problems)
    warnings = assumption_warnings("random-features", problems, trained=False)
    return with_squared_loss(s, untrained(s), warnings)


def untrained(s: Scalars) -> Pair:
    r"""Return the errors before any training.

    .. math::
        L_{tr}(F_0) &= \lambda [c_{\star,1}^2 M_2 + c_{\star,0}^2 M_0
            + (c_{\star,>1}^2 + \sigma_\varepsilon^2) M_1] \\
        L_{te}(F_0) &= [c_{\star,1}^2(-M_2') + c_{\star,0}^2(-M_0')
            + (c_{\star,>1}^2 + \sigma_\varepsilon^2)(-M_1')]/M_1^2

    :math:`M_0 = w M_1` belongs to the constant (zero when it is free; see Scalars.constant_weight),
    and :math:`c_{\star,0} = 0` for the default centred teacher.

    Holds for isotropic Gaussian inputs, n, d, N proportional; any eta is ignored.
    See Mei and Montanari 2022; Ba et al. 2022, R_0;
    tests/theory/asymptotic/test_reference_values.py (task 5).
    """
    t = s.traces
    w, dw = s.constant_weight
    constant, linear = s.c_star[:, 0] ** 2, s.c_star[:, 1] ** 2
    rest = s.c_star_squared - linear + s.noise_squared
    M0, dM0 = w * t.M1, dw * t.M1 + w * t.M1_prime
    train = s.lam * (linear * t.M2 + constant * M0 + rest * t.M1)
    test = -(linear * t.M2_prime + constant * dM0 + rest * t.M1_prime) / t.M1**2
    return Pair(train, test)


def with_squared_loss(s: Scalars, errors: Pair, warnings: tuple[AssumptionWarning, ...]) -> Errors:
    r"""Add the training loss without the penalty, :math:`(\lambda M_1)^2 L_{te}`.

    It is the generalised cross-validation identity, which i.i.d. rows obey in the limit, trained
    or not: finitely many spikes leave :math:`\mathrm{Tr}\,R` at :math:`M_1`.
    """
    return Errors(
        train=errors.train,
        test=errors.test,
        squared_loss=(s.lam * s.traces.M1) ** 2 * errors.test,
        residual=s.traces.residual,
        iterations=np.full(len(s.lam), s.traces.iterations),
        warnings=warnings,
    )


def lower_errors(s: Scalars, drops: Pair, warnings: tuple[AssumptionWarning, ...]) -> Errors:
    """Return the errors of the untrained features less the drops of a step."""
    start = untrained(s)
    return with_squared_loss(s, Pair(start.train - drops.train, start.test - drops.test), warnings)


def small_step_errors(problems: Sequence[Problem]) -> Errors:
    """Return the errors after one constant-size step: the untrained ones less the drops."""
    s = Scalars.of(problems)
    warnings = assumption_warnings("small-step", problems, theorem=True)
    return lower_errors(s, small_step_drops(s), warnings)


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
