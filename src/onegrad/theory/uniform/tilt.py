r"""Neurons that start along v lean towards the teacher's other directions, and back.

The step multiplies a neuron's initial weight by :math:`1 + \epsilon_2M`, :math:`\epsilon_2 =
2c_2\gamma g`. To first order in it the weights along v, :math:`\sqrt{\kappa_v}\,\omega/\sqrt d`,
and along the teacher's directions e off v have the covariance

.. math:: \tfrac1d\,2\epsilon_2f, \qquad f = e^\top Mv,

so a neuron reads e with the mean weight :math:`2\epsilon_2f\,\omega/\sqrt{d\kappa_v}`, and what
is left for the bulk changes by :math:`\epsilon_2^2ff^\top(1 - 4/\kappa_v)`. With one index the two
parts of f, from the signal in M and from the rows that v and M share, nearly cancel; with several
the signal alone couples v to the others. To second order a neuron would lean towards all of Mv,
most of which no teacher has.
"""

from __future__ import annotations

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.nodes import NeuronNodes

LEAST = 0.05  # share of a variance that is left at least: the expansion is of first order


def lean(neurons: NeuronNodes, twice: Floats, f: Floats) -> Floats:
    """Mean weight along each direction, (t, U); `twice` is 2 epsilon_2 of each neuron."""
    return np.outer(f, twice * neurons.start / np.sqrt(np.maximum(neurons.along, LEAST)))


def left_to_bulk(
    kappa: Floats, vector: Floats, neurons: NeuronNodes, twice: Floats, f: Floats
) -> Floats:
    r"""kappa_r, (U, R), less what `lean` takes.

    The change, in the metric of :math:`\sum_r\varpi_r\varpi_r^\top\kappa_r`, is shared by the
    blocks as their vectors have part in it.
    """
    values, vectors = np.linalg.eigh((vector.T * kappa[:, None, :]) @ vector)  # (U, t, t)
    root = (vectors / np.sqrt(np.maximum(values, 1e-12))[:, None, :]) @ vectors.swapaxes(1, 2)
    part = (vector @ root @ f[:, None])[:, :, 0]  # (U, R)
    change = twice**2 * (0.25 - 1 / np.maximum(neurons.along, LEAST))
    share = part**2 / (vector**2).sum(1) * change[:, None]
    return np.asarray(kappa * np.maximum(1 + share, LEAST))
