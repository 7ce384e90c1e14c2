r"""Neurons that start along v lean towards other directions, and back.

The step multiplies a neuron's initial weight by :math:`1 + \epsilon_2M`, :math:`\epsilon_2 =
2c_2\gamma g`. Along v and along directions e off v its weights have the covariance

.. math:: \tfrac1dk, \qquad k = 2\epsilon_2f + \epsilon_2^2e^\top M^2v, \qquad f = e^\top Mv,

so a neuron of initial weight :math:`\omega/\sqrt d` along v reads e with the mean weight
:math:`k\,\omega/\sqrt{d\kappa_v}`, and the covariance that is left for the bulk changes by
:math:`\epsilon_2^2ff^\top - kk^\top/\kappa_v`.

Equal readouts need the whole of it, with e the direction of k itself (`covariance`): only the
weight along v tells their neurons apart, and since all neurons lean alike, what is fitted by it
comes with the noise of Mv. Other readouts tell neurons apart by the step itself: of Mv only the
part along the teacher's directions matters, to first order.
"""

from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.covariance import AlongStep
from onegrad.theory.uniform.quadrature_nodes import NeuronNodes

MIN_VARIANCE_SHARE = 0.05  # of a variance that is left


@dataclass(frozen=True)
class Tilt:
    """The tilt of each of U neurons towards t directions off v."""

    epsilon: Floats  # (U,) epsilon_2
    k: Floats  # (t, U) covariances of a neuron's weights along v and the directions
    f: Floats  # (t,) e^T Mv
    along: Floats  # (U,) kappa_v
    exact: bool  # k is all of Kv, and not its first order along the teacher's directions

    def mean_weights(self, neurons: NeuronNodes) -> Floats:
        """Return the mean weight of each neuron along each direction, (t, U)."""
        return self.k * neurons.start / np.sqrt(self.along)

    def left_to_bulk(self, kappa: Floats, vector: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Return kappa_r, (U, R), and vectors, (R, t), of the blocks less the mean weights."""
        if self.exact:
            return self._left_exactly(kappa, vector, weight)
        return self._left_to_first_order(kappa, vector), vector

    def _left_exactly(self, kappa: Floats, vector: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Return what is left and its vectors, for all of k.

        The blocks' matrix, diag(kappa) and the change between their vectors, is diagonalised
        for the mean over neurons; for a single neuron the diagonal is kept in that basis.
        """
        by_f, by_k = vector @ self.f, vector @ self.k  # (R,), (R, U)
        epsilon2 = self.epsilon**2
        mean = np.diag(weight @ kappa) + (weight @ epsilon2) * np.outer(by_f, by_f)
        mean -= (by_k * (weight / self.along)) @ by_k.T
        Q = np.linalg.eigh(mean)[1]
        turned = kappa @ Q**2 + np.outer(epsilon2, (by_f @ Q) ** 2)
        turned -= (by_k.T @ Q) ** 2 / self.along[:, None]
        return np.maximum(turned, MIN_VARIANCE_SHARE * kappa.min(1)[:, None]), Q.T @ vector

    def _left_to_first_order(self, kappa: Floats, vector: Floats) -> Floats:
        r"""Return what is left, for k of first order.

        The change, in the metric of :math:`\sum_r\varpi_r\varpi_r^\top\kappa_r`, is shared by
        the blocks as their vectors have part in it.
        """
        values, vectors = np.linalg.eigh((vector.T * kappa[:, None, :]) @ vector)  # (U, t, t)
        root = (vectors / np.sqrt(np.maximum(values, 1e-12))[:, None, :]) @ vectors.swapaxes(1, 2)
        part = (vector @ root @ self.f[:, None])[:, :, 0]  # (U, R)
        change = self.epsilon**2 * (1 - 4 / self.along)
        share = part**2 / (vector**2).sum(1) * change[:, None]
        return kappa * np.maximum(1 + share, MIN_VARIANCE_SHARE)


def neuron_tilt(epsilon: Floats, along: AlongStep, neurons: NeuronNodes, exact: bool) -> Tilt:
    """Return the tilt of neurons with these epsilon_2."""
    k = 2 * np.outer(along.M_ve, epsilon) + np.outer(along.M2_ve, epsilon**2)
    return Tilt(epsilon, k, along.M_ve, np.maximum(neurons.along, MIN_VARIANCE_SHARE), exact)
