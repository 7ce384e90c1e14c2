r"""The scalars that one step leaves behind, and what the theory covers.

The gradient of neuron i moves it by :math:`\gamma g_i X^\top[r\odot\sigma'(Xw_i)]/n_0`, where
:math:`\gamma = \eta/\sqrt N`, :math:`g = \sqrt N a` and r is the residual: the labels, or (full
residual) the labels minus the initial output :math:`f_0`.

.. math::
    b^2 = c_{\star1}^2 + c_1^2[\text{full}] + \phi_0 E r^2,\qquad \theta = c_{\star1}/b,\qquad
    \nu = E\sigma'^2 - c_1^2 - 4c_2^2

are the squared length of :math:`X^\top r/n_0`, the overlap of its direction v with the teacher's
:math:`\beta_\star`, and the energy of :math:`\sigma'` beyond its first two Hermite terms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.errors import OutOfScope
from onegrad.functions.hermite import expect
from onegrad.problem import Problem

LARGEST = 1e12  # of a mean square or a step: beyond it rounding takes over


@dataclass(frozen=True)
class Scalars:
    """Numbers that one step leaves behind.

    gamma : step of a neuron with unit readout.
    b, theta : length of X^T r/n_0, and the overlap of its direction v with the teacher's.
    c1, c2, c3, nu : Hermite coefficients of the activation; energy of its slope beyond them.
    own_noise : variance V of a neuron's random step along its own weight, per unit of gamma g.
    residual_noise, residual_energy : standard deviation of the residual given the teacher's label;
        its mean square.

    For the full residual only (else zero), with the initial readout row W_0^T a, of unit length:
    backward : minus its overlap with v.
    sideways : its overlap with the teacher's direction off v.
    own_output : how much of its own initial output a neuron reads back, per unit of g^2/sqrt(N).
    """

    gamma: float
    b: float
    theta: float
    c1: float
    c2: float
    c3: float
    nu: float
    own_noise: float
    residual_noise: float
    residual_energy: float
    backward: float
    sideways: float
    own_output: float


def scalars(problem: Problem) -> Scalars:
    """The numbers above for one problem."""
    sigma, sigma_star = problem.sigma, problem.sigma_star
    c1, c2, c3 = (float(c) for c in sigma.c[1:4])
    c1_star = float(sigma_star.c[1])
    full = problem.residual == "full"
    initial = sigma.second_moment if full else 0.0
    energy = sigma_star.second_moment + problem.noise**2 + initial
    b = float(np.sqrt(c1_star**2 + full * c1**2 + problem.phi_step * energy))
    theta = c1_star / b
    backward = full * c1 / b
    # E[z sigma sigma'], less what acts through X^T r/n_0: its terms c_1 c_1 and 6 c_1 c_3
    own = expect(lambda z: z * sigma(z) * sigma.derivative(z), sigma.kinks) if full else 0.0
    # z sigma'(z) beyond its constant 2 c_2 and its linear part c_1 + 6 c_3
    wobble = expect(lambda z: (z * sigma.derivative(z)) ** 2, sigma.kinks)
    wobble -= (2 * c2) ** 2 + (c1 + 6 * c3) ** 2
    return Scalars(
        gamma=problem.step / np.sqrt(problem.N),
        b=b,
        theta=theta,
        c1=c1,
        c2=c2,
        c3=c3,
        nu=max(sigma.slope_second_moment - c1**2 - 4 * c2**2, 0.0),
        own_noise=max(energy * wobble, 0.0) / problem.rows_of_step,
        residual_noise=float(np.sqrt(problem.noise**2 + initial)),
        residual_energy=energy,
        backward=backward,
        sideways=backward * theta / np.sqrt(1 - theta**2),
        own_output=own - full * (c1**2 + 6 * c1 * c3),
    )


def require_covered(problem: Problem) -> None:
    """Raise OutOfScope, in one line, for what the theory does not describe."""
    full_and_uncentred = problem.residual == "full" and abs(float(problem.sigma.c[0])) > 1e-9
    refusals = {
        f"steps={problem.steps}: the uniform theory covers one step": problem.steps != 1,
        f"inputs={problem.inputs!r}: the uniform theory covers 'gaussian'": (
            problem.inputs != "gaussian"
        ),
        "ridge_rows='same': the uniform theory covers ridge on fresh rows": (
            problem.ridge_rows != "fresh"
        ),
        "intercept=True: the uniform theory covers ridge without an intercept": problem.intercept,
        f"corrupted={problem.corrupted:g}: the uniform theory covers clean labels": (
            problem.corrupted != 0
        ),
        "residual='full' with an activation of nonzero mean: centre the activation": (
            full_and_uncentred
        ),
    }
    for message, refused in refusals.items():
        if refused:
            raise OutOfScope(message)
    sigma_star = problem.sigma_star  # raises OutOfScope for teachers of several indices
    largest = max(problem.sigma.second_moment, sigma_star.second_moment, problem.noise**2)
    if sigma_star.second_moment + problem.noise**2 == 0.0:
        raise OutOfScope("teacher: labels that are all zero have no learned direction")
    if largest > LARGEST or problem.step > LARGEST:
        raise OutOfScope(f"activation, teacher, noise and eta: sizes up to {LARGEST:g} are covered")
