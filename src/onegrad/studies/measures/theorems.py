"""Measures of the theorems' own statements: norms of matrices and of what approximates them."""

from __future__ import annotations

import numpy as np

from onegrad.arrays import to_numpy
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, per_seed
from onegrad.networks.equivalents import distance_to_spiked, operator_norm, spike_norms
from onegrad.networks.one_network import network_of

SPIKES = 4  # of F_l whose norms are returned


@per_seed
def spiked_distance(cell: Cell, _device: str, seed: int) -> CellValues:
    r"""Return :math:`\|F - F_\ell\|_{op}/\sqrt n` and the norms of the spikes; (seeds, etas, 1, …).

    distance, printed : for the spiked features as corrected and as printed; spikes : operator norm
    over sqrt(n) of c_k (c_1 eta)^k q_k(X beta)(a^k)^T, k = 1, ..., 4, also of those not in F_l.
    """
    network = network_of(cell.problem, seed)
    rows = network.sampler.all_ridge_rows()
    distances = {
        name: [[distance_to_spiked(network, rows, eta, printed=printed)] for eta in cell.etas]
        for name, printed in (("distance", False), ("printed", True))
    }
    norms = [[to_numpy(spike_norms(network, rows, eta, SPIKES))[0]] for eta in cell.etas]
    return {**distances, "spikes": np.array(norms) / np.sqrt(cell.problem.n)}


@per_seed
def gradient_norms(cell: Cell, _device: str, seed: int) -> CellValues:
    r"""Return norms of the first gradient G, of G less its rank-one part, and of W_0; (seeds,).

    rest : :math:`\|G - A\|/\|G\|` in operator norm, :math:`A = c_1a\beta^\top`; gradient, weights :
    operator norms; gradient_frobenius, weights_frobenius : Frobenius norms.
    """
    c1 = float(cell.problem.sigma.c[1])
    network = network_of(cell.problem, seed)
    G, W, a = (to_numpy(x)[0] for x in (network.first.G, network.W, network.a))
    A = c1 * np.outer(a, to_numpy(network.first.beta)[0])
    norm = operator_norm(G)
    return {
        "rest": operator_norm(G - A) / norm,
        "gradient": norm,
        "gradient_frobenius": np.linalg.norm(G),
        "weights": operator_norm(W),
        "weights_frobenius": np.linalg.norm(W),
    }
