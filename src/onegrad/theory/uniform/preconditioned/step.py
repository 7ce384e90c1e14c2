r"""Numbers and covariance of a preconditioned step.

The gradient is multiplied by :math:`C^{-1}`, :math:`C = X^\top X/n_0 + \epsilon`, and scaled to its
own length. With m and m' the normalised traces of :math:`C^{-1}` and :math:`C^{-2}`,
:math:`\varsigma = m/(1+\phi_0m) = 1-\epsilon m`, and c = E[r tau] the linear part of the residual,

.. math::
    C^{-1}h &= \varsigma c + \text{noise},\qquad
    b^2 = |c|^2(1-2\epsilon m+\epsilon^2m') + \phi_0(Er^2-|c|^2)(m-\epsilon m') \\
    \gamma &\to \gamma\,\Big(\frac{c_1^2|h|^2 + 4c_2^2\,\mathrm{tr}M^2/d + \nu\phi_0Er^2}
        {c_1^2b^2 + 4c_2^2\,\mathrm{tr}T/d + \nu\phi_0\,\mathrm{tr}C^{-1}SC^{-1}/d}\Big)^{1/2}.

A neuron's own initial weight is multiplied by :math:`\varsigma` where it acts on itself:
:math:`w_0^\top C^{-1}x_j = \varsigma\,w_0\cdot x_j` and noise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onegrad.problem import PRECONDITIONER_SHIFT, Problem
from onegrad.theory.uniform.covariance import StepCovariance
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.label_law import LabelLaw
from onegrad.theory.uniform.preconditioned.covariance import preconditioned_covariance
from onegrad.theory.uniform.preconditioned.row_pencil import inverse_traces


def preconditioned(
    problem: Problem, step: StepNumbers, labels: LabelLaw
) -> tuple[StepNumbers, StepCovariance]:
    """Return the numbers and the covariance of a preconditioned step.

    step : the numbers of the gradient itself.
    """
    phi, shift = problem.phi_step, PRECONDITIONER_SHIFT
    output = step.backward * step.b
    covariance = preconditioned_covariance(
        labels,
        step.residual_noise,
        phi,
        problem.rows_of_step,
        shift,
        squared=step.c2 == 0.0,
        output=output,
        constant=step.residual_mean,
    )
    m, m2 = inverse_traces(phi, shift)
    shrink = 1 - shift * m
    linear = (step.theta * step.b) ** 2 + output**2
    energy = (step.b**2 - linear) / phi
    noise = phi * (energy - linear)  # of h, beyond its linear part
    b2 = linear * (1 - 2 * shift * m + shift**2 * m2) + noise * (m - shift * m2)
    b = float(np.sqrt(b2))
    h_along_v = (linear * (1 - shift * shrink) + noise * shrink) / b  # h.C^-1 h / b
    theta = step.theta * step.b * shrink / b
    backward = output * shrink / b

    trace = covariance.trace
    mean_residual = labels.fit.step_mean + step.residual_mean
    M2 = phi * energy + mean_residual**2
    T = trace.weight @ (trace.mu**2 + trace.excess)
    gradient = step.c1**2 * step.b**2 + 4 * step.c2**2 * M2 + step.nu * phi * energy
    moved = step.c1**2 * b2 + 4 * step.c2**2 * T + step.nu * phi * (trace.weight @ trace.s)
    # a neuron's weight along h, of which only the part along v is known
    aside = (6 * step.c3) ** 2 * max(step.b**2 - h_along_v**2, 0.0) / problem.d
    numbers = replace(
        step,
        gamma=step.gamma * float(np.sqrt(gradient / moved)),
        b=b,
        theta=theta,
        c3=step.c3 * shrink * h_along_v / b,
        own_noise=shrink**2 * (step.own_noise + aside),
        backward=backward,
        sideways=backward * theta / float(np.sqrt(1 - theta**2)),
        # of sum_j d_j C^-1 x_j x_j^T/n_0 for the deviations d_j of |x_j|^2/d, by its trace
        shift=step.shift * m / (1 + phi * m) ** 2,
        own_output=step.own_output * shrink,
    )
    return numbers, covariance
