r"""Which rows and which features a ridge path is fitted on.

Primal: :math:`\hat a = (F^\top F + n\lambda)^{-1}F^\top y`. Dual: :math:`\hat a = F^\top\alpha`,
:math:`\alpha = (FF^\top + n\lambda)^{-1}y`. Features are made block by block and never held whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onegrad.arrays import transpose
from onegrad.networks.network import FeatureMap
from onegrad.networks.sampling import Sampler
from onegrad.ridge import Fit, NormalEquations, dual
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
    be, p, E = sampler.backend, sampler.problem, features.count
    sums = {e: no_rows(be, len(sampler.seeds), features.width, p.n) for e in range(E)}
    for rows in sampler.ridge_rows():
        for e, F in enumerate(features.tiles(rows)):
            add_rows(sums[e], F, rows.y, p.intercept)

    def equations(e: int) -> NormalEquations:  # their memory is free for the next factor
        return NormalEquations.of(sums.pop(e), p.intercept, use_up=True)

    if not leave_one_out:
        return be.map(lambda e: equations(e).path(ridges), range(E))
    ways = be.map(lambda e: equations(e).left_out(ridges), range(E))
    totals = [be.zeros(len(sampler.seeds), len(ridges)) for _ in ways]
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
    B, N, E = len(sampler.seeds), features.width, features.count
    rows = sampler.whole()
    size = be.stretch(NEURONS, B * p.n)
    tiles = [slice(j, min(j + size, N)) for j in range(0, N, size)]
    gram = [be.zeros(B, p.n, p.n) for _ in range(E)]
    for neurons in tiles:
        for K, F in zip(gram, features.tiles(rows, neurons), strict=True):
            be.add_gram(K, F, over_rows=True)
        sampler.tick()
    del K
    found = []
    while gram:
        found.append(dual(gram.pop(0), rows.y, ridges, p.intercept, leave_one_out))
    coef = [be.zeros(B, N, len(ridges)) for _ in range(E)]
    for neurons in tiles:
        for a, fit, F in zip(coef, found, features.tiles(rows, neurons), strict=True):
            a[:, neurons] = transpose(F) @ fit.coef
        sampler.tick()
    return [replace(fit, coef=a) for a, fit in zip(coef, found, strict=True)]
