r"""One gradient step on inputs with a covariance, in a finite space that contains all that matters.

With :math:`x = \Sigma^{1/2}\xi` and weights :math:`\tilde w = \Sigma^{1/2}w`, inputs are isotropic,
initial weights have the covariance :math:`\Sigma/d`, and the step is multiplied by
:math:`\Sigma`. Inside a group of equal eigenvalues only four directions are singled out: that of
the teacher, of the readout row :math:`\Sigma^{1/2}W_0^\top a`, of the noise n of the step, and of
the noise of :math:`M\Sigma v`. So every vector has 4R coordinates, and :math:`\Sigma` is diagonal:

.. math::
    g_0 &= \tfrac1{n_0}\Xi^\top r = T\,E[r\tau] + n, \qquad h = \Sigma g_0 = bv, \qquad
    T = (\hat\beta, \hat u) \\
    \bar M &= E[M\mid n] = Er\,I + T(E[r\tau\tau^\top] - Er)T^\top
        + \mathrm{sym}\,\frac{TE[r^2\tau]n^\top}{Er^2} + \frac{Er^3}{(Er^2)^2}nn^\top

with :math:`\tau = T^\top\xi`; S is the same with one more power of r. The weights of a neuron have
the covariance :math:`K_u/d`,

.. math::
    K_u = \Sigma(1 + M_u\Sigma)^2 + \gamma^2g^2\nu\phi_0\,\Sigma\bar S\Sigma, \qquad
    M_u = \epsilon + \epsilon_2M, \quad \epsilon_2 = d_2\gamma g.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from onegrad.arrays import Floats
from onegrad.problem import Problem
from onegrad.theory.direction import mean_readout
from onegrad.theory.uniform.input_covariance.scaled_functions import (
    ActivationNumbers,
    activation_numbers,
    stretched,
)
from onegrad.theory.uniform.input_covariance.spectrum import InputSpectrum
from onegrad.theory.uniform.input_covariance.teacher_draws import TeacherDraw
from onegrad.theory.uniform.label_law import LabelLaw
from onegrad.theory.uniform.residuals import ResidualLaw, residual_law

SLOTS = 4  # directions in each group: teacher, readout row, noise of the step, noise of M Sigma v
TEACHER, ROW, NOISE, MOVED = range(SLOTS)
KERNELS = 7  # matrices that K_u is a combination of


@dataclass(frozen=True)
class ExplicitStep:
    """One gradient step for one draw of the teacher and one constant of the initial output.

    sigma : eigenvalues of Sigma in the explicit space, (D,).
    beta, row : unit vectors of the teacher and, orthogonal to it, of the readout row, (D,).
    v, b, theta : learned direction, length of h and overlap v.beta.
    initial_along_v : v^T Sigma v.
    labels, residual_noise, residual_mean : law of the labels and the rest of the residual.
    output : linear part of the initial output in the residual, c_1 tau, or zero.
    shift : what M moves by, times Sigma, for the full residual of equal readouts.
    mean, energy : E r, E r^2.
    kernels : the matrices of K_u, (KERNELS, D, D).
    """

    problem: Problem
    spectrum: InputSpectrum
    activation: ActivationNumbers
    gamma: float
    sigma: Floats
    beta: Floats
    row: Floats
    v: Floats
    b: float
    theta: float
    initial_along_v: float
    labels: LabelLaw
    residual_noise: float
    residual_mean: float
    output: float
    shift: float
    mean: float
    energy: float
    kernels: Floats

    @property
    def row_along_v(self) -> float:
        """Return the part along v of the readout row that the residual contains."""
        full = self.problem.residual == "full"
        return full * self.activation.tau * float(self.v @ self.row)

    def coefficients(self, g: Floats, own: Floats) -> Floats:
        """Return the coefficients of the kernels in K_u, (KERNELS, U).

        own : epsilon, the step of a neuron along its own initial weight.
        """
        epsilon, noise = self.epsilon(g), self.noise_of_step(g)
        return np.array(
            [np.ones_like(g), 2 * own, own**2, 2 * epsilon, own * epsilon, epsilon**2, noise]
        )

    def epsilon(self, g: Floats) -> Floats:
        r"""Return :math:`\epsilon_2 = d_2\gamma g`."""
        return self.activation.d2 * self.gamma * g

    def noise_of_step(self, g: Floats) -> Floats:
        r"""Return :math:`\gamma^2g^2\nu\phi_0`."""
        return (self.gamma * g) ** 2 * self.activation.nu * self.problem.phi_step


def take_explicit_step(
    problem: Problem, spectrum: InputSpectrum, draw: TeacherDraw, constant: float
) -> ExplicitStep:
    """Return the step for one draw of the teacher.

    constant : constant of the initial output.
    """
    s, m, d, n0 = spectrum.values, spectrum.counts, problem.d, problem.rows_of_step
    full, phi = problem.residual == "full", problem.phi_step
    t1, t2 = spectrum.moment(1), spectrum.moment(2)
    activation = activation_numbers(problem.sigma, math.sqrt(t1))
    q = float(s @ draw.shares)
    labels = replace(LabelLaw.of(problem), teacher=stretched(problem.sigma_star, math.sqrt(q)))
    # equal readouts add up d_2/2 (|x|^2 - tr Sigma)/d
    shared = activation.d2**2 / 2 * mean_readout(problem) ** 2 * problem.N / d * t2
    noise = math.sqrt(problem.noise**2 + full * (activation.variance + shared))
    output = full * activation.c1 * activation.tau
    law = residual_law(labels, noise, n0, output, -full * constant)
    energy = float(law.p @ law.r**2)

    sigma = np.tile(s, SLOTS)
    beta = _in_slot(TEACHER, np.sqrt(s * draw.shares / q))
    row = _in_slot(ROW, np.sqrt(s * m / (d * t1)))
    row = row - beta * (beta @ row)
    row /= np.linalg.norm(row)
    T = np.column_stack([beta, row])[:, : len(law.tau)]
    # a single direction has no room for two orthogonal vectors: its noise lies along the teacher
    size = math.sqrt(energy / n0)
    n = _in_slot(NOISE, size * np.where(spectrum.single, 0.0, np.sqrt(m)))
    n = n + _in_slot(TEACHER, size * draw.noise_signs)
    n = n - T @ (T.T @ n)
    c = law.tau @ (law.p * law.r)
    variance = float(law.p @ (law.r**2 * law.tau_tau[0, 0])) - c[0] ** 2
    c[0] += draw.fluctuation * math.sqrt(max(variance, 0.0) / n0)
    h = sigma * (T @ c + n)
    b = float(np.linalg.norm(h))
    v = h / b

    shift = -full * activation.d2 * mean_readout(problem) * math.sqrt(problem.N) / d
    M = _given_noise(law, law.r, T, n) + shift * np.diag(sigma)
    S = _given_noise(law, law.r**2, T, n)
    if activation.d2:
        M = M + _noise_of_moved_v(law, T, n, sigma * v, S, spectrum, phi)
    return ExplicitStep(
        problem,
        spectrum,
        activation,
        problem.step / math.sqrt(problem.N),
        sigma,
        beta,
        row,
        v,
        b,
        theta=float(v @ beta),
        initial_along_v=float(v @ (sigma * v)),
        labels=labels,
        residual_noise=noise,
        residual_mean=-full * constant,
        output=output,
        shift=shift,
        mean=float(law.p @ law.r),
        energy=energy,
        kernels=_kernels(sigma, M, S),
    )


def _in_slot(slot: int, x: Floats) -> Floats:
    """Return the vector with these coordinates, one per group, in one slot."""
    vector = np.zeros((SLOTS, len(x)))
    vector[slot] = x
    return vector.ravel()


def _given_noise(law: ResidualLaw, w: Floats, T: Floats, n: Floats) -> Floats:
    """Return E[w xi xi^T | n] for a function w of the residual, (D, D)."""
    p, r = law.p, law.r
    energy = float(p @ r**2)
    plain = float(p @ w)
    along = law.tau_tau @ (p * w) - plain * np.eye(len(law.tau))
    cross = np.outer(T @ (law.tau @ (p * w * r)), n) / energy
    matrix = T @ along @ T.T + cross + cross.T
    return plain * np.eye(len(n)) + matrix + float(p @ (w * r * r)) / energy**2 * np.outer(n, n)


def _noise_of_moved_v(
    law: ResidualLaw,
    T: Floats,
    n: Floats,
    w: Floats,
    S: Floats,
    spectrum: InputSpectrum,
    phi: float,
) -> Floats:
    r"""Return what the noise of M adds along :math:`w = \Sigma v`.

    .. math:: (yw^\top + wy^\top)/|w|^2

    y has the energies :math:`\phi_0w^\top Sw\,m_r/d` less those along n, which are in the mean.
    """
    p, r, m = law.p, law.r, spectrum.counts
    energy = float(p @ r**2)
    along_n = (law.tau @ (p * r * r)) @ (T.T @ w) / energy
    along_n += float(p @ r**3) / energy**2 * (n @ w)
    in_noise = n.reshape(SLOTS, -1)[NOISE]
    squares = m / m.sum() * phi * float(w @ S @ w) - along_n**2 * in_noise**2
    y = _in_slot(MOVED, np.sqrt(np.maximum(np.where(spectrum.single, 0.0, squares), 0.0)))
    outer = np.outer(y, w)
    return (outer + outer.T) / float(w @ w)


def _kernels(sigma: Floats, M: Floats, S: Floats) -> Floats:
    """Return the matrices that the weights' covariance is a combination of."""
    SM = sigma[:, None] * M
    SMS = SM * sigma
    return np.array(
        [
            np.diag(sigma),
            np.diag(sigma**2),
            np.diag(sigma**3),
            SMS,
            SMS * sigma + sigma[:, None] * SMS,
            SM @ SMS,
            sigma[:, None] * S * sigma,
        ]
    )
