r"""The numbers that describe what one gradient step does to the weights.

The gradient of neuron i moves it by :math:`\gamma g_i X^\top[r\odot\sigma'(Xw_i)]/n_0`, where
:math:`\gamma = \eta/\sqrt N`, :math:`g = \sqrt N a` and r is the residual: the labels, or (full
residual) the labels minus the initial output :math:`f_0`.

.. math::
    b^2 = |X^\top r/n_0|^2,\qquad \theta = c_{\star1}/b,\qquad
    \nu = E\sigma'^2 - c_1^2 - 4c_2^2

are the squared length of the learned direction v, its overlap with the teacher's
:math:`\beta_\star`, and the energy of :math:`\sigma'` beyond its first
two Hermite terms.
"""

from dataclasses import dataclass

import numpy as np

from onegrad.functions.hermite import expect
from onegrad.problem import Problem
from onegrad.theory.direction import mean_readout, output_variance
from onegrad.theory.uniform.laws.labels import FREE_OVERLAP, LabelLaw


@dataclass(frozen=True)
class StepNumbers:
    """Numbers that describe one gradient step."""

    gamma: float  # step of a neuron with unit readout
    b: float  # length of X^T r/n_0
    theta: float  # overlap of its direction v with the teacher's
    # Hermite coefficients of the activation
    c1: float
    c2: float
    c3: float
    nu: float  # energy of the activation's slope beyond c1, c2 and c3
    own_noise: float  # variance V of a neuron's random step along its own weight, for gamma g = 1
    residual_noise: float  # deviation of the residual less the teacher's label
    residual_mean: float  # and its mean
    # for a residual with the output only (else zero), with the readout row W_0^T a, of unit length
    backward: float  # minus the overlap of the readout row with v
    sideways: float  # its overlap with the teacher's direction off v
    # what every eigenvalue of M moves by, since f_0 has the part c_2 E[g] sqrt(N) (|x|^2/d - 1)
    shift: float
    # share of its own initial output that a neuron reads back, for g^2/sqrt(N) = 1
    own_output: float


def take_step(
    problem: Problem, constant: float = 0.0, labels: LabelLaw | None = None
) -> StepNumbers:
    """Return the numbers of a problem's gradient step.

    constant : constant of the initial output, see `output_constants`.
    labels : the law of its labels, where it is known already.
    """
    sigma, scale = problem.sigma, problem.output_scale
    c0, c1, c2, c3 = (float(c) for c in sigma.c[:4])
    b, theta, energy = _learned_direction(problem, labels or LabelLaw.of(problem), scale * constant)
    backward = scale * c1 / b if b else 0.0
    # E[z sigma sigma'], less what acts through X^T r/n_0: its terms c_1 c_1 and 6 c_1 c_3
    own = expect(lambda z: z * (sigma(z) - c0) * sigma.derivative(z), sigma.kinks) if scale else 0.0
    # z sigma'(z) beyond its constant 2 c_2 and its linear part c_1 + 6 c_3
    random_part = expect(lambda z: (z * sigma.derivative(z)) ** 2, sigma.kinks)
    random_part -= (2 * c2) ** 2 + (c1 + 6 * c3) ** 2
    return StepNumbers(
        gamma=problem.step / np.sqrt(problem.N),
        b=b,
        theta=theta,
        c1=c1,
        c2=c2,
        c3=c3,
        nu=max(sigma.slope_second_moment - c1**2 - 4 * c2**2, 0.0),
        own_noise=max(energy * random_part, 0.0) / problem.rows_of_step,
        residual_noise=float(np.sqrt(problem.noise**2 + scale**2 * output_variance(problem))),
        residual_mean=-scale * constant,
        backward=backward,
        sideways=backward * theta / np.sqrt(1 - theta**2),
        shift=-scale * 2 * c2 * mean_readout(problem) * np.sqrt(problem.N) / problem.d,
        own_output=scale * (own - c1**2 - 6 * c1 * c3),
    )


def _learned_direction(
    problem: Problem, labels: LabelLaw, constant: float
) -> tuple[float, float, float]:
    r"""Return b, the cosine theta of v with the step's direction among the indices, and E r^2.

    .. math:: b^2 = |E[r\tau]|^2 + \phi_0E_{free}r^2 \;(+\,c_1^2)

    where :math:`E_{free}r^2` is the mean square of r, less what a fit to the rows of the step
    leaves nothing of (`laws.labels`).

    constant : of the output, as it is in the residual.
    """
    fit, scale = labels.fit, problem.output_scale
    output = scale**2 * output_variance(problem) + constant**2 - 2 * fit.step_mean * constant
    linear = fit.step_linear
    # a single index keeps its sign
    signal = float(linear[0] if len(linear) == 1 else np.linalg.norm(linear))
    b_squared = signal**2 + (scale * problem.sigma.c[1]) ** 2
    b_squared += problem.phi_step * (fit.free_energy + output)
    b = float(np.sqrt(max(b_squared, 0.0)))
    theta = signal / b if b else FREE_OVERLAP * fit.least_squares
    return b, theta, fit.step_energy + output
