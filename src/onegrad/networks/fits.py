r"""Which rows and which features a ridge path is fitted on.

Primal: :math:`\hat a = (F^\top F + n\lambda)^{-1}F^\top y`. Dual: :math:`\hat a = F^\top\alpha`,
:math:`\alpha = (FF^\top + n\lambda)^{-1}y`. Features are made block by block and never held whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from onegrad.arrays import Array, transpose
from onegrad.networks.network import FeatureMap
from onegrad.networks.sampling import Sampler
from onegrad.ridge import Fit, Moments, NormalEquations, dual
from onegrad.ridge.moments import add_rows, no_rows

NEURONS = 1024  # neurons of a tile when the Gram matrix is over rows


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
    be, p, B = sampler.backend, sampler.problem, len(sampler.seeds)
    sums: dict[int, Moments] = defaultdict(partial(no_rows, be, B, features.width, p.n))
    for rows in sampler.ridge_rows():
        for e, F in enumerate(features.tiles(rows)):
            add_rows(sums[e], F, rows.y, p.intercept)

    def equations(e: int) -> NormalEquations:  # their memory is free for the next factor
        return NormalEquations.of(sums.pop(e), p.intercept, use_up=True)

    if not leave_one_out:
        return be.map(lambda e: equations(e).path(ridges), list(sums))
    ways = be.map(lambda e: equations(e).left_out(ridges), list(sums))
    totals = [be.zeros(B, len(ridges)) for _ in ways]
    for rows in sampler.ridge_rows():
        for way, total, F in zip(ways, totals, features.tiles(rows), strict=True):
            total += way.squares(F, rows.y)
    return [
        replace(way.fit, leave_one_out=total / p.n) for way, total in zip(ways, totals, strict=True)
    ]


def _dual(
    sampler: Sampler, features: FeatureMap, ridges: Sequence[float], leave_one_out: bool
) -> list[Fit]:
    """Fewer rows than features: F F^T by tiles of neurons, and F^T alpha by the same tiles."""
    be, p = sampler.backend, sampler.problem
    B, N = len(sampler.seeds), features.width
    rows = sampler.whole()
    size = be.stretch(NEURONS, B * p.n)
    tiles = [slice(j, min(j + size, N)) for j in range(0, N, size)]
    gram: dict[int, Array] = defaultdict(partial(be.zeros, B, p.n, p.n))
    for neurons in tiles:
        for e, F in enumerate(features.tiles(rows, neurons)):
            be.add_gram(gram[e], F, over_rows=True)
        sampler.tick()
    found = [
        dual(gram.pop(e), rows.y, ridges, p.intercept, leave_one_out) for e in range(len(gram))
    ]
    coef = [be.zeros(B, N, len(ridges)) for _ in found]
    for neurons in tiles:
        for a, fit, F in zip(coef, found, features.tiles(rows, neurons), strict=True):
            a[:, neurons] = transpose(F) @ fit.coef
        sampler.tick()
    return [replace(fit, coef=a) for a, fit in zip(coef, found, strict=True)]
