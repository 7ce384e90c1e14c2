r"""Gradients of the network :math:`f(z) = A^\top\sigma(Wz + b)` in its inputs.

The clip of the inputs counts as the identity: a clipped input still says where f grows.
"""

from typing import Any

from onegrad.arrays import Array, namespace, ops_of
from onegrad.tables.first_layer.layer import Layer
from onegrad.tables.first_layer.scaling import ScaledRows


def gradient_outer_product(
    rows: ScaledRows, *networks: tuple[Layer, Array], by_column: bool = False
) -> Array:
    r"""(d, d) :math:`M = \frac1{\sum w}\sum_i w_i \sum_k \nabla f_k(z_i)\nabla f_k(z_i)^\top`.

    .. math:: \nabla f_k(z) = W^\top\big(\sigma'(Wz+b)\odot a_{h,k}\big) + a_{z,k}

    with the coefficients (a_z, a_h) of the skip and of the neurons. f is the mean of the networks,
    each a layer with its coefficients. An input that is constant has no slope: what f would do
    along it is chance. `by_column` takes gradients in the columns of x, on their first scale, where
    they are inputs on several.
    """
    scaling = networks[0][0].scaling
    folds = by_column and scaling.copies > 1
    d = scaling.columns if folds else rows.z.shape[1]
    M = ops_of(rows.z).zeros(d, d)
    constant = (rows.z == rows.z[:1]).all(0)
    outputs = range(networks[0][1].shape[1])
    for block in rows.blocks():
        chain = scaling.slopes(block.z) if folds else None
        slopes = [n.activation.derivative(n.preactivations(block.z)) for n, _ in networks]
        for k in outputs:
            g = sum(_slope(n, s, a[:, k]) for (n, a), s in zip(networks, slopes, strict=True))
            g *= namespace(g).sqrt(block.w)[:, None] / len(networks)
            g[:, constant] = 0.0
            if folds:
                g *= chain
                g = g.reshape(len(g), scaling.copies, scaling.columns).sum(1)
            M += g.T @ g
    M /= rows.w.sum()
    return M


def _slope(layer: Layer, slopes: Array, a: Array) -> Any:
    """(m, d) gradients of one output with coefficients a, from the neurons' slopes (m, N)."""
    skip = layer.width - len(layer.W)
    g = (slopes * a[skip:]) @ layer.W
    if skip:
        g += a[:skip]
    return g
