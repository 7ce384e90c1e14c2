r"""The direction of a step: minus the gradient G, or another direction of the same length.

.. math::
    \text{preconditioned: } G\Big(\hat\Sigma + \epsilon\frac{\mathrm{tr}\hat\Sigma}{d}\Big)^{-1},
    \qquad \text{spectral: } UV^\top \text{ of } G = USV^\top,

each scaled to the Frobenius norm of G, so that eta means the same, with
:math:`\hat\Sigma = X^\top X/n_0`.
"""

from __future__ import annotations

import numpy as np

from onegrad.arrays import Array, namespace, transpose
from onegrad.networks.input_rows import step_rows
from onegrad.networks.sampling import Sampler
from onegrad.problem import PRECONDITIONER_SHIFT


def update(sampler: Sampler, G: Array, step: int) -> Array:
    """Return the direction of a step where minus the gradient is G, (B, N, d)."""
    kind = sampler.problem.update
    if kind == "gradient":
        return G
    xp = namespace(G)
    if kind == "spectral":
        U, _, Vt = xp.linalg.svd(G, full_matrices=False)
        direction = U @ Vt
    else:
        direction = transpose(xp.linalg.solve(_covariance(sampler, step), transpose(G)))
    length = ((G * G).sum((-2, -1)) / (direction * direction).sum((-2, -1))) ** 0.5
    return direction * length[:, None, None]


def _covariance(sampler: Sampler, step: int) -> Array:
    """Return Sigma_hat + epsilon tr(Sigma_hat)/d of a step's rows, (B, d, d)."""
    p, ops = sampler.problem, sampler.ops
    S = ops.zeros(sampler.stack_size, p.d, p.d)
    for block in sampler.blocks(step_rows(p, step)):
        ops.add_product(S, block.X, block.X / p.rows_of_step)
    eye = ops.asarray(np.eye(p.d))
    return S + PRECONDITIONER_SHIFT * (S * eye).sum((-2, -1))[:, None, None] / p.d * eye
