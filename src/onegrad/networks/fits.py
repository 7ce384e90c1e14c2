r"""Ridge paths of networks, on the smaller of the two Gram matrices.

Primal: :math:`\hat a = (F^\top F + n\lambda)^{-1}F^\top y`. Dual: :math:`\hat a = F^\top\alpha`,
:math:`\alpha = (FF^\top + n\lambda)^{-1}y`. Features are made block by block and held whole only in
the dual, where they are few enough.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from onegrad.arrays import Array, Ops, transpose
from onegrad.networks.input_rows import ridge_rows
from onegrad.networks.network import FeatureMap
from onegrad.networks.sampling import SampleBlock, Sampler, sum_over_rows
from onegrad.ridge import Fit, Moments, NormalEquations, solve_dual
from onegrad.ridge.moments import add_rows, empty_moments

TILE_NEURONS = 1024  # when the Gram matrix is over rows


def fits(
    sampler: Sampler, features: FeatureMap, ridges: Sequence[float], leave_one_out: bool = False
) -> list[Fit]:
    """Return the ridge path of every network of `features`."""
    solve = _dual if sampler.problem.n < features.width else _primal
    return solve(sampler, features, ridges, leave_one_out)


def _primal(
    sampler: Sampler, features: FeatureMap, ridges: Sequence[float], leave_one_out: bool
) -> list[Fit]:
    """Solve with F^T F, for fewer features than rows; leave-one-out takes a second pass."""
    ops, p, B = sampler.ops, sampler.problem, sampler.stack_size

    def zeros() -> list[Moments]:
        return [empty_moments(ops, B, features.width, p.n) for _ in range(features.networks)]

    def add(sums: list[Moments], block: SampleBlock) -> None:
        for m, F in zip(sums, features.tiles(block), strict=True):
            add_rows(m, F, block.y, p.intercept)

    def arrays(sums: list[Moments]) -> list[Array]:
        return [x for m in sums for x in m.arrays]

    sums: list[Moments] = sum_over_rows(sampler, ridge_rows(p), zeros, add, arrays)
    waiting = dict(enumerate(sums))
    del sums

    def equations(e: int) -> NormalEquations:  # their memory is free for the next factor
        return NormalEquations.of(waiting.pop(e), p.intercept, overwrite=True)

    if not leave_one_out:
        return ops.map(lambda e: equations(e).path(ridges), list(waiting))
    paths = ops.map(lambda e: equations(e).leave_one_out(ridges), list(waiting))

    def add_squares(squares: Array, block: SampleBlock) -> None:
        for e, (path, F) in enumerate(zip(paths, features.tiles(block), strict=True)):
            squares[e] += path.squares(F, block.y)

    squares = sum_over_rows(
        sampler,
        ridge_rows(p),
        lambda: ops.zeros(len(paths), B, len(ridges)),
        add_squares,
        lambda x: [x],
    )
    return [
        replace(path.fit, leave_one_out=x / p.n) for path, x in zip(paths, squares, strict=True)
    ]


def _dual(
    sampler: Sampler, features: FeatureMap, ridges: Sequence[float], leave_one_out: bool
) -> list[Fit]:
    """Solve with F F^T, for fewer rows than features; the readout is F^T alpha."""
    ops, p, policy = sampler.ops, sampler.problem, sampler.policy
    B, N = sampler.stack_size, features.width
    rows = sampler.all_ridge_rows()
    if policy.fits_in_memory(3 * B * p.n * N):
        return [
            _dual_of_features(ops, F, rows.y, ridges, p.intercept, leave_one_out)
            for F in features.tiles(rows)
        ]
    size = policy.block_rows(TILE_NEURONS, B * p.n)
    tiles = [slice(j, min(j + size, N)) for j in range(0, N, size)]
    gram: dict[int, Array] = defaultdict(partial(ops.zeros, B, p.n, p.n))
    for neurons in tiles:
        for e, F in enumerate(features.tiles(rows, neurons)):
            ops.add_gram(gram[e], F, over_rows=True)
        sampler.tick()
    path = [
        solve_dual(gram.pop(e), rows.y, ridges, p.intercept, leave_one_out)
        for e in range(len(gram))
    ]
    coef = [ops.zeros(B, N, len(ridges)) for _ in path]
    for neurons in tiles:  # the features a second time: n x N was never held
        for a, fit, F in zip(coef, path, features.tiles(rows, neurons), strict=True):
            a[:, neurons] = transpose(F) @ fit.coef
        sampler.tick()
    return [replace(fit, coef=a) for a, fit in zip(coef, path, strict=True)]


def _dual_of_features(
    ops: Ops,
    F: Array,
    y: Array,
    ridges: Sequence[float],
    intercept: bool,
    leave_one_out: bool,
) -> Fit:
    """Solve for one network whose features (B, n, N) are held until its readout is known."""
    B, n = y.shape
    K = ops.zeros(B, n, n)
    ops.add_gram(K, F, over_rows=True)
    fit = solve_dual(K, y, ridges, intercept, leave_one_out)
    return replace(fit, coef=ops.product(transpose(F), transpose(fit.coef)))
