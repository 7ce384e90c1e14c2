"""The first layer: initial weights, gradient steps, and the features they give.

Arrays carry a leading replicate axis: W (B, N, d), a (B, N), X (B, rows, d).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from onegrad.arrays import Array, Ops, namespace, transpose
from onegrad.functions.function import Function
from onegrad.networks.sampling import SampleBlock, Sampler, step_rows, sum_over_rows
from onegrad.networks.streams import GAUSSIAN, Purpose, Streams
from onegrad.problem import PRECONDITIONER_SHIFT, Law, Problem

ALL_NEURONS = slice(None)


@dataclass(frozen=True)
class FeatureMap:
    """A map from rows to features, for several networks (one per eta) that share their products.

    width : features of each network.
    networks : number of networks.
    tiles : (block, neurons = all) yields F (B, rows, neurons) of each network in turn; the next may
        overwrite it.
    stacked : fills F (networks, B, rows, neurons) for all neurons, where that is offered.
    """

    width: int
    networks: int
    tiles: Callable[..., Iterator[Array]]
    stacked: Callable[[SampleBlock, Array], None] | None = None


@dataclass(frozen=True)
class Gradient:
    r"""Minus the gradient, and the direction that its rows mostly point in.

    .. math:: G = \tfrac1n [r\,a^\top \odot \sigma'(XW^\top)]^\top X,\qquad \beta = X^\top r/n

    with the residual r = y - s f, s the problem's `output_scale`.
    """

    G: Array  # (B, N, d)
    beta: Array  # (B, d)

    def arrays(self) -> list[Array]:
        return [self.G, self.beta]


@dataclass(frozen=True)
class Network:
    """Untrained networks, the data they will see, and minus their first gradient."""

    sampler: Sampler
    W: Array  # (B, N, d)
    a: Array  # (B, N)

    @classmethod
    def of(cls, sampler: Sampler) -> Network:
        p, streams = sampler.problem, sampler.streams
        return cls(sampler, draw_weights(p, streams), draw_readout(p, streams))

    @property
    def first(self) -> Gradient:
        """The gradient at the untrained weights over the first batch; remembered."""
        # functools.cached_property holds one lock for all instances before Python 3.12: the
        # gradients of replicates on several threads would wait for each other
        if "first_" not in self.__dict__:
            self.__dict__["first_"] = self.gradient(self.W, 0)
        return self.__dict__["first_"]

    @property
    def first_update(self) -> Array:
        """The change of the weights by the first step, per unit of eta."""
        return update(self.sampler, self.first.G, 0)

    def gradient(self, W: Array, step: int) -> Gradient:
        """Return minus the gradient at weights W over the rows of a step, block by block."""
        p, ops = self.sampler.problem, self.sampler.ops
        B, N, d = W.shape
        n = p.rows_of_step
        unit = 2.0 ** round(math.log2(n))  # r/n in units of order one: half precision

        def zeros() -> Gradient:
            return Gradient(ops.zeros(B, N, d), ops.zeros(B, d))

        def add(g: Gradient, block: SampleBlock) -> None:
            r = block.y
            if p.output_scale:
                P = ops.product(block.X, W)  # (B, rows, N)
                f = ops.read_out(ops.apply(p.sigma, P), self.a[..., None])[..., 0]
                r = r - p.output_scale * f
                slopes = ops.apply(p.sigma.derivative, P, out=P)
            else:
                slopes = ops.product(block.X, W, p.sigma.derivative)
            # G = diag(a) sigma'(P)^T diag(r/n) X: scaling the thin factors spares two n x N passes
            weights = r / n
            ops.add_weighted_rows(g.beta, weights, block.X)
            ops.add_product(g.G, slopes, ops.scale_rows(block.X, weights * unit))

        gradient = sum_over_rows(self.sampler, step_rows(p, step), zeros, add, Gradient.arrays)
        G = gradient.G
        G *= self.a[..., None] / unit
        return gradient

    def trained_weights(self, eta: float) -> Array:
        """Return the weights after `problem.steps` steps, the first of size eta."""
        p = self.sampler.problem
        rest = 1 - p.weight_decay  # of the weights before a step
        W = rest * self.W + eta * self.first_update
        sizes = p.replace(eta=eta).later_sizes
        for step in range(1, p.steps):
            later_eta = sizes[min(step, len(sizes)) - 1]
            W = rest * W + later_eta * update(self.sampler, self.gradient(W, step).G, step)
        return W

    def trained(self, etas: tuple[float, ...], f: Function | None = None) -> FeatureMap:
        """Return the features f (default sigma) after `problem.steps` steps of each size."""
        p, ops = self.sampler.problem, self.sampler.ops
        f = f or p.sigma
        if p.steps == 1 and len(etas) > 1:  # weights are linear in eta: two products serve all
            return shared_features(ops, f, (1 - p.weight_decay) * self.W, self.first_update, etas)
        maps = [layer_features(ops, f, self.trained_weights(eta)) for eta in etas]

        def in_turn(block: SampleBlock, neurons: slice = ALL_NEURONS) -> Iterator[Array]:
            return chain.from_iterable(m.tiles(block, neurons) for m in maps)

        return maps[0] if len(maps) == 1 else FeatureMap(p.N, len(maps), in_turn)

    def untrained(self, f: Function | None = None) -> FeatureMap:
        """Return the features f (default sigma) at the untrained weights."""
        return layer_features(self.sampler.ops, f or self.sampler.problem.sigma, self.W)


def update(sampler: Sampler, G: Array, step: int) -> Array:
    r"""Return the direction of a step where minus the gradient is G, (B, N, d).

    .. math::
        \text{preconditioned: }
        G\Big(\hat\Sigma + \epsilon\frac{\mathrm{tr}\hat\Sigma}{d}\Big)^{-1},
        \qquad \text{spectral: } UV^\top \text{ of } G = USV^\top,

    each scaled to the Frobenius norm of G, so that eta means the same, with
    :math:`\hat\Sigma = X^\top X/n_0`.
    """
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


def draw_weights(problem: Problem, streams: Streams) -> Array:
    """Draw W_0, shape (B, N, d): rows N(0, I/d) or uniform on the unit sphere.

    Of paired neurons the second half has the weights of the first, and minus its readouts.
    """
    # the same normals for both laws: a seed's directions do not depend on the lengths
    neurons = problem.N // (1 + problem.paired)
    W = streams.entries(GAUSSIAN, (Purpose.WEIGHTS,), 0, neurons, problem.d)
    W /= (W * W).sum(-1)[..., None] ** 0.5 if problem.weights == "sphere" else math.sqrt(problem.d)
    return namespace(W).concatenate([W, W], 1) if problem.paired else W


def draw_readout(problem: Problem, streams: Streams) -> Array:
    """Draw a, shape (B, N): sqrt(N) a has entries of the law of the readout."""
    law = GAUSSIAN if problem.readout == "constant" else Law(problem.readout)
    neurons = problem.N // (1 + problem.paired)
    a = streams.entries(law, (Purpose.READOUT,), 0, neurons, 1)[..., 0]
    a = (0 * a + 1 if problem.readout == "constant" else a) / math.sqrt(problem.N)
    return namespace(a).concatenate([a, -a], 1) if problem.paired else a


def layer_features(ops: Ops, f: Function, W: Array) -> FeatureMap:
    """Return the features f(X W^T) of one network."""

    def features(block: SampleBlock, neurons: slice = ALL_NEURONS) -> Iterator[Array]:
        yield ops.product(block.X, W[:, neurons], f)

    return FeatureMap(int(W.shape[1]), 1, features)


def shared_features(
    ops: Ops, f: Function, W: Array, G: Array, etas: tuple[float, ...]
) -> FeatureMap:
    """Return the features f(X (W + eta G)^T) of one network per eta, from two products."""

    def features(block: SampleBlock, neurons: slice = ALL_NEURONS) -> Iterator[Array]:
        P, Q = products(block, neurons)
        F = None
        for eta in etas:
            F = ops.apply(f, P, Q, eta, out=F)
            yield F

    def products(block: SampleBlock, neurons: slice) -> tuple[Array, Array]:
        return ops.product(block.X, W[:, neurons]), ops.product(block.X, G[:, neurons])

    def stacked(block: SampleBlock, F: Array) -> None:
        P, Q = products(block, ALL_NEURONS)
        for F_eta, eta in zip(F, etas, strict=True):
            ops.apply(f, P, Q, eta, out=F_eta)

    on_host = ops.device == "cpu"  # elsewhere networks one after the other fill the device
    return FeatureMap(int(W.shape[1]), len(etas), features, stacked if on_host else None)
