r"""One gradient step on inputs with a covariance, in a finite space that contains all that matters.

With :math:`x = \Sigma^{1/2}\xi` and weights :math:`\tilde w = \Sigma^{1/2}w`, inputs are isotropic,
initial weights have the covariance :math:`\Sigma/d`, and the step is multiplied by
:math:`\Sigma`. Inside a group of equal eigenvalues only four directions are singled out: that of
the teacher, of the readout row :math:`\Sigma^{1/2}W_0^\top a`, of the noise n of the step, and of
the noise of :math:`M\Sigma v`; a fifth where inputs have a mean m. So every vector has 4R or 5R
coordinates, and :math:`\Sigma` is diagonal:

.. math::
    g_0 &= \tfrac1{n_0}\Xi^\top r = T\,E[r\tau] + n, \qquad T = (\hat\beta, \hat u), \qquad
    h = \Sigma g_0 + Er\,\Sigma^{1/2}m = bv \\
    \bar M &= E[M\mid n] = Er\,I + T(E[r\tau\tau^\top] - Er)T^\top
        + \mathrm{sym}\,\frac{TE[r^2\tau]n^\top}{Er^2} + \frac{Er^3}{(Er^2)^2}nn^\top

with :math:`\tau = T^\top\xi`; S is the same with one more power of r. The weights of a neuron have
the covariance :math:`K_u/d`,

.. math::
    K_u = \Sigma(1 + M_u\Sigma)^2 + \gamma^2g^2\nu\phi_0\,\Sigma\bar S\Sigma, \qquad
    M_u = \epsilon + \epsilon_2M, \quad \epsilon_2 = d_2\gamma g.

A neuron's input has the deviation :math:`\tau = (\mathrm{tr}\,\Sigma/d)^{1/2}`, the teacher's
index :math:`\sqrt q`, :math:`q = \beta^\top\Sigma\beta`: the theory's standard normal is stretched.
"""

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass, field, replace
from functools import lru_cache

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.function import Function
from onegrad.functions.hermite import expect, gauss_hermite
from onegrad.problem import Problem
from onegrad.theory.direction import mean_readout
from onegrad.theory.uniform.laws.inputs import InputSpectrum, TeacherDraw, stretched
from onegrad.theory.uniform.laws.labels import LabelLaw
from onegrad.theory.uniform.residuals import ResidualLaw, residual_law

# directions in each group: of the teacher, the readout row, the noise of the step, the noise of
# M Sigma v and, where there is one, the inputs' mean
TEACHER, ROW, NOISE, MOVED, MEAN = range(5)
KERNELS = 7  # matrices that K_u is a combination of
BIAS_NODES = 3
MIN_EVEN_PART = 1e-9  # E sigma'' below it is rounding


@dataclass(frozen=True)
class ActivationNumbers:
    r"""Averages of the activation and its slope at :math:`b + \tau z`, z standard normal."""

    tau: float
    bias: float  # b, the input of a neuron at the mean of the inputs
    c0: float  # E sigma
    c1: float  # E sigma'
    d2: float  # E sigma''
    d3: float  # E sigma'''
    nu: float  # energy of sigma' beyond its linear part
    variance: float  # of sigma
    own_noise: float  # variance of z sigma' beyond its linear part, over tau^2
    # share of its own initial output that a neuron reads back, for g^2/sqrt(N) = 1
    own_output: float


@lru_cache(maxsize=256)
def activation_numbers(sigma: Function, tau: float, bias: float = 0.0) -> ActivationNumbers:
    """Return the averages of an activation."""
    f = stretched(sigma, tau, bias)  # f' = tau sigma'

    def mean(g: Callable[[Floats], Floats]) -> float:
        return float(expect(g, f.kinks))

    def slope(z: Floats) -> Floats:
        return f.derivative(z) / tau

    c0, c1 = mean(f), mean(slope)
    d2, d3 = mean(lambda z: z * slope(z)) / tau, mean(lambda z: (z * z - 1) * slope(z)) / tau**2
    d2 = d2 if abs(d2) >= MIN_EVEN_PART else 0.0
    linear = c1 + d3 * tau**2
    own_noise = mean(lambda z: (z * slope(z)) ** 2) - (d2 * tau) ** 2 - linear**2
    own_output = mean(lambda z: z * (f(z) - c0) * slope(z)) / tau - c1**2 - c1 * d3
    return ActivationNumbers(
        tau,
        bias,
        c0,
        c1,
        d2,
        d3,
        nu=max(mean(lambda z: slope(z) ** 2) - c1**2 - (d2 * tau) ** 2, 0.0),
        variance=mean(lambda z: f(z) ** 2) - c0**2,
        own_noise=max(own_noise, 0.0) / tau**2,
        own_output=own_output,
    )


@dataclass(frozen=True)
class ExplicitStep:
    """One gradient step for one draw of the teacher and one constant of the initial output."""

    problem: Problem
    spectrum: InputSpectrum
    activation: ActivationNumbers
    # numbers of the activation at each bias w_0.m of a neuron
    activations: tuple[ActivationNumbers, ...]
    bias_weights: Floats  # probabilities of these
    moved_bias: float  # m.h, how far the step moves a bias for gamma g c_1 = 1
    gamma: float
    sigma: Floats  # (D,) eigenvalues of Sigma in the explicit space
    beta: Floats  # (D,) unit vector of the teacher
    row: Floats  # (D,) readout row, of length near tau
    v: Floats  # (D,) learned direction
    b: float  # length of h
    theta: float  # overlap v.beta
    initial_along_v: float  # v^T Sigma v
    labels: LabelLaw
    label_energy: float  # the teacher's mean square
    residual_noise: float  # deviation of the rest of the residual
    residual_mean: float  # and its mean
    output: float  # linear part of the initial output in the residual, c_1 |row|, or zero
    shift: float  # what M moves by, times Sigma, for the full residual of equal readouts
    mean: float  # E r
    energy: float  # E r^2 |x|^2/tr Sigma
    kernels: Floats  # (KERNELS, D, D) the matrices of K_u

    @property
    def row_along_v(self) -> float:
        """Return the part along v of the readout row that the residual contains."""
        full = self.problem.residual == "full"
        return full * float(self.v @ self.row)

    def coefficients(self, epsilon: Floats, noise: Floats, own: Floats) -> Floats:
        """Return the coefficients of the kernels in K_u, (KERNELS, U), of `CorrelatedNeurons`."""
        one = np.ones_like(own)
        return np.array([one, 2 * own, own**2, 2 * epsilon, own * epsilon, epsilon**2, noise])


def take_explicit_step(
    problem: Problem, spectrum: InputSpectrum, draw: TeacherDraw, constant: float
) -> ExplicitStep:
    """Return the step for one draw of the teacher and one constant of the initial output."""
    s, m, d, n0 = spectrum.values, spectrum.counts, problem.d, problem.rows_of_step
    full, phi = problem.residual == "full", problem.phi_step
    t2 = spectrum.moment(2)
    activations, bias_weights = _activations(problem, spectrum)
    activation = _averaged(activations, bias_weights)
    q = float(s @ draw.shares)
    offset = draw.offset * math.sqrt(spectrum.mean_square / d)
    scales, scale_weights = spectrum.scales
    teachers = [stretched(problem.sigma_star, math.sqrt(q * z), offset) for z in scales]
    label_energy = float(scale_weights @ [f.second_moment for f in teachers])
    teacher = stretched(problem.sigma_star, math.sqrt(q), offset)
    labels = replace(LabelLaw.of(problem), teacher=teacher)
    # equal readouts add up d_2/2 (|x|^2 - tr Sigma)/d
    shared = activation.d2**2 / 2 * mean_readout(problem) ** 2 * problem.N / d * t2
    noise = math.sqrt(problem.noise**2 + full * (activation.variance + shared))
    slots = 4 if spectrum.mean is None else 5

    def in_slot(slot: int, x: Floats) -> Floats:
        """Return the vector with these coordinates, one per group, in one slot."""
        vector = np.zeros((slots, len(x)))
        vector[slot] = x
        return vector.ravel()

    sigma = np.tile(s, slots)
    beta = in_slot(TEACHER, np.sqrt(s * draw.shares / q))

    def random_vector(slot: int, sizes: Floats, along_single: Floats) -> Floats:
        """Return a vector off the teacher's but for single directions, which have no room."""
        off = in_slot(slot, np.where(spectrum.single, 0.0, sizes))
        return off + in_slot(TEACHER, np.where(spectrum.single, sizes * along_single, 0.0))

    row = random_vector(ROW, np.sqrt(s * m / d), draw.row)
    along_teacher = float(beta @ row)
    off_teacher = row - along_teacher * beta
    size = float(np.linalg.norm(off_teacher))
    output = full * activation.c1 * size
    laws = [
        residual_law(replace(labels, teacher=f), noise, n0, output, -full * constant)
        for f in teachers
    ]
    law = _scaled_law(laws, scales, scale_weights)
    energy = float(law.p @ (law.r**2 * law.scale))
    T = np.column_stack([beta, off_teacher / size])[:, : len(law.tau)]
    n = random_vector(NOISE, np.sqrt(energy / n0 * m), draw.noise)
    n = n - T @ (T.T @ n)
    c = law.tau @ (law.p * law.r)
    variance = float(law.p @ (law.r**2 * law.tau_tau[0, 0])) - c[0] ** 2
    c[0] += draw.fluctuation * math.sqrt(max(variance, 0.0) / n0)
    c[0] -= full * activation.c1 * along_teacher
    g0, mean = T @ c + n, float(law.p @ law.r)
    h, moved_bias = sigma * g0, 0.0
    if spectrum.mean is not None:
        along_mean = in_slot(MEAN, np.sqrt(s * spectrum.mean))  # Sigma^(1/2) m
        h = h + mean * along_mean
        moved_bias = mean * spectrum.mean_square + float(along_mean @ g0)
    b = float(np.linalg.norm(h))
    v = h / b

    shift = -full * activation.d2 * mean_readout(problem) * math.sqrt(problem.N) / d
    M = _given_noise(law, law.r, T, n) + shift * np.diag(sigma)
    # the squares of inputs that all neurons share make rows with a large one weigh more
    S = _given_noise(law, law.r**2, T, n) + 2 * shift**2 * np.diag(sigma**2)
    if any(a.d2 for a in activations):
        squares = _noise_of_moved_v(law, T, n, sigma * v, S, spectrum, phi)
        outer = np.outer(in_slot(MOVED, np.sqrt(squares)), sigma * v)
        M = M + (outer + outer.T) / float((sigma * v) @ (sigma * v))
    return ExplicitStep(
        problem,
        spectrum,
        activation,
        activations,
        bias_weights,
        moved_bias,
        problem.step / math.sqrt(problem.N),
        sigma,
        beta,
        row,
        v,
        b,
        theta=float(v @ beta),
        initial_along_v=float(v @ (sigma * v)),
        labels=labels,
        label_energy=label_energy,
        residual_noise=noise,
        residual_mean=-full * constant,
        output=output,
        shift=shift,
        mean=mean,
        energy=energy,
        kernels=_kernels(sigma, M, S),
    )


def _activations(
    problem: Problem, spectrum: InputSpectrum
) -> tuple[tuple[ActivationNumbers, ...], Floats]:
    """Return the activation's numbers at nodes of a neuron's bias w_0.m, and their weights."""
    tau, deviation = math.sqrt(spectrum.moment(1)), math.sqrt(spectrum.mean_square / problem.d)
    x, weights = gauss_hermite(BIAS_NODES) if deviation else (np.zeros(1), np.ones(1))
    return tuple(activation_numbers(problem.sigma, tau, deviation * z) for z in x), weights


def mean_activation(problem: Problem, spectrum: InputSpectrum) -> ActivationNumbers:
    """Return the numbers of a problem's activation, averaged over the biases of its neurons."""
    return _averaged(*_activations(problem, spectrum))


def _averaged(activations: tuple[ActivationNumbers, ...], weights: Floats) -> ActivationNumbers:
    return ActivationNumbers(*(float(x) for x in weights @ [astuple(a) for a in activations]))


@dataclass(frozen=True)
class ScaledLaw(ResidualLaw):
    """A law of residuals with the scale zeta of the inputs at each node, (J,)."""

    scale: Floats = field(default_factory=lambda: np.ones(1))


def _scaled_law(laws: list[ResidualLaw], scales: Floats, weights: Floats) -> ScaledLaw:
    """Return the mixture of laws on inputs of several scales."""

    def joined(name: str, factors: Floats) -> Floats:
        parts = [f * getattr(law, name) for f, law in zip(factors, laws, strict=True)]
        return np.concatenate(parts, axis=-1)

    one = np.ones(len(laws))
    return ScaledLaw(
        r=joined("r", one),
        p=joined("p", weights),
        tau=joined("tau", np.sqrt(scales)),
        tau_tau=joined("tau_tau", scales),
        scale=np.repeat(scales, [len(law.r) for law in laws]),
    )


def _given_noise(law: ScaledLaw, w: Floats, T: Floats, n: Floats) -> Floats:
    """Return E[w xi xi^T | n] for a function w of the residual, (D, D)."""
    r, p = law.r, law.p * law.scale
    energy = float(p @ r**2)
    plain = float(p @ w)
    along = law.tau_tau @ (law.p * w) - plain * np.eye(len(law.tau))
    cross = np.outer(T @ (law.tau @ (p * w * r)), n) / energy
    matrix = T @ along @ T.T + cross + cross.T
    twice = float((p * law.scale) @ (w * r * r)) / energy**2
    return plain * np.eye(len(n)) + matrix + twice * np.outer(n, n)


def _noise_of_moved_v(
    law: ScaledLaw, T: Floats, n: Floats, w: Floats, S: Floats, spectrum: InputSpectrum, phi: float
) -> Floats:
    r"""Return the energies, one per group, of the noise y of M along :math:`w = \Sigma v`.

    :math:`y_r^2 = \phi_0w^\top Sw\,m_r/d` less what is along n, which the mean of M has; M
    gets :math:`(yw^\top + wy^\top)/|w|^2`.
    """
    r, m, p = law.r, spectrum.counts, law.p * law.scale
    energy = float(p @ r**2)
    along_n = (law.tau @ (p * r * r)) @ (T.T @ w) / energy
    along_n += float((p * law.scale) @ r**3) / energy**2 * (n @ w)
    in_noise = n.reshape(-1, len(m))[NOISE]
    squares = m / m.sum() * phi * float(w @ S @ w) - along_n**2 * in_noise**2
    return np.maximum(np.where(spectrum.single, 0.0, squares), 0.0)


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
