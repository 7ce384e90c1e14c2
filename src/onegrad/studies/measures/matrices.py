"""Matrices of single networks: gradients, steps, weights and features, their norms and vectors."""

import math

import numpy as np
import scipy.linalg

from onegrad.arrays import Floats, get_ops, to_numpy
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, per_seed
from onegrad.networks.models import distance_to_spiked, operator_norm, spike_norms
from onegrad.networks.one_network import network_of
from onegrad.networks.streams import fill_entries
from onegrad.studies.measures import as_printed

SPIKES = 4  # of F_l whose norms are returned
SINGULAR_VALUES = 12  # of the weights that are returned


@per_seed
def gradient(cell: Cell, device: str, seed: int) -> CellValues:
    """Return the cosine of X^T residual with beta_star, (seeds,)."""
    network = network_of(cell.problem, seed, get_ops(device, cell.dtype))
    star, beta = to_numpy(network.sampler.beta_star[0, :, 0]), to_numpy(network.first.beta[0])
    return {"cosine": beta @ star / np.linalg.norm(beta)}


@per_seed
def drawn_cosine(cell: Cell, _device: str, seed: int) -> CellValues:
    r"""Return the mean cosine of :math:`\beta = X^\top y/n` with beta_star over `draws`; (seeds,).

    .. math:: \beta\cdot\beta_\star = \frac1n\sum_iy_iu_i,\qquad
        |\beta - (\beta\cdot\beta_\star)\beta_\star|^2 = \frac1{n^2}\sum_iy_i^2\;\chi^2_{d-1}

    with the index u: off the teacher's direction Gaussian rows are independent of the labels.
    """
    p, rng = cell.problem, np.random.default_rng((seed, cell.problem.n, cell.problem.d))
    cosines, noise = [], np.empty(p.n)
    for _ in range(option_of(cell, "draws", 1000)):
        u = rng.standard_normal(p.n)
        y = p.sigma_star(u)
        if p.corrupted:
            others = p.sigma_star(rng.standard_normal(p.n))
            y = np.where(rng.random(p.n) < p.corrupted, others, y)
        if p.noise:
            fill_entries(rng, p.noise_distribution, noise)
            y = y + p.noise * noise
        along, off = y @ u, math.sqrt((y @ y) * rng.chisquare(p.d - 1))
        cosines.append(along / math.hypot(along, off))
    return {"cosine": np.mean(cosines)}


@per_seed
def gradient_norms(cell: Cell, _device: str, seed: int) -> CellValues:
    r"""Return norms of the first gradient G, of G less its rank-one part, and of W_0; (seeds,).

    rest : :math:`\|G - A\|/\|G\|` in operator norm, :math:`A = c_1a\beta^\top`; gradient, weights :
    operator norms; gradient_frobenius, weights_frobenius : Frobenius norms.
    """
    network = network_of(cell.problem, seed)
    G, W, a = network.first.G[0], network.W[0], network.a[0]
    A = float(cell.problem.sigma.c[1]) * np.outer(a, network.first.beta[0])
    norm = operator_norm(G)
    return {
        "rest": operator_norm(G - A) / norm,
        "gradient": norm,
        "gradient_frobenius": np.linalg.norm(G),
        "weights": operator_norm(W),
        "weights_frobenius": np.linalg.norm(W),
    }


@per_seed
def spiked_distance(cell: Cell, _device: str, seed: int) -> CellValues:
    r"""Return :math:`\|F - F_\ell\|_{op}/\sqrt n` and the norms of the spikes; (seeds, etas, 1, …).

    distance, printed : for the spiked features as corrected and as printed; spikes : operator norm
    over sqrt(n) of c_k (c_1 eta)^k q_k(X beta)(a^k)^T, k = 1, ..., 4, also of those not in F_l.
    """
    network = network_of(cell.problem, seed)
    rows = network.sampler.all_ridge_rows()
    distances = {"distance": distance_to_spiked, "printed": as_printed.distance_to_spiked}
    values = {k: [[f(network, rows, eta)] for eta in cell.etas] for k, f in distances.items()}
    norms = [spike_norms(network, rows, eta, SPIKES) for eta in cell.etas]
    return {**values, "spikes": np.array(norms) / np.sqrt(cell.problem.n)}


@per_seed
def weights(cell: Cell, _device: str, seed: int) -> CellValues:
    """Return the largest squared singular values of the weights after all steps.

    after : (seeds, etas, 1, SINGULAR_VALUES); aligned : squared length of the teacher's part of
    the corresponding right singular vectors.
    """
    network = network_of(cell.problem, seed)
    beta_star = network.sampler.beta_star[0]
    after, aligned = [], []
    for eta in cell.etas:
        W = network.trained_weights(eta)[0]
        values, vectors = leading_vectors(W, SINGULAR_VALUES)
        after.append([values])
        aligned.append([((beta_star.T @ W.T @ vectors) ** 2).sum(0) / values])  # v = W^T u / s
    return {"after": after, "aligned": aligned}


def leading_vectors(A: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the largest squared singular values of A (m, k), and its left vectors (m, count)."""
    # by the smaller Gram matrix: leading vectors lose nothing by it, small values would
    small = A @ A.T if len(A) <= A.shape[1] else A.T @ A
    last = len(small) - 1
    values, V = scipy.linalg.eigh(small, subset_by_index=[last + 1 - count, last])
    values, V = values[::-1], V[:, ::-1]
    return values, V if len(small) == len(A) else A @ V / np.sqrt(values)
