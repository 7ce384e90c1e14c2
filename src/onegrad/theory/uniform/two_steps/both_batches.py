r"""The move of the bulk weights in two steps, each on a batch of its own.

With :math:`d_1 = E\sigma''` and averages over the nodes of the second batch, a neuron's bulk
weights become :math:`(1 + \varsigma + \varepsilon M)w_0` and noise of covariance S, where M and S
are those of all rows with weights :math:`f_br_b`, b the batch, :math:`\sum|f_b| = 2`:

.. math::
    \varsigma &= \gamma_2gE[m\,d_1\ell] - \varepsilon_2Er_2 + 2c_2\gamma_1g\,\text{shift}_1,\qquad
    \varepsilon_1 = 2c_2\gamma_1g(1+\varsigma),\quad
    \varepsilon_2 = \gamma_2g\rho_1E[qd_1]/Eq \\
    \varepsilon &= 2\,\frac{\varepsilon_1f_1R_1+\varepsilon_2f_2R_2}{f_1^2R_1+f_2^2R_2},\qquad
    R_b = Er_b^2

The factor :math:`\rho_1` is the product :math:`(1+\varepsilon_2M_2)(1+\varepsilon_1M_1)` of free
matrices, in trace. What the projection on one M leaves is noise. On the rows of the first batch
:math:`X^\top r_1 = 0` off :math:`v_1` and the indices; v is not the direction of
:math:`X^\top r`, but has the part :math:`X^\top a/n` off the frame, with a on the second batch.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import Averages
from onegrad.theory.uniform import residuals, rules
from onegrad.theory.uniform.covariance import RowDirection, StepCovariance, covariance_of_law
from onegrad.theory.uniform.laws.labels import off_root
from onegrad.theory.uniform.two_steps.second_step import SecondStep

Whole = np.ndarray[Any, np.dtype[np.intp]]

SECOND_BATCH_NODES = {1: 14, 2: 9}  # of the second batch, by the number of indices
MIN_SECOND_BATCH_NODES = 5  # of more indices
SECOND_NOISE_NODES = 5


@dataclass(frozen=True)
class BothBatches:
    """M of both batches."""

    covariance: StepCovariance  # spectral measures
    shares: Floats  # weights f of the batches
    energies: Floats  # E r^2 of each batch


@dataclass(frozen=True)
class BulkMove:
    """The move of neurons in the bulk, (U,) each."""

    shift: Floats  # along their own weights
    epsilon: Floats  # on M
    noise: Floats  # times S
    extra: Floats  # of the weight along v by itself, beyond the shift


def both_batches(after: SecondStep, v: Floats) -> BothBatches:
    """Return M of both batches, with v in the frame of `SecondStep.moves`."""
    problem, step = after.first.problem, after.first.step
    t, half = len(after.basis), len(after.p) // 2
    f = _shares(after)
    law1, (law2, node) = _first_batch(after), _second_batch(after)
    scale = np.sqrt(np.maximum(problem.phi_step * after.p * after.energy, 1e-300))
    noise = (v[t + 2 :] / scale).reshape(2, half).mean(0)
    a = np.concatenate([np.zeros(len(law1.r)), 2 * law2.r * noise[node]])
    zeros = np.zeros(len(law2.r))
    first = replace(law1, r=f[0] * law1.r, p=law1.p / 2)
    unconstrained = residuals.RowConstraint(zeros, zeros, 0 * law2.tau)
    second = replace(law2, r=f[1] * law2.r, p=law2.p / 2, constraint=unconstrained)
    covariance = covariance_of_law(
        residuals.concatenated([first, second]),
        t,
        problem.phi_step / 2,
        squared=step.c2 == 0.0,
        direction=RowDirection(v[: t + 2], a),
    )
    return BothBatches(covariance, f, np.array([law1.p @ law1.r**2, law2.p @ law2.r**2]))


def _shares(after: SecondStep) -> Floats:
    """Return the weights f of the batches: their steps times the slopes that M is read with."""
    step, g, weight = after.first.step, after.g, after.weight
    s, rho = after.start(g)
    D0, D1, square = after.slopes(s, rho)
    q = after.p * after.energy / after.total_energy
    if step.c2:
        bend = (D1 / rho[:, None]) @ q
        ratio = (weight * g**2) @ bend / (2 * step.c2) / (weight @ g**2)
    else:
        ratio = np.sqrt((weight * g**2) @ ((square - D0**2) @ q) / max(step.nu, 1e-300))
    f = np.array([step.gamma, after.gamma * float(ratio)])
    return 2 * f / np.abs(f).sum() if np.abs(f).sum() else np.ones(2)


def _first_batch(after: SecondStep) -> residuals.ResidualLaw:
    """Return the law of the first batch given v_1, in the frame (labels', readout row, rest)."""
    problem, step, labels = after.first.problem, after.first.step, after.first.labels
    output = step.backward * step.b
    law = residuals.residual_law(
        labels, step.residual_noise, problem.rows_of_step, output, step.residual_mean
    )
    t, k, J = labels.indices, len(law.tau), len(law.r)
    tau, products = np.zeros((t + 2, J)), np.zeros((t + 2, t + 2, J))
    tau[:k], products[:k, :k] = law.tau, law.tau_tau
    if k == t:
        products[t, t] = 1.0  # a direction that the residual does not know
    # a row's own part of the rest of v_1
    own = problem.phi_step / np.sqrt(problem.phi_step * (law.p @ law.r**2)) * law.r
    tau[t + 1], products[t + 1, t + 1] = own, 1 + own**2
    products[: t + 1, t + 1] = products[t + 1, : t + 1] = tau[: t + 1] * own
    constraint = residuals.RowConstraint(law.r, law.r**2, law.r * tau)
    return residuals.ResidualLaw(law.r, law.p, tau, products, constraint)


def _second_batch(after: SecondStep) -> tuple[residuals.ResidualLaw, Whole]:
    """Return the law of the second batch in the same frame, and the node of kappa of each."""
    problem, labels = after.first.problem, after.first.labels
    t, half = len(after.basis), len(after.p) // 2
    edge = rules.normal_cutoff(problem.rows_of_step)
    count = SECOND_BATCH_NODES.get(t, MIN_SECOND_BATCH_NODES)
    Z, weight = rules.product_rule([rules.cut_gaussian(count, edge)] * t)  # off v_1
    e, pe = rules.cut_gaussian(SECOND_NOISE_NODES, edge)
    place = np.flatnonzero(np.abs(after.index[:half]) <= edge)
    index, pk = after.index[place], after.p[place] / after.p[place].sum()

    def mean_length(f: Floats) -> Floats:
        return (f[:half] + f[half:])[place] / 2

    overlaps, backward, sideways = after.v1[:t], -after.v1[t], after.basis[:, t]
    u = overlaps[:, None, None] * index[:, None] + (off_root(overlaps) @ Z)[:, None, :]  # (t, K, J)
    Y, row = after.labels, mean_length(after.row)
    output = mean_length(Y.Y0 - after.mean)
    # what is Gaussian given the node: noise, and the readout row off the labels' directions
    free = max(1 - backward**2 - float(sideways @ sideways), 0.0)
    variance = mean_length(after.energy - after.mean**2 - (Y.Y1**2).sum(0) - Y.Y2)
    variance = np.maximum(variance + labels.noise**2, 1e-12)
    if backward:
        cross = mean_length(sideways @ Y.Y1)
        at_node = row**2 * float(sideways @ sideways) - 2 * cross * row
        variance = np.maximum(variance - at_node, row**2 * free + 1e-12)
    deviation = np.sqrt(variance)[:, None, None]
    side = sideways @ Z  # (J,)
    r = (_labels_at(after, u) - output[:, None] - row[:, None] * side)[:, :, None] + deviation * e
    p = (pk[:, None, None] * weight[:, None] * pe).ravel()

    def spread_out(f: Floats) -> Floats:
        return np.broadcast_to(f, r.shape).ravel()

    kappa = spread_out(index[:, None, None])
    U = np.broadcast_to(u[..., None], (t, *r.shape)).reshape(t, -1)
    # readout row: -backward kappa + side + sqrt(free) t', t' of mean share e, variance 1 - share^2
    share = spread_out(-row[:, None, None] * np.sqrt(free) / deviation)
    along_row = -backward * kappa + spread_out(side[:, None])
    along_row += np.sqrt(free) * share * spread_out(e)
    rest = max(float(after.v1[t + 1]), 1e-9)
    last = (kappa - overlaps @ U + backward * along_row) / rest
    tau = np.vstack([U, along_row, last])
    by_row = np.append(np.zeros(t), [np.sqrt(free), backward * np.sqrt(free) / rest])
    scatter = np.multiply.outer(np.outer(by_row, by_row), np.maximum(1 - share**2, 0.0))
    values = r.ravel()
    values = values * np.sqrt(after.total_energy / (p @ values**2))
    law = residuals.ResidualLaw(values, p, tau, tau[:, None] * tau + scatter)
    return law, np.broadcast_to(place[:, None, None], r.shape).ravel()


def _labels_at(after: SecondStep, u: Floats) -> Floats:
    """Return labels without noise, less their fit, at indices (t, ...)."""
    labels = after.first.labels
    fit, teacher_u = labels.fit, u[: labels.teacher_indices]
    clean = labels.at_indices(teacher_u) - fit.mean
    if fit.has_direction:
        clean = clean - np.tensordot(fit.linear, teacher_u, axes=1) - fit.noise * u[-1]
    return clean


def bulk_move(
    after: SecondStep, batches: BothBatches, g: Floats, slopes: Averages, rho: Floats
) -> BulkMove:
    """Return the move in the bulk of neurons with these readouts, slopes and deviations."""
    step, phi = after.first.step, after.first.problem.phi_step
    D0, D1, square = slopes
    f, (R1, R2) = batches.shares, batches.energies
    q, m, total = after.p * after.energy, after.p * after.mean, after.total_energy
    d1 = D1 / rho[:, None]
    step1, step2 = step.gamma * g, after.gamma * g
    bend = d1 @ q / total if step.c2 else np.zeros(len(g))
    epsilon2 = step2 * bend * rho
    shift = step2 * ((d1 * np.sqrt(after.norm)) @ m) - epsilon2 * float(m.sum())
    shift += 2 * step.c2 * step1 * step.shift
    epsilon1 = 2 * step.c2 * step1 * (1 + shift)
    size = f[0] ** 2 * R1 + f[1] ** 2 * R2
    epsilon = 2 * (epsilon1 * f[0] * R1 + epsilon2 * f[1] * R2) / size
    noise = (step1 * (1 + shift)) ** 2 * step.nu * R1
    noise += step2**2 * np.maximum((square - D0**2) @ q - (rho * bend) ** 2 * total, 0.0)
    if step.c2:  # what the projection on one M leaves
        unprojected = epsilon1**2 * R1 + epsilon2**2 * R2 - epsilon**2 * size / 4
        noise += np.maximum(unprojected, 0.0)
        extra = np.zeros(len(g))
    else:
        extra = step2 * (d1 @ (m * (after.index**2 - 1)))
    return BulkMove(shift, epsilon, noise * phi / (size / 2), extra)
