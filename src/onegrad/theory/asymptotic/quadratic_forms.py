r"""Limits of :math:`v_1^\top R_0 v_2`, of which the drops of the errors consist.

:math:`R_0 = (F_0F_0^\top + \lambda n)^{-1}` is the untrained resolvent; the vectors are polynomials
of the learned and of the teacher's index and images of the readout.
"""

import math
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput
from onegrad.problem import Problem
from onegrad.theory.asymptotic.scalars import Scalars

DEFAULT_DEGREES = 4


@dataclass(frozen=True)
class QuadraticForms:
    r"""Limits of :math:`v_1^\top R_0v_2`, :math:`u = \tilde X\beta/|\beta|`, :math:`u_\star =
    \tilde X\beta_\star`.

    Parameters
    ----------
    learned : :math:`He_p(u)^\top R_0\,He_q(u)`, p, q = 0..degrees.
    mixed : :math:`He_p(u)^\top R_0\,He_q(u_\star)`.
    teacher : :math:`He_p(u_\star)^\top R_0\,He_q(u_\star)`.
    readout : :math:`(F_0a)^\top R_0\,F_0a`.
    squares : :math:`N(F_0a^{\circ2})^\top R_0\,F_0a^{\circ2}`.
    learned_readout : :math:`He_q(u)^\top R_0\,F_0a`, q = 0..degrees.
    """

    learned: Floats
    mixed: Floats
    teacher: Floats
    readout: float
    squares: float
    learned_readout: Floats


def quadratic_forms(problem: Problem, degrees: int = DEFAULT_DEGREES) -> QuadraticForms:
    r"""Return the limits of :math:`v_1^\top R_0v_2` for polynomials of the indices and the readout.

    .. math:: He_p(u)^\top R_0He_q(u_\star) \to \delta_{pq}\,q!\,\rho^q M_{(q)},\qquad
        M_{(0)} = wM_1,\quad M_{(1)} = M_2,\quad M_{(q)} = M_1

        (F_0a)^\top R_0F_0a \to 1-\kappa,\qquad
        N(F_0a^{\circ2})^\top R_0F_0a^{\circ2} \to (1 - w_\star\kappa) + 2(1-\kappa),\qquad
        w_\star = \frac1{1 + 2c_2^2\kappa M_1/\psi}

    with :math:`\rho = 1` between polynomials of one index. :math:`He_1(u)^\top R_0F_0a` is
    :math:`-\kappa c_1^2M_2/b` for the full residual, where the learned direction contains
    :math:`-c_1W_0^\top a`; all other forms between an index and the readout vanish. The constant
    has the weight w of `Scalars.constant_weight`; :math:`w_\star` is that of the vector of ones
    over neurons, which all read :math:`|x|^2`.

    Holds for isotropic Gaussian inputs, a centred activation, Gaussian readouts, and n, d, N
    proportional.
    See Moniri et al. 2024, proofs of Theorems 4.3 to 4.5;
    tests/theory/asymptotic/test_quadratic_forms_match_sampled_matrices.py.

    Examples
    --------
    >>> import onegrad as og
    >>> from onegrad.theory import quadratic_forms
    >>> forms = quadratic_forms(og.Problem(n=1000, d=500, N=667, ridge=0.1))
    >>> forms.teacher.shape, bool(forms.mixed[1, 1] < forms.teacher[1, 1])
    ((5, 5), True)
    """
    if isinstance(degrees, bool) or not isinstance(degrees, int) or degrees < 1:
        raise InvalidInput("degrees", degrees, "a whole number >= 1")
    if problem.readout != "gaussian":
        raise InvalidInput("readout", problem.readout, "gaussian for the forms of the readout")
    s = Scalars.of([problem])
    t = s.traces
    M1, M2, kappa, h = (float(x[0]) for x in (t.M1, t.M2, t.kappa, t.h))
    weight, rho = float(s.constant_weight[0][0]), float(s.direction.rho[0])
    traces = np.array([weight * M1, M2, *[M1] * (degrees - 1)])
    norms = np.array([math.factorial(q) for q in range(degrees + 1)]) * traces
    ones = 1 / (1 + 2 * float(s.c[0, 2]) ** 2 * h / problem.psi)
    learned_readout = np.zeros(degrees + 1)
    if problem.residual == "full":
        b = math.sqrt(float(s.direction.b_squared[0]))
        learned_readout[1] = -kappa * float(s.c1[0]) ** 2 * M2 / b
    return QuadraticForms(
        learned=np.diag(norms),
        mixed=np.diag(norms * rho ** np.arange(degrees + 1)),
        teacher=np.diag(norms),
        readout=1 - kappa,
        squares=(1 - ones * kappa) + 2 * (1 - kappa),
        learned_readout=learned_readout,
    )
