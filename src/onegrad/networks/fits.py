r"""Which rows and which features a ridge path is fitted on.

Primal: :math:`\hat a = (F^\top F + n\lambda)^{-1}F^\top y`. Dual: :math:`\hat a = F^\top\alpha`,
:math:`\alpha = (FF^\top + n\lambda)^{-1}y`. Features are made block by block and held whole only in
the dual, where they are few enough.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from onegrad.arrays import Array, Ops, transpose
from onegrad.networks.network import FeatureMap
from onegrad.networks.sampling import Sampler, Stretch
from onegrad.networks.streaming import total
from onegrad.parallel import pool_size
from onegrad.ridge import Fit, Moments, NormalEquations, dual
from onegrad.ridge.moments import add_rows, no_rows

TILE_NEURONS = 1024  # when the Gram matrix is over rows


def fits(
    sampler: Sampler, features: FeatureMap, ridges: Sequence[float], leave_one_out: bool = False
) -> list[Fit]:
    """The ridge path of every network of `features`, on the smaller of the two Gram matrices."""
    solve = _dual if sampler.problem.n < features.width else _primal
    return solve(sampler, features, ridges, leave_one_out)


def _primal(
    sampler: Sampler, features: FeatureMap, ridges: Sequence[float], leave_one_out: bool
) -> list[Fit]:
    """Fewer features than rows: F^T F, and for leave-one-out a second pass over the rows."""
    ops, p, B = sampler.ops, sampler.problem, len(sampler.seeds)

    def begin() -> list[Moments]:
        return [no_rows(ops, B, features.width, p.n) for _ in range(features.networks)]

    def add(sums: list[Moments], rows: Stretch) -> None:
        for m, F in zip(sums, features.tiles(rows), strict=True):
            add_rows(m, F, rows.y, p.intercept)

    def arrays(sums: list[Moments]) -> list[Array]:
        return [x for m in sums for x in m.arrays]

    sums: list[Moments] = total(sampler, sampler.ridge_rows, begin, add, arrays)
    waiting = dict(enumerate(sums))
    del sums

    def equations(e: int) -> NormalEquations:  # their memory is free for the next factor
        return NormalEquations.of(waiting.pop(e), p.intercept, use_up=True)

    if not leave_one_out:
        return ops.map(lambda e: equations(e).path(ridges), list(waiting))
    ways = ops.map(lambda e: equations(e).left_out(ridges), list(waiting))

    def again(squares: Array, rows: Stretch) -> None:
        for e, (way, F) in enumerate(zip(ways, features.tiles(rows), strict=True)):
            squares[e] += way.squares(F, rows.y)

    shape = (len(ways), B, len(ridges))
    squares = total(sampler, sampler.ridge_rows, lambda: ops.zeros(*shape), again, lambda x: [x])
    return [replace(way.fit, leave_one_out=x / p.n) for way, x in zip(ways, squares, strict=True)]


def _dual(
    sampler: Sampler, features: FeatureMap, ridges: Sequence[float], leave_one_out: bool
) -> list[Fit]:
    """Fewer rows than features: F F^T, and the readout F^T alpha."""
    ops, p = sampler.ops, sampler.problem
    B, N = len(sampler.seeds), features.width
    rows = sampler.whole()
    if ops.may_hold(3 * B * p.n * N, pool_size()):
        return _dual_whole(ops, features.tiles(rows), rows, ridges, (p.intercept, leave_one_out))
    size = ops.stretch(TILE_NEURONS, B * p.n, pool_size())
    tiles = [slice(j, min(j + size, N)) for j in range(0, N, size)]
    gram: dict[int, Array] = defaultdict(partial(ops.zeros, B, p.n, p.n))
    for neurons in tiles:
        for e, F in enumerate(features.tiles(rows, neurons)):
            ops.add_gram(gram[e], F, over_rows=True)
        sampler.tick()
    found = [
        dual(gram.pop(e), rows.y, ridges, p.intercept, leave_one_out) for e in range(len(gram))
    ]
    coef = [ops.zeros(B, N, len(ridges)) for _ in found]
    for neurons in tiles:  # the features a second time: n x N was never held
        for a, fit, F in zip(coef, found, features.tiles(rows, neurons), strict=True):
            a[:, neurons] = transpose(F) @ fit.coef
        sampler.tick()
    return [replace(fit, coef=a) for a, fit in zip(coef, found, strict=True)]


def _dual_whole(
    ops: Ops,
    features: Iterator[Array],
    rows: Stretch,
    ridges: Sequence[float],
    how: tuple[bool, bool],
) -> list[Fit]:
    """Network by network, each with its features made once and held until its readout is known."""
    B, n = rows.y.shape
    found = []
    for F in features:
        K = ops.zeros(B, n, n)
        ops.add_gram(K, F, over_rows=True)
        fit = dual(K, rows.y, ridges, *how)
        coef = ops.product(transpose(F), transpose(fit.coef))
        found.append(replace(fit, coef=coef))
    return found
