r"""The equations of the theory for one draw of the teacher, discretised.

A neuron with initial weight :math:`\omega\sqrt{\kappa_{v0}/d}` along v has
:math:`\omega\sqrt{\kappa_v/d}` there after the step, :math:`\kappa_v = v^\top K_uv`, and leans by
:math:`k\,\omega/\sqrt{d\kappa_v}`, :math:`k = PK_uv`, off it; the bulk is the Schur complement

.. math:: Q_u = PK_uP - kk^\top/\kappa_v.

Directions that count are :math:`\hat\beta, \Sigma v, \Sigma M\Sigma v` and, for the full residual,
:math:`\hat u`, made orthonormal off v. The blocks seen from them are the eigenvectors of the mean
of Q in its Krylov space.
"""

import math

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages, values_averaged
from onegrad.theory.uniform.discretisation import Equations, NodeMask
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.input_covariance.bulk import (
    BulkBlocks,
    bulk_blocks,
    mean_covariance,
    orthonormal,
    spread_by_noise,
    variances_along,
)
from onegrad.theory.uniform.input_covariance.correlated_neurons import (
    CorrelatedNeurons,
    correlated_neurons,
    second_spacing,
)
from onegrad.theory.uniform.input_covariance.explicit_step import ExplicitStep
from onegrad.theory.uniform.input_covariance.preparation import (
    MAX_TEACHER_FLUCTUATION,
    PreparedDraw,
)
from onegrad.theory.uniform.input_covariance.products import product_blocks
from onegrad.theory.uniform.laws.labels import labels_given_index
from onegrad.theory.uniform.preparation import NodeCounts
from onegrad.theory.uniform.quadratic_part import QuadraticPart
from onegrad.theory.uniform.quadrature_nodes import without_negligible
from onegrad.theory.uniform.rules import TWO_POINT_NODES

KRYLOV_STEPS = 7
MIN_BLOCK = 1e-6  # squared part of a block in the directions that count
MAX_OVERLAP = 1 - 1e-9  # of the teacher with the indices


def draw_equations(prepared: PreparedDraw, nodes: NodeCounts) -> Equations:
    """Discretise the theory for one draw of the teacher."""
    problem, step, lengths = prepared.problem, prepared.step, prepared.lengths
    d, N, spectrum = problem.d, problem.N, step.spectrum
    V, full = prepared.indices, problem.residual == "full"
    neurons = correlated_neurons(prepared, nodes.neuron)
    g, epsilon = neurons.g, neurons.epsilon

    directions = _directions(step, V)
    lean = np.einsum("td,diu,iu->tu", directions, neurons.regression, neurons.deviations)

    Q = mean_covariance(prepared, neurons)
    bulk = bulk_blocks(prepared, neurons, Q)
    omega, plain = bulk.omega, bulk.kappa @ bulk.omega
    kappa = bulk.kappa * (1 + np.outer(neurons.length, bulk.by_length))
    rho2 = plain * (1 + neurons.length * lengths.weights) + (lean**2).sum(0)
    rho = np.sqrt(rho2)[:, None]

    x, p, mask = _sample_nodes(prepared, nodes.index)  # (i, K)
    scales, scale_weights = spectrum.scales
    scale = np.tile(np.repeat(scales, len(p)), 2)
    indices = np.tile((x[:, None] * np.sqrt(scales)[:, None]).reshape(len(V), -1), 2)
    p = np.outer(scale_weights, p).ravel()
    p, signs = np.tile(p, 2) / 2, np.repeat(TWO_POINT_NODES, len(p))
    norm = scale * (1 + signs * lengths.samples)
    deviation = rho * np.sqrt(norm)
    value, slope, square = gaussian_averages(
        problem.sigma, neurons.bias[:, None] + neurons.s.T @ indices, deviation, lengths.flattening
    )
    B = slope / rho
    grown = 1 + neurons.own + epsilon * (step.mean + step.shift)
    row = (grown * g)[:, None] * B / math.sqrt(N)
    A = value + full * (V @ step.row) @ indices * row

    teacher = directions[0]
    along_teacher = float(teacher @ (step.sigma * teacher))
    relative = along_teacher / (lengths.samples * lengths.sample_trace)  # over sqrt(t_2 d/2)
    fluctuation = min(2 / d * relative, MAX_TEACHER_FLUCTUATION)
    teacher_norm = scale * (1 + signs * fluctuation)
    overlaps = V @ step.beta
    theta = min(float(np.linalg.norm(overlaps)), MAX_OVERLAP)
    along_labels = overlaps @ indices / theta if len(V) > 1 else indices[0]
    overlap = np.array([theta if len(V) > 1 else step.theta])
    Y = labels_given_index(step.labels, overlap, along_labels, teacher_norm, p, step.label_energy)

    kappa_teacher, varpi = _teacher_blocks(prepared, neurons, directions, Q)
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
    aside = full * (directions @ step.row)  # (t,)
    Y1 = np.zeros((len(directions), len(p)))
    Y1[0] = Y.Y1[0]
    noise = np.maximum(square - value**2 - slope**2, 0.0)
    variances, shares = bulk.types(kappa, len(spectrum.values) - spectrum.singles)
    products = product_blocks(
        value,
        slope,
        noise,
        norm,
        p,
        variances / (d * rho2[:, None]),
        d * shares,
        neurons.weight,
        lengths.weights**2 + lengths.samples**2,
        N,
        d,
    )
    C2 = np.maximum(noise - products.energy, 0.0)
    # all neurons lean along one vector: one more block, of its length
    sign = np.sign(lean[np.argmax((lean**2) @ neurons.weight)])
    length_of_lean = sign * np.sqrt((lean**2).sum(0))
    return Equations(
        step=step_numbers(step),
        intercept=problem.intercept,
        bulk=len(omega),
        n=problem.n,
        d=d,
        N=N,
        index=indices[0],
        p=p,
        weight=neurons.weight,
        C2=C2,
        B=B,
        strength=np.vstack([np.sqrt(kappa.T), math.sqrt(d) * length_of_lean]),
        omega=np.concatenate([omega, [1 / d], products.omega, [1 / d]]),
        teacher_strength=np.sqrt(kappa_teacher.T),
        products=products.readings,
        varpi=varpi,
        basis=np.eye(varpi.shape[1]),
        aside=aside[:, None, None] * row + lean[:, :, None] * B,
        A=A,
        readout_row=row,
        row_share=_row_shares(prepared, directions, bulk),
        squares=squares,
        Y0=Y.Y0,
        Y1=Y1,
        Y2=np.maximum(Y.Y2 - (squares.Y**2).sum(0), problem.noise**2),
        replaced=step.labels.replaced,
        mean_error=step.labels.fit.mean_error,
        masks=(np.tile(mask, (2 * len(scales), 1, 1)), neurons.mask),
        about_a=N / d * neurons.weight / (problem.ridge + C2 @ p / 2),
        values=values_averaged(problem.sigma, deviation),
    )


def number_of_nodes(prepared: PreparedDraw, nodes: NodeCounts) -> int:
    """Return how many samples and neurons `draw_equations` would have."""
    samples, scales = _sample_nodes(prepared, nodes.index)[1], prepared.step.spectrum.scales[0]
    neurons = correlated_neurons(prepared, nodes.neuron)
    return 2 * len(scales) * len(samples) + len(neurons.g)


def _sample_nodes(prepared: PreparedDraw, k: int) -> tuple[Floats, Floats, NodeMask]:
    """Return the indices, (i, K), and probabilities of samples: k values of the first index.

    The last says which nodes of a grid, (second, first), they are.
    """
    x, p = prepared.index_rule.nodes(k)
    if prepared.second_rules is None:
        return x[None], p, np.ones((1, k), bool)
    rule = prepared.second_rules[0]
    y, q = rule.nodes(rule.count(second_spacing(prepared.index_rule, k)))
    indices, p = np.array([np.tile(x, len(y)), np.repeat(y, k)]), np.outer(q, p).ravel()
    mask = without_negligible(p)
    return indices[:, mask], p[mask] / p[mask].sum(), mask.reshape(len(y), k)


def _directions(step: ExplicitStep, indices: Floats) -> Floats:
    """Return orthonormal directions off the indices: the teacher's, then those of leans."""
    candidates = [step.beta, *(step.sigma * indices)]
    if any(a.d2 for a in step.activations):
        candidates.append(step.kernels[3] @ step.v)  # Sigma M Sigma v
    if step.problem.residual == "full":
        candidates.append(step.row)
    return orthonormal(np.array(candidates), indices, 1e-5)


def _teacher_blocks(
    prepared: PreparedDraw, neurons: CorrelatedNeurons, directions: Floats, Q: Floats
) -> tuple[Floats, Floats]:
    """Return variances, (U, R'), and vectors, (R', t), of blocks seen from the directions."""
    basis = _krylov_space(Q, directions, prepared.indices)
    _, vectors = np.linalg.eigh(basis @ Q @ basis.T)
    q = vectors.T @ basis  # (L, D)
    varpi = q @ directions.T
    visible = (varpi**2).sum(1) > MIN_BLOCK
    q, varpi = q[visible], varpi[visible]
    variance, noise, s = variances_along(prepared, neurons, q)
    kappa = spread_by_noise(prepared, neurons, s, variance, noise)
    by_length = prepared.lengths.given_length(s, prepared.problem.d)
    kappa *= (1 + np.outer(neurons.length, by_length))[:, :, None]
    split = np.sqrt(prepared.noise.weight)[:, None]
    varpi = (varpi[:, None, :] * split).reshape(-1, len(directions))
    return kappa.reshape(len(neurons.g), -1), varpi


def _krylov_space(Q: Floats, start: Floats, indices: Floats) -> Floats:
    """Return an orthonormal basis, off the indices, of the Krylov space of Q from directions."""
    basis, front = np.vstack([indices, start]), start
    for _ in range(KRYLOV_STEPS):
        front = orthonormal(front @ Q, basis, 1e-6)
        if not len(front):
            break
        basis = np.vstack([basis, front])
    return basis[len(indices) :]


def _quadratic_part(
    hessian: Floats,
    value: Floats,
    norm: Floats,
    fluctuation: float,
    scale: Floats,
    variance: Floats,  # (U,) of a neuron's weight there
    common: Floats,  # (U,) what a neuron's length tells of it
    rho2: Floats,
) -> QuadraticPart:
    """Return the quadratic part of labels and neurons along the teacher's direction off v."""
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


def _row_shares(prepared: PreparedDraw, directions: Floats, bulk: BulkBlocks) -> Floats:
    """Return the squared part of the readout row in each block of the bulk that is explicit."""
    step, spectrum = prepared.step, prepared.step.spectrum
    if prepared.problem.residual != "full":
        return np.zeros(len(bulk.omega))
    explicit = np.vstack([prepared.indices, directions])
    off = step.row - explicit.T @ (explicit @ step.row)
    fresh = spectrum.values * spectrum.counts / prepared.problem.d
    top = spectrum.singles
    # a direction that stands alone has its part of a fresh row, and the indices theirs
    rest = np.outer(fresh[top:], prepared.noise.weight)
    single = bulk.lone_axes[:, :top] ** 2 @ fresh[:top]
    single *= fresh[:top].sum() / max(float(single.sum()), 1e-300)
    return np.append(single, rest) - bulk.shared(off, prepared)


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
