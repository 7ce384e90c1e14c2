r"""Errors of the untrained features, :math:`F_0 = \sigma(\tilde X W_0^\top)`."""

from __future__ import annotations

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
