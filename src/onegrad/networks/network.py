"""The first layer: initial weights, gradient steps, and the features they give.

Arrays carry a leading replicate axis: W (B, N, d), a (B, N), X (B, rows, d).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from onegrad.arrays import Array, Ops
from onegrad.functions.function import Function
from onegrad.networks.input_rows import step_rows
from onegrad.networks.sampling import SampleBlock, Sampler, sum_over_rows
from onegrad.networks.streams import GAUSSIAN, SIGNS, Purpose, Streams
from onegrad.networks.updates import update
from onegrad.problem import Problem

ALL_NEURONS = slice(None)


class FeatureMap(Protocol):
    """A map from rows to features, for several networks (one per eta) that share their products."""

    @property
    def width(self) -> int:
        """Number of features of each network."""

    @property
    def networks(self) -> int:
        """Number of networks."""

    def tiles(self, block: SampleBlock, neurons: slice = ALL_NEURONS) -> Iterator[Array]:
        """Yield F (B, rows, neurons) of each network in turn; the next may overwrite it."""


@dataclass(frozen=True)
class Gradient:
    r"""Minus the gradient, and the directions that its rows mostly point in.

    .. math:: G = \tfrac1n [r\,a^\top \odot \sigma'(XW^\top)]^\top X,\qquad
              \beta = X^\top r/n,\qquad \beta_y = X^\top y/n

    with the residual r = y - f or, where the problem says so, r = y.
    """

    G: Array  # (B, N, d)
    beta: Array  # (B, d)
    own_labels: Array | None = None  # (B, d) where the residual is not the labels

    @property
    def beta_labels(self) -> Array:
        """X^T y/n, (B, d)."""
        return self.beta if self.own_labels is None else self.own_labels

    def arrays(self) -> list[Array]:
        """Return the sums over rows of which it consists."""
        return [x for x in (self.G, self.beta, self.own_labels) if x is not None]


@dataclass(frozen=True)
class Network:
    """Untrained networks, the data they will see, and minus their first gradient."""

    sampler: Sampler
    W: Array  # (B, N, d)
    a: Array  # (B, N)

    @classmethod
    def of(cls, sampler: Sampler) -> Network:
        """Draw the untrained networks."""
        p, streams = sampler.problem, sampler.streams
        return cls(sampler, draw_weights(p, streams), draw_readout(p, streams))

    @property
    def first(self) -> Gradient:
        """The gradient at the untrained weights over the first batch; remembered."""
        # functools.cached_property holds one lock for all instances before Python 3.12: the
        # gradients of replicates on several threads would wait for each other
        if "first_" not in self.__dict__:
            self.__dict__["first_"] = self.gradient(self.W, 0)
        first: Gradient = self.__dict__["first_"]
        return first

    @property
    def first_update(self) -> Array:
        """The change of the weights by the first step, per unit of eta."""
        return update(self.sampler, self.first.G, 0)

    def gradient(self, W: Array, step: int) -> Gradient:
        """Return minus the gradient at weights W over the rows of a step, block by block."""
        p, ops = self.sampler.problem, self.sampler.ops
        B, N, d = W.shape
        n, full = p.rows_of_step, p.residual == "full"

        def zeros() -> Gradient:
            return Gradient(ops.zeros(B, N, d), *(ops.zeros(B, d) for _ in range(1 + full)))

        def add(g: Gradient, block: SampleBlock) -> None:
            r = block.y
            if full:
                P = ops.product(block.X, W)  # (B, rows, N)
                r = r - (ops.apply(p.sigma, P) @ self.a[..., None])[..., 0]
                ops.add_weighted_rows(g.beta_labels, block.y / n, block.X)
                slopes = ops.apply(p.sigma.derivative, P, out=P)
            else:
                slopes = ops.product(block.X, W, p.sigma.derivative)
            # G = diag(a) sigma'(P)^T diag(r/n) X: scaling the thin factors spares two n x N passes
            weights = r / n
            ops.add_weighted_rows(g.beta, weights, block.X)
            ops.add_product(g.G, slopes, ops.scale_rows(block.X, weights))

        gradient = sum_over_rows(self.sampler, step_rows(p, step), zeros, add, Gradient.arrays)
        G = gradient.G
        G *= self.a[..., None]
        return gradient

    def trained(self, etas: tuple[float, ...], f: Function | None = None) -> FeatureMap:
        """Return the features f (default sigma) after `problem.steps` steps of each size."""
        p, ops = self.sampler.problem, self.sampler.ops
        f = p.sigma if f is None else f
        if p.steps == 1 and len(etas) > 1:
            return Affine(ops, f, self.W, self.first_update, etas)
        maps = []
        for eta in etas:
            W = self.W + eta * self.first_update
            later_steps = p.replace(eta=eta).later_steps if p.steps > 1 else ()
            for step, later_eta in enumerate(later_steps, 1):
                W = W + later_eta * update(self.sampler, self.gradient(W, step).G, step)
            maps.append(Affine(ops, f, W))
        return maps[0] if len(maps) == 1 else SeparateMaps(tuple(maps))

    def untrained(self, f: Function | None = None) -> Affine:
        """Return the features f (default sigma) at the untrained weights."""
        p = self.sampler.problem
        return Affine(self.sampler.ops, p.sigma if f is None else f, self.W)


def draw_weights(problem: Problem, streams: Streams) -> Array:
    """Draw W_0, shape (B, N, d): rows N(0, I/d) or uniform on the unit sphere."""
    W = streams.entries(GAUSSIAN, (Purpose.WEIGHTS,), 0, problem.N, problem.d)
    sphere = problem.weights == "sphere"
    W /= (W * W).sum(-1)[..., None] ** 0.5 if sphere else math.sqrt(problem.d)
    return W


def draw_readout(problem: Problem, streams: Streams) -> Array:
    """Draw a, shape (B, N): sqrt(N) a has standard normal, unit or random-sign entries."""
    law = SIGNS if problem.readout == "rademacher" else GAUSSIAN
    a = streams.entries(law, (Purpose.READOUT,), 0, problem.N, 1)[..., 0]
    return (0 * a + 1 if problem.readout == "constant" else a) / math.sqrt(problem.N)


@dataclass(frozen=True)
class Affine:
    """f(X (W + eta G)^T) for several eta from two products; without G, the one network f(X W^T)."""

    ops: Ops
    f: Function
    W: Array
    G: Array | None = None
    etas: tuple[float, ...] = (0.0,)

    @property
    def width(self) -> int:
        return int(self.W.shape[1])

    @property
    def networks(self) -> int:
        return len(self.etas)

    def tiles(self, block: SampleBlock, neurons: slice = ALL_NEURONS) -> Iterator[Array]:
        ops = self.ops
        if self.G is None:
            yield ops.product(block.X, self.W[:, neurons], self.f)
            return
        P, Q = ops.product(block.X, self.W[:, neurons]), ops.product(block.X, self.G[:, neurons])
        F = None
        for eta in self.etas:
            F = ops.apply(self.f, P, Q, eta, out=F)
            yield F


@dataclass(frozen=True)
class SeparateMaps:
    """Feature maps one after the other, where networks share no product."""

    maps: tuple[FeatureMap, ...]

    @property
    def width(self) -> int:
        return self.maps[0].width

    @property
    def networks(self) -> int:
        return sum(m.networks for m in self.maps)

    def tiles(self, block: SampleBlock, neurons: slice = ALL_NEURONS) -> Iterator[Array]:
        for m in self.maps:
            yield from m.tiles(block, neurons)


@dataclass(frozen=True)
class RawInputs:
    """The inputs themselves as features."""

    width: int
    networks: int = 1

    def tiles(self, block: SampleBlock, neurons: slice = ALL_NEURONS) -> Iterator[Array]:
        yield block.X[..., neurons]
