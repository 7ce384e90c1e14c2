r"""The equations of the theory for one draw of the teacher, discretised.

A neuron with initial weight :math:`\omega\sqrt{\kappa_{v0}/d}` along v has
:math:`\omega\sqrt{\kappa_v/d}` there after the step, :math:`\kappa_v = v^\top K_uv`, and leans by
:math:`k\,\omega/\sqrt{d\kappa_v}`, :math:`k = PK_uv`, off it; the bulk is the Schur complement

.. math:: Q_u = PK_uP - kk^\top/\kappa_v.

Directions that count are :math:`\hat\beta, \Sigma v, \Sigma M\Sigma v` and, for the full residual,
:math:`\hat u`, made orthonormal off v. The blocks seen from them are the eigenvectors of the mean
of Q in its Krylov space. The noise of M, which is not in the mean, spreads the deviation along a
direction of variance s by :math:`\epsilon_2s\sqrt{t_1}\mu_k`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages
from onegrad.theory.uniform.discretisation import Equations
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.input_covariance.explicit_step import KERNELS, ExplicitStep
from onegrad.theory.uniform.input_covariance.preparation import (
    MAX_TEACHER_FLUCTUATION,
    PreparedDraw,
)
from onegrad.theory.uniform.label_law import labels_given_index
from onegrad.theory.uniform.neuron_tilt import MIN_VARIANCE_SHARE
from onegrad.theory.uniform.preparation import NodeCounts
from onegrad.theory.uniform.quadratic_part import QuadraticPart
from onegrad.theory.uniform.quadrature_nodes import TWO_POINT_NODES

KRYLOV_STEPS = 7
FEW_NODES = 7  # of a neuron, where an order of magnitude is asked for
MIN_ALONG_V = 0.02  # of the initial variance along v
MIN_VARIANCE = 1e-6  # of the bulk, relative to the mean
MIN_BLOCK = 1e-9  # squared part of a block in the directions that count


@dataclass(frozen=True)
class CorrelatedNeurons:
    """Nodes of a neuron.

    g, bias, own : readout, input at the mean of the inputs, and epsilon.
    epsilon, noise : epsilon_2 and gamma^2 g^2 nu phi_0.
    length : sign of the fluctuation of its length.
    omega : initial weight along v in units of its deviation, over sqrt(d).
    s, along_v : weight along v after the step and kappa_v.
    coefficients : of the kernels in K_u, (KERNELS, U).
    """

    g: Floats
    bias: Floats
    own: Floats
    epsilon: Floats
    noise: Floats
    length: Floats
    omega: Floats
    s: Floats
    along_v: Floats
    weight: Floats
    coefficients: Floats


def draw_equations(prepared: PreparedDraw, nodes: NodeCounts) -> Equations:
    """Discretise the theory for one draw of the teacher."""
    problem, step, lengths = prepared.problem, prepared.step, prepared.lengths
    d, N, spectrum, activation = problem.d, problem.N, step.spectrum, step.activation
    full = problem.residual == "full"
    neurons = _neurons(prepared, nodes.neuron)
    g, epsilon = neurons.g, neurons.epsilon

    directions = _directions(step)
    Kv = (step.kernels @ step.v).T @ neurons.coefficients  # (D, U)
    k = Kv - np.outer(step.v, step.v @ Kv)
    lean = (directions @ k) * neurons.omega / np.sqrt(neurons.along_v)  # (t, U)

    kappa = _bulk_variances(prepared, neurons)  # (U, R, k)
    omega = np.outer((spectrum.counts * lengths.fraction) / d, prepared.noise.weight)
    by_length = 1 + np.outer(
        neurons.length, lengths.given_length(spectrum.values, d, lengths.fraction)
    )
    plain = np.tensordot(kappa / by_length[:, :, None], omega, axes=2)
    rho2 = plain * (1 + neurons.length * lengths.weights) + (lean**2).sum(0)
    rho = np.sqrt(rho2)[:, None]

    x, p = prepared.index_rule.nodes(nodes.index)
    scales, scale_weights = spectrum.scales
    scale = np.tile(np.repeat(scales, len(x)), 2)
    index, p = np.tile(np.outer(np.sqrt(scales), x).ravel(), 2), np.outer(scale_weights, p).ravel()
    p, signs = np.tile(p, 2) / 2, np.repeat(TWO_POINT_NODES, len(p))
    norm = scale * (1 + signs * lengths.samples)
    value, slope, square = gaussian_averages(
        problem.sigma,
        neurons.bias[:, None] + neurons.s[:, None] * index,
        rho * np.sqrt(norm),
        lengths.flattening,
    )
    B = slope / rho
    grown = 1 + neurons.own + epsilon * (step.mean + step.shift)
    row = (grown * g)[:, None] * B / math.sqrt(N)
    A = value + step.row_along_v * index * row

    teacher = directions[0]
    along_teacher = float(teacher @ (step.sigma * teacher))
    relative = along_teacher / (lengths.samples * lengths.sample_trace)  # over sqrt(t_2 d/2)
    fluctuation = min(2 / d * relative, MAX_TEACHER_FLUCTUATION)
    teacher_norm = scale * (1 + signs * fluctuation)
    Y = labels_given_index(
        step.labels, np.array([step.theta]), index, teacher_norm, p, step.label_energy
    )

    kappa_teacher, varpi = _teacher_blocks(prepared, neurons, directions, k)
    squares = _quadratic_part(
        hessian=Y.hessian[0, 0],
        value=value,
        norm=norm,
        fluctuation=fluctuation,
        scale=scale,
        variance=kappa_teacher @ varpi[:, 0] ** 2 / d,
        common=rho2 * along_teacher / (d * lengths.sample_trace),
        rho2=rho2,
    )
    aside = full * activation.tau * (directions @ step.row)  # (t,)
    Y1 = np.zeros((len(directions), len(index)))
    Y1[0] = Y.Y1[0]
    # all neurons lean along one vector: one more block, of its length
    sign = np.sign(lean[np.argmax((lean**2) @ neurons.weight)])
    length_of_lean = sign * np.sqrt((lean**2).sum(0))
    profile = np.concatenate(
        [
            np.sqrt(kappa.reshape(len(g), -1).T)[:, :, None] * B,
            math.sqrt(d) * (length_of_lean[:, None] * B)[None],
            math.sqrt(d) * A[None],
        ]
    )
    return Equations(
        step=step_numbers(step),
        intercept=problem.intercept,
        bulk=omega.size,
        n=problem.n,
        d=d,
        N=N,
        index=index,
        p=p,
        weight=neurons.weight,
        C2=np.maximum(square - value**2 - slope**2, 0.0),
        profile=profile,
        omega=np.append(omega.ravel(), [1 / d, 1 / d]),
        teacher_profile=np.sqrt(kappa_teacher.T)[:, :, None] * B,
        varpi=varpi,
        basis=np.eye(varpi.shape[1]),
        aside=aside[:, None, None] * row + lean[:, :, None] * B,
        A=A,
        readout_row=row,
        row_share=_row_shares(prepared, directions),
        squares=squares,
        Y0=Y.Y0,
        Y1=Y1,
        Y2=np.maximum(Y.Y2 - (squares.Y**2).sum(0), problem.noise**2),
        replaced=step.labels.replaced,
        mean_error=step.labels.fit.mean_error,
    )


def concentration(prepared: PreparedDraw) -> float:
    r"""Return one over the number of directions that carry a neuron's output beside v.

    .. math:: \Big\langle\frac1d\sum_r\omega_r\kappa_r^2/\rho^4\Big\rangle

    Where it is not small, the output given the index is not Gaussian.
    """
    neurons = _neurons(prepared, FEW_NODES)
    kappa = _bulk_variances(prepared, neurons)
    omega = np.outer(
        prepared.step.spectrum.counts * prepared.lengths.fraction / prepared.problem.d,
        prepared.noise.weight,
    )
    mean, square = np.tensordot(kappa, omega, axes=2), np.tensordot(kappa**2, omega, axes=2)
    return float(neurons.weight @ (square / mean**2)) / prepared.problem.d


def _neurons(prepared: PreparedDraw, k: int) -> CorrelatedNeurons:
    """Return nodes of a neuron: k in its weight along v, a few in each smaller fluctuation."""
    problem, step = prepared.problem, prepared.step
    x, p = prepared.neuron_rule.nodes(k)
    parts = [_neurons_of_one_length(prepared, x, p, float(c1)) for c1 in prepared.slopes.ravel()]
    g, s, omega, sign, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    size = len(s) // prepared.slopes.size  # of one bias and one length
    length = np.tile(np.repeat(TWO_POINT_NODES, size), len(step.activations))
    weight = weight * np.repeat(step.bias_weights, 2 * size) / 2

    def by_bias(name: str) -> Floats:
        return np.repeat([getattr(a, name) for a in step.activations], 2 * size)

    gamma_g, c1 = step.gamma * g, np.repeat(prepared.slopes.ravel(), size)
    along_row = g / math.sqrt(problem.N)
    full = problem.residual == "full"
    initial = math.sqrt(step.initial_along_v)
    own = by_bias("d3") * step.b / initial**2 * (initial * omega + step.row_along_v * along_row)
    own_noise = np.sqrt(step.energy * by_bias("own_noise") / problem.rows_of_step)
    own += own_noise * length * np.sign(sign) - full * by_bias("own_output") * along_row
    own *= gamma_g
    epsilon, noise = by_bias("d2") * gamma_g, gamma_g**2 * by_bias("nu") * problem.phi_step
    coefficients = step.coefficients(epsilon, noise, own)
    mean_square = step.spectrum.mean_square
    bias = by_bias("bias") + gamma_g * c1 * step.moved_bias
    bias += epsilon * mean_square * step.b / initial * omega
    along_v = np.maximum(
        ((step.kernels @ step.v) @ step.v) @ coefficients, MIN_ALONG_V * step.initial_along_v
    )
    s = s + omega * (np.sqrt(along_v) - initial)
    return CorrelatedNeurons(
        g, bias, own, epsilon, noise, length, omega, s, along_v, weight, coefficients
    )


def _neurons_of_one_length(
    prepared: PreparedDraw, x: Floats, p: Floats, c1: float
) -> tuple[Floats, ...]:
    """Return (g, s, omega/sqrt(d), sign, weight) of neurons of one length that move along v only.

    x, p : nodes and probabilities of the weight along v, in units of its deviation.
    """
    problem, step = prepared.problem, prepared.step
    t, variance = step.gamma * c1 * step.b, step.initial_along_v / problem.d
    z, pz = prepared.across
    k = len(x)
    sign, weight = np.repeat(z, k), np.outer(pz, p).ravel()
    if problem.readout == "gaussian":  # nodes in s, where the functions are steep, then g given s
        total = t**2 + variance
        s = np.tile(math.sqrt(total) * x, len(z))
        g = s * t / total + sign * math.sqrt(variance / total)
    else:
        values = TWO_POINT_NODES[:1] if problem.readout == "constant" else TWO_POINT_NODES
        g = np.repeat(values, 2 * k)
        s = g * (t + np.tile(x, 2 * len(values)) * math.sqrt(variance))
        sign, weight = np.tile(sign, len(values)), np.tile(weight, len(values)) / len(values)
    return g, s, (s - t * g) / math.sqrt(step.initial_along_v), sign, weight


def _directions(step: ExplicitStep) -> Floats:
    """Return orthonormal directions off v: the teacher's, then those that neurons lean along."""
    sigma_v = step.sigma * step.v
    candidates = [step.beta, sigma_v]
    if any(a.d2 for a in step.activations):
        candidates.append(step.kernels[3] @ step.v)  # Sigma M Sigma v
    if step.problem.residual == "full":
        candidates.append(step.row)
    return _orthonormal(np.array(candidates), step.v[None], 1e-5)


def _orthonormal(vectors: Floats, basis: Floats, tol: float) -> Floats:
    """Return vectors, one after another, made orthonormal and orthogonal to a basis."""
    start = len(basis)
    for x in vectors:
        y = x
        for _ in range(2):
            y = y - basis.T @ (basis @ y)
        size = float(np.linalg.norm(y))
        if size > tol * float(np.linalg.norm(x)):
            basis = np.vstack([basis, y / size])
    return basis[start:]


def _bulk_variances(prepared: PreparedDraw, neurons: CorrelatedNeurons) -> Floats:
    """Return d times the variance of weights in the groups of the bulk, (U, R, k)."""
    step, s = prepared.step, prepared.step.spectrum.values
    moved = np.outer(neurons.epsilon, s) * (step.mean + step.shift * s)
    mean = s * (1 + np.outer(neurons.own, s) + moved) ** 2
    noise = np.outer(neurons.noise, s**2) * step.energy
    return _spread(prepared, neurons, s, mean, noise, prepared.lengths.fraction)


def _spread(
    prepared: PreparedDraw,
    neurons: CorrelatedNeurons,
    s: Floats,
    mean: Floats,
    noise: Floats,
    fraction: Floats | float = 1.0,
) -> Floats:
    """Return variances spread by the noise of M, S and by the lengths of weights, (U, R, k).

    s : variances of the directions before the step, (R,).
    mean, noise : variances after it, and what S adds, (U, R).
    """
    step, nodes = prepared.step, prepared.noise
    smallest = MIN_VARIANCE * step.spectrum.moment(1)
    deviation = np.outer(neurons.epsilon, s) * math.sqrt(prepared.lengths.t1)
    root = np.sqrt(np.maximum(mean, smallest))[:, :, None] + deviation[:, :, None] * nodes.mu
    by_length = prepared.lengths.given_length(s, prepared.problem.d, fraction)
    change = 1 + np.outer(neurons.length, by_length)
    return np.asarray((root**2 + noise[:, :, None] * nodes.s) * change[:, :, None])


def _teacher_blocks(
    prepared: PreparedDraw, neurons: CorrelatedNeurons, directions: Floats, k: Floats
) -> tuple[Floats, Floats]:
    """Return variances, (U, R'), and vectors, (R', t), of blocks seen from the directions."""
    step = prepared.step
    P = np.eye(len(step.v)) - np.outer(step.v, step.v)
    Q = P @ np.tensordot(neurons.coefficients @ neurons.weight, step.kernels, axes=1) @ P
    Q -= (k * (neurons.weight / neurons.along_v)) @ k.T
    basis = _krylov_space(Q, directions, step.v)
    _, vectors = np.linalg.eigh(basis @ Q @ basis.T)
    q = vectors.T @ basis  # (L, D)
    varpi = q @ directions.T
    visible = (varpi**2).sum(1) > MIN_BLOCK
    q, varpi = q[visible], varpi[visible]
    s = q**2 @ step.sigma
    diagonal = np.array([((q @ kernel) * q).sum(1) for kernel in step.kernels])  # (KERNELS, L)
    plain = slice(KERNELS - 1)
    variance = neurons.coefficients[plain].T @ diagonal[plain]
    variance -= (q @ k).T ** 2 / neurons.along_v[:, None]
    variance = np.maximum(variance, MIN_VARIANCE_SHARE * s)
    noise = np.outer(neurons.coefficients[-1], diagonal[-1])
    kappa = _spread(prepared, neurons, s, variance, noise)
    split = np.sqrt(prepared.noise.weight)[:, None]
    varpi = (varpi[:, None, :] * split).reshape(-1, len(directions))
    return kappa.reshape(len(neurons.g), -1), varpi


def _krylov_space(Q: Floats, start: Floats, v: Floats) -> Floats:
    """Return an orthonormal basis, off v, of the Krylov space of Q from some directions."""
    basis, front = np.vstack([v, start]), start
    for _ in range(KRYLOV_STEPS):
        front = _orthonormal(front @ Q, basis, 1e-6)
        if not len(front):
            break
        basis = np.vstack([basis, front])
    return basis[1:]


def _quadratic_part(
    hessian: Floats,
    value: Floats,
    norm: Floats,
    fluctuation: float,
    scale: Floats,
    variance: Floats,
    common: Floats,
    rho2: Floats,
) -> QuadraticPart:
    """Return the quadratic part of labels and neurons along the teacher's direction off v.

    variance, common : variance of a neuron's weight there, and what its length tells of it, (U,).
    """
    signs = np.repeat(TWO_POINT_NODES, len(scale) // 2)
    size = scale * (1 + signs * fluctuation) * math.sqrt(max(1 - 1.5 * fluctuation**2, 0.0))
    change = np.subtract(*np.split(value, 2, axis=1)) / np.subtract(*np.split(norm, 2))
    bend = size * np.tile(change / rho2[:, None], 2)
    return QuadraticPart(
        Y=(size * hessian / math.sqrt(2))[None],
        mean=(math.sqrt(2) * (variance - common))[None, :, None] * bend,
        bend=bend,
        fluctuation=(4 * variance**2)[:, None, None],
    )


def _row_shares(prepared: PreparedDraw, directions: Floats) -> Floats:
    """Return the squared part of the readout row in each block of the bulk that is explicit."""
    step, spectrum = prepared.step, prepared.step.spectrum
    tau2 = step.activation.tau**2
    if prepared.problem.residual != "full":
        return np.zeros(len(spectrum.values) * len(prepared.noise.weight))
    off = step.row - step.v * (step.v @ step.row) - directions.T @ (directions @ step.row)
    fresh = spectrum.values * spectrum.counts / (prepared.problem.d * tau2)
    share = fresh - (off**2).reshape(-1, len(spectrum.values)).sum(0)
    return np.asarray(tau2 * np.outer(share, prepared.noise.weight).ravel())


def step_numbers(step: ExplicitStep) -> StepNumbers:
    """Return the numbers of the step in the notation of isotropic inputs."""
    a = step.activation
    return StepNumbers(
        gamma=step.gamma,
        b=step.b,
        theta=step.theta,
        c1=a.c1,
        c2=a.d2 / 2,
        c3=a.d3 / 6,
        nu=a.nu,
        own_noise=step.energy * a.own_noise / step.problem.rows_of_step,
        residual_noise=step.residual_noise,
        residual_mean=step.residual_mean,
        backward=-step.row_along_v,
        sideways=0.0,
        shift=step.shift,
        own_output=a.own_output,
    )
