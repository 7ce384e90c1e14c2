r"""What a step adds to the weights: minus the gradient G, or another direction of its length.

.. math::
    \text{preconditioned: } G\Big(\hat\Sigma + \epsilon\frac{\mathrm{tr}\hat\Sigma}{d}\Big)^{-1},
    \qquad \text{spectral: } UV^\top \text{ of } G = USV^\top,

each scaled to the Frobenius norm of G, so that eta means the same, with
:math:`\hat\Sigma = X^\top X/n_0`.
"""

from __future__ import annotations

import numpy as np

from onegrad.arrays import Array, namespace, transpose
from onegrad.networks.sampling import Sampler

EPSILON = 0.1  # of the mean eigenvalue: enough where the batch has fewer rows than inputs


def update(sampler: Sampler, G: Array, index: int) -> Array:
    """The direction of step number `index` where minus the gradient is G, (B, N, d)."""
    kind = sampler.problem.update
    if kind == "gradient":
        return G
    xp = namespace(G)
    if kind == "spectral":
        U, _, Vt = xp.linalg.svd(G, full_matrices=False)
        found = U @ Vt
    else:
        found = transpose(xp.linalg.solve(_covariance(sampler, index), transpose(G)))
    length = ((G * G).sum((-2, -1)) / (found * found).sum((-2, -1))) ** 0.5
    return found * length[:, None, None]


def _covariance(sampler: Sampler, index: int) -> Array:
    """Sigma_hat + epsilon tr(Sigma_hat)/d of a step's rows, (B, d, d)."""
    p, ops = sampler.problem, sampler.ops
    S = ops.zeros(len(sampler.seeds), p.d, p.d)
    for rows in sampler.rows(*sampler.step_rows(index)):
        ops.add_product(S, rows.X, rows.X / p.rows_of_step)
    eye = ops.asarray(np.eye(p.d))
    return S + EPSILON * (S * eye).sum((-2, -1))[:, None, None] / p.d * eye
