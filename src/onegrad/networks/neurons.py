"""Where the neurons of one network point, before and after the step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats, get_ops, to_numpy
from onegrad.exceptions import InvalidInput
from onegrad.networks.network import Network
from onegrad.networks.sampling import Sampler
from onegrad.problem import Problem


@dataclass(frozen=True)
class NeuronOverlaps:
    r"""Readout and overlap of every neuron.

    readout : :math:`\sqrt N a_i`.
    before, after : :math:`w_i\cdot\beta_\star/|w_i|` at the untrained and the trained weights.
    """

    readout: Floats
    before: Floats
    after: Floats


def neurons(problem: Problem, seed: int = 0) -> NeuronOverlaps:
    """The neurons of the network of this seed.

    See tests/explorer/test_one_network_is_shown_as_it_is.py.
    """
    network = Network.of(Sampler(problem, (seed,), get_ops()))
    return after_step(network, to_numpy(network.first_update)[0], problem.step)


def after_step(network: Network, update: Floats, eta: float) -> NeuronOverlaps:
    """The neurons of the first replicate at the weights W + eta update."""
    problem, beta = network.sampler.problem, to_numpy(network.sampler.teacher)[0]
    if beta.shape[1] != 1 or problem.steps != 1:
        field = "steps" if problem.steps != 1 else "teacher"
        value = getattr(problem, field)
        raise InvalidInput(field, value, problem="neurons are shown for one index and one step")
    W = to_numpy(network.W)[0]
    return NeuronOverlaps(
        readout=np.sqrt(problem.N) * to_numpy(network.a)[0],
        before=_overlaps(W, beta[:, 0]),
        after=_overlaps(W + eta * update, beta[:, 0]),
    )


def _overlaps(W: Floats, beta: Floats) -> Floats:
    return np.asarray(W @ beta / np.maximum(np.linalg.norm(W, axis=1), 1e-300))
