r"""Neurons that start along v lean towards other directions, and back.

The step multiplies a neuron's initial weight by :math:`1 + \epsilon_2M`, :math:`\epsilon_2 =
2c_2\gamma g`. Along v and along directions e off v its weights have the covariance

.. math:: \tfrac1dk, \qquad k = 2\epsilon_2f + \epsilon_2^2e^\top M^2v, \qquad f = e^\top Mv,

so a neuron of initial weight :math:`\omega/\sqrt d` along v reads e with the mean weight
:math:`k\,\omega/\sqrt{d\kappa_v}`, and the covariance that is left for the bulk changes by
:math:`\epsilon_2^2ff^\top - kk^\top/\kappa_v`.

Equal readouts need the whole of it, with e the direction of k itself (`moved`). Nothing but the
weight along v tells their neurons apart: what is fitted by it comes with the noise of Mv, all
neurons leaning alike. Other readouts tell neurons apart by the step itself: of Mv only the part
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
    """Of each neuron: epsilon_2, its covariances k with the directions (t, U), and kappa_v.

    whole : k is all there is of Kv, and not its first order along the teacher's directions.
    """

    epsilon: Floats
    k: Floats
    f: Floats
    along: Floats
    whole: bool

    def lean(self, neurons: NeuronNodes) -> Floats:
        """Mean weight along each direction, (t, U)."""
        return np.asarray(self.k * neurons.start / np.sqrt(self.along))

    def left_to_bulk(self, kappa: Floats, vector: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """kappa_r, (U, R), and vectors, (R, t), of the blocks less what `lean` takes."""
        if self.whole:
            return self._turned(kappa, vector, weight)
        return self._shared(kappa, vector), vector

    def _turned(self, kappa: Floats, vector: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """What is left and its vectors, for all of k.

        The blocks' matrix, diag(kappa) and the change between their vectors, is diagonalised
        for the mean over neurons; of a single one the diagonal is kept in that basis.
        """
        by_f, by_k = vector @ self.f, vector @ self.k  # (R,), (R, U)
        epsilon2 = self.epsilon**2
        mean = np.diag(weight @ kappa) + (weight @ epsilon2) * np.outer(by_f, by_f)
        mean -= (by_k * (weight / self.along)) @ by_k.T
        Q = np.linalg.eigh(mean)[1]
        turned = kappa @ Q**2 + np.outer(epsilon2, (by_f @ Q) ** 2)
        turned -= (by_k.T @ Q) ** 2 / self.along[:, None]
        return np.maximum(turned, LEAST * kappa.min(1)[:, None]), Q.T @ vector

    def _shared(self, kappa: Floats, vector: Floats) -> Floats:
        r"""What is left, for k of first order.

        The change, in the metric of :math:`\sum_r\varpi_r\varpi_r^\top\kappa_r`, is shared by
        the blocks as their vectors have part in it.
        """
        values, vectors = np.linalg.eigh((vector.T * kappa[:, None, :]) @ vector)  # (U, t, t)
        root = (vectors / np.sqrt(np.maximum(values, 1e-12))[:, None, :]) @ vectors.swapaxes(1, 2)
        part = (vector @ root @ self.f[:, None])[:, :, 0]  # (U, R)
        change = self.epsilon**2 * (1 - 4 / self.along)
        share = part**2 / (vector**2).sum(1) * change[:, None]
        return np.asarray(kappa * np.maximum(1 + share, LEAST))


def tilt(epsilon: Floats, along: AlongStep, neurons: NeuronNodes, whole: bool) -> Tilt:
    """The tilt of neurons with these epsilon_2."""
    k = 2 * np.outer(along.vMe, epsilon) + np.outer(along.vM2e, epsilon**2)
    return Tilt(epsilon, k, along.vMe, np.maximum(neurons.along, LEAST), whole)
