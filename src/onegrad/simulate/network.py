"""The first layer: initial weights, gradient steps, and the features they give.

Arrays carry a leading replicate axis: W (B, N, d), a (B, N), X (B, rows, d).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from onegrad._xp import Array, Backend, transpose
from onegrad.simulate.sampling import Role, Sampler

Tick = Callable[[], None]  # called once per block of rows: progress and interruption

ALL = slice(None)


class FeatureMap(Protocol):
    """Rows to features, for several networks (one per eta) that share their matrix products."""

    @property
    def count(self) -> int:
        """Networks."""

    @property
    def width(self) -> int:
        """Features of each."""

    def tiles(self, X: Array, start: int, neurons: slice = ALL) -> Iterator[Array]:
        """F (B, rows, neurons) of each network in turn; `start` is the first row's number."""


@dataclass(frozen=True)
class Gradient:
    r"""Minus the gradient of the first step, and the direction that it mostly points in.

    .. math:: G = \tfrac1n [(y - f_0)a^\top \odot \sigma'(XW^\top)]^\top X,\qquad
              \beta = X^\top (y - f_0)/n
    """

    G: Array  # (B, N, d)
    beta: Array  # (B, d)


@dataclass(frozen=True)
class Network:
    """The untrained network and its teacher."""

    W: Array  # (B, N, d)
    a: Array  # (B, N)
    teacher: Array  # (B, d, indices)


def initial(sampler: Sampler) -> Network:
    return Network(sampler.weights(), sampler.readout(), sampler.teacher())


def gradient(sampler: Sampler, network: Network, W: Array, index: int, tick: Tick) -> Gradient:
    """Minus the gradient at first-layer weights W over the batch number `index`, streamed."""
    p, be = sampler.problem, sampler.backend
    B, N, d = W.shape
    n = p.rows_of_step
    G, beta = be.zeros(B, N, d), be.zeros(B, d)
    batch = index if p.batches == "fresh" else 0
    for rows in sampler.rows(Role.STEP, n, network.teacher, batch):
        P = rows.X @ transpose(W)  # (B, rows, N)
        r = rows.y
        if p.residual == "full":
            r = r - (be.apply(p.sigma, P) @ network.a[..., None])[..., 0]
        X = rows.X * (r / n)[..., None]
        # G = diag(a) sigma'(P)^T diag(r/n) X: scaling the thin factors spares two n x N passes
        be.add_product(G, be.apply(p.sigma.derivative, P), X)
        beta += X.sum(-2)
        tick()
    G *= network.a[..., None]
    return Gradient(G, beta)


@dataclass(frozen=True)
class Affine:
    """sigma(X (W + eta G)^T) for several eta from two products."""

    backend: Backend
    sigma: Callable[[Array], Array]
    W: Array
    G: Array | None
    etas: tuple[float, ...]

    @property
    def count(self) -> int:
        return len(self.etas)

    @property
    def width(self) -> int:
        return int(self.W.shape[1])

    def tiles(self, X: Array, start: int, neurons: slice = ALL) -> Iterator[Array]:
        P = X @ transpose(self.W[:, neurons])
        if self.G is None:
            yield self.backend.apply(self.sigma, P)
            return
        Q = X @ transpose(self.G[:, neurons])
        for eta in self.etas:
            yield self.backend.apply(lambda p, q, eta=eta: self.sigma(p + eta * q), P, Q)


@dataclass(frozen=True)
class Several:
    """Feature maps one after the other, where networks share no product."""

    maps: tuple[FeatureMap, ...]

    @property
    def count(self) -> int:
        return sum(m.count for m in self.maps)

    @property
    def width(self) -> int:
        return self.maps[0].width

    def tiles(self, X: Array, start: int, neurons: slice = ALL) -> Iterator[Array]:
        for m in self.maps:
            yield from m.tiles(X, start, neurons)


def trained(
    sampler: Sampler, network: Network, first: Gradient | None, etas: tuple[float, ...], tick: Tick
) -> FeatureMap:
    """The features of the networks that `problem.steps` steps of each size give."""
    p, be, W = sampler.problem, sampler.backend, network.W
    if first is None or not any(etas):
        untrained = Affine(be, p.sigma, W, None, (0.0,))
        return untrained if len(etas) == 1 else Several((untrained,) * len(etas))
    if p.steps == 1 and len(etas) > 1:
        return Affine(be, p.sigma, W, first.G, etas)
    maps = []
    for eta in etas:
        W_eta = W + eta * first.G
        for index in range(1, p.steps if eta else 1):
            W_eta = W_eta + eta * gradient(sampler, network, W_eta, index, tick).G
        maps.append(Affine(be, p.sigma, W_eta, None, (0.0,)))
    return maps[0] if len(maps) == 1 else Several(tuple(maps))
