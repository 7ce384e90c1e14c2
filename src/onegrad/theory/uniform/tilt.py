r"""Neurons that start along v lean towards other directions, and back.

The step multiplies a neuron's initial weight by :math:`1 + \epsilon_2M`, :math:`\epsilon_2 =
2c_2\gamma g`. Along v and along directions e off v its weights have the covariance

.. math:: \tfrac1dk, \qquad k = 2\epsilon_2f + \epsilon_2^2e^\top M^2v, \qquad f = e^\top Mv,

so a neuron of initial weight :math:`\omega/\sqrt d` along v reads e with the mean weight
:math:`k\,\omega/\sqrt{d\kappa_v}`, and the covariance that is left for the bulk changes by
:math:`\epsilon_2^2ff^\top - kk^\top/\kappa_v`. Readouts of one size need that for the direction of k itself
(`moved`): all their neurons lean alike, and what is fitted by the
weights along v, all that tells such neurons apart, comes with the noise of Mv (37 % of an error
where :math:`\epsilon_2|M|` is about one). Normal readouts fit by their sizes: of Mv only the part
along the teacher's directions matters, to first order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.covariance import AlongStep
from onegrad.theory.uniform.nodes import NeuronNodes

LEAST = 0.05  # share of a variance that is left at least


@dataclass(frozen=True)
class Tilt:
    """Of each neuron: epsilon_2, its covariances k with the directions (t, U), and kappa_v."""

    epsilon: Floats
    k: Floats
    f: Floats
    along: Floats

    def lean(self, neurons: NeuronNodes) -> Floats:
        """Mean weight along each direction, (t, U)."""
        return np.asarray(self.k * neurons.start / np.sqrt(self.along))

    def left_to_bulk(self, kappa: Floats, vector: Floats) -> Floats:
        r"""kappa_r, (U, R), less what `lean` takes.

        The change, in the metric of :math:`\sum_r\varpi_r\varpi_r^\top\kappa_r`, is shared by the
        blocks as their vectors have part in it.
        """
        values, vectors = np.linalg.eigh((vector.T * kappa[:, None, :]) @ vector)  # (U, t, t)
        root = (vectors / np.sqrt(np.maximum(values, 1e-12))[:, None, :]) @ vectors.swapaxes(1, 2)
        part_f = (vector @ root @ self.f[:, None])[:, :, 0]  # (U, R)
        part_k = (vector @ root @ self.k.T[:, :, None])[:, :, 0]
        change = (self.epsilon[:, None] * part_f) ** 2 - part_k**2 / self.along[:, None]
        share = change / (vector**2).sum(1)
        return np.asarray(kappa * np.maximum(1 + share, LEAST))


def tilt(epsilon: Floats, along: AlongStep, neurons: NeuronNodes) -> Tilt:
    """The tilt of neurons with these epsilon_2."""
    k = 2 * np.outer(along.vMe, epsilon) + np.outer(along.vM2e, epsilon**2)
    return Tilt(epsilon, k, along.vMe, np.maximum(neurons.along, LEAST))
