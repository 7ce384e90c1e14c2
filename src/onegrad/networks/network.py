"""The first layer: initial weights, gradient steps, and the features they give.

Arrays carry a leading replicate axis: W (B, N, d), a (B, N), X (B, rows, d).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from onegrad.arrays.backend import Array, Backend, transpose
from onegrad.functions.function import Function
from onegrad.networks.sampling import Role, Rows, Sampler

Tick = Callable[[], None]  # called once per stretch of rows: progress and interruption

ALL = slice(None)


class FeatureMap(Protocol):
    """Rows to features, for several networks (one per eta) that share their matrix products."""

    @property
    def count(self) -> int:
        """Networks."""

    @property
    def width(self) -> int:
        """Features of each."""

    def tiles(self, rows: Rows, neurons: slice = ALL) -> Iterator[Array]:
        """F (B, rows, neurons) of each network in turn; the next may overwrite it."""


@dataclass(frozen=True)
class Network:
    """The untrained network and its teacher."""

    W: Array  # (B, N, d)
    a: Array  # (B, N)
    teacher: Array  # (B, d, indices)


@dataclass(frozen=True)
class Gradient:
    r"""Minus the gradient, and the directions that its rows mostly point in.

    .. math:: G = \tfrac1n [r\,a^\top \odot \sigma'(XW^\top)]^\top X,\qquad
              \beta = X^\top r/n,\qquad \beta_y = X^\top y/n

    with the residual r = y - f or, where the problem says so, r = y.
    """

    G: Array  # (B, N, d)
    beta: Array  # (B, d)
    beta_labels: Array  # (B, d)


def initial(sampler: Sampler) -> Network:
    return Network(sampler.weights(), sampler.readout(), sampler.teacher())


def gradient(sampler: Sampler, network: Network, W: Array, index: int, tick: Tick) -> Gradient:
    """Minus the gradient at first-layer weights W over the batch number `index`, streamed."""
    p, be = sampler.problem, sampler.backend
    B, N, d = W.shape
    n = p.rows_of_step
    G, beta, beta_labels = be.zeros(B, N, d), be.zeros(B, d), be.zeros(B, d)
    batch = index if p.batches == "fresh" else 0
    for rows in sampler.rows(Role.STEP, n, network.teacher, batch):
        P = rows.X @ transpose(W)  # (B, rows, N)
        r = rows.y
        if p.residual == "full":
            r = r - (be.apply(p.sigma, P) @ network.a[..., None])[..., 0]
            beta_labels += (rows.y[:, None, :] @ rows.X)[:, 0] / n
        # G = diag(a) sigma'(P)^T diag(r/n) X: scaling the thin factors spares two n x N passes
        X = rows.X * (r / n)[..., None]
        be.add_product(G, be.apply(p.sigma.derivative, P, out=P), X)
        beta += X.sum(-2)
        tick()
    G *= network.a[..., None]
    return Gradient(G, beta, beta_labels if p.residual == "full" else beta)


@dataclass(frozen=True)
class Affine:
    """f(X (W + eta G)^T) for several eta from two products; without G, the one network f(X W^T)."""

    backend: Backend
    f: Function
    W: Array
    G: Array | None = None
    etas: tuple[float, ...] = (0.0,)

    @property
    def count(self) -> int:
        return len(self.etas)

    @property
    def width(self) -> int:
        return int(self.W.shape[1])

    def tiles(self, rows: Rows, neurons: slice = ALL) -> Iterator[Array]:
        P = rows.X @ transpose(self.W[:, neurons])
        if self.G is None:
            yield self.backend.apply(self.f, P, out=P)
            return
        Q = rows.X @ transpose(self.G[:, neurons])
        F = None
        for eta in self.etas:
            F = self.backend.apply(self.f, P, Q, eta, out=F)
            yield F


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

    def tiles(self, rows: Rows, neurons: slice = ALL) -> Iterator[Array]:
        for m in self.maps:
            yield from m.tiles(rows, neurons)


def trained(
    sampler: Sampler,
    network: Network,
    first: Gradient,
    etas: tuple[float, ...],
    tick: Tick,
    f: Function | None = None,
) -> FeatureMap:
    """The features f (default sigma) of the networks after `problem.steps` steps of each size."""
    p, be, W = sampler.problem, sampler.backend, network.W
    f = p.sigma if f is None else f
    if p.steps == 1 and len(etas) > 1:
        return Affine(be, f, W, first.G, etas)
    maps = []
    for eta in etas:
        W_eta = W + eta * first.G
        for index in range(1, p.steps):
            W_eta = W_eta + eta * gradient(sampler, network, W_eta, index, tick).G
        maps.append(Affine(be, f, W_eta))
    return maps[0] if len(maps) == 1 else Several(tuple(maps))
