r"""Ridge paths of networks, on the smaller of the two Gram matrices.

Primal: :math:`\hat a = (F^\top F + n\lambda)^{-1}F^\top y`. Dual: :math:`\hat a = F^\top\alpha`,
:math:`\alpha = (FF^\top + n\lambda)^{-1}y`. Features are made block by block and held whole only in
the dual, where they are few enough.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from onegrad.arrays import Array, Ops, namespace, transpose
from onegrad.networks.network import FeatureMap
from onegrad.networks.sampling import SampleBlock, Sampler, ridge_rows, sum_over_rows
from onegrad.parallel.threads import pool_size
from onegrad.ridge import Fit, Moments, NormalEquations, solve_dual
from onegrad.ridge.moments import add_rows, empty_moments

# Both bound the features that are held at a time, and the threads share what is held.
STACKED_ROWS = 2048  # whose features of all networks are made before their products
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
    ops, p, B, E = sampler.ops, sampler.problem, sampler.stack_size, features.networks
    together = E if features.stacked else 1  # networks whose moments are in one stack
    memory: list[Array] = []

    def zeros() -> list[Moments]:
        size = (ops, together * B, features.width, p.n)
        return [empty_moments(*size) for _ in range(E // together)]

    def add(sums: list[Moments], block: SampleBlock) -> None:
        if features.stacked and pool_size() > 1:  # all tiles of all networks at once
            if not memory:  # written again and again: fresh memory comes page by page
                memory.append(ops.zeros(E * B, min(STACKED_ROWS, p.n), features.width))
            for part in block.parts(STACKED_ROWS):
                F = memory[0][:, : part.X.shape[1]]
                features.stacked(part, F.reshape(E, B, *F.shape[1:]))
                labels = namespace(part.y).concatenate([part.y] * E)
                add_rows(ops, sums[0], F, labels, p.intercept)
            return
        for m, F in zip(of_networks(sums), features.tiles(block), strict=True):
            add_rows(ops, m, F, block.y, p.intercept)

    def of_networks(sums: list[Moments]) -> list[Moments]:
        parts = [slice(e * B, (e + 1) * B) for e in range(together)]
        return sums if together == 1 else [m.of_matrices(part) for m in sums for part in parts]

    def arrays(sums: list[Moments]) -> list[Array]:
        return [x for m in sums for x in m.arrays]

    waiting = dict(
        enumerate(of_networks(sum_over_rows(sampler, ridge_rows(p), zeros, add, arrays)))
    )

    def equations(e: int) -> NormalEquations:  # popped: their memory is free for the next factor
        return NormalEquations.of(waiting.pop(e).cast(ops.exact), p.intercept, overwrite=True)

    if not leave_one_out:
        return ops.map(lambda e: equations(e).path(ridges), list(waiting))
    paths = ops.map(lambda e: equations(e).leave_one_out(ridges), list(waiting))

    def add_squares(squares: Array, block: SampleBlock) -> None:
        for e, (path, F) in enumerate(zip(paths, features.tiles(block), strict=True)):
            squares[e] += path.squares(F, block.y)

    squares = sum_over_rows(
        sampler,
        ridge_rows(p),
        lambda: ops.exact.zeros(len(paths), B, len(ridges)),
        add_squares,
        lambda x: [x],
    )
    return [
        replace(path.fit, leave_one_out=x / p.n) for path, x in zip(paths, squares, strict=True)
    ]


def normal_equations(ops: Ops, F: Array, y: Array, intercept: bool) -> NormalEquations:
    """Return the equations of features F (B, n, N) that are held whole, and labels y (B, n)."""
    B, n, N = F.shape
    moments = empty_moments(ops, B, N, n)
    add_rows(ops, moments, F, y, intercept)
    return NormalEquations.of(moments.cast(ops.exact), intercept, overwrite=True)


def _dual(
    sampler: Sampler, features: FeatureMap, ridges: Sequence[float], leave_one_out: bool
) -> list[Fit]:
    """Solve with F F^T, for fewer rows than features; the readout is F^T alpha."""
    ops, p, policy = sampler.ops, sampler.problem, sampler.policy
    B, N = sampler.stack_size, features.width
    rows, E, cast = sampler.all_ridge_rows(), features.networks, sampler.ops.exact.cast

    def solve(K: Array, y: Array) -> Fit:
        return solve_dual(cast(K), cast(y), ridges, p.intercept, leave_one_out)

    def solve_held(F: Array, y: Array) -> Fit:
        """Solve for features (B, n, N) that are held until the readout is known."""
        K = ops.zeros(len(y), p.n, p.n)
        ops.add_gram(K, F, over_rows=True)
        fit = solve(K, y)
        return replace(fit, coef=ops.read_out(transpose(F), ops.cast(fit.coef)))

    if features.stacked and pool_size() > 1 and policy.fits_in_memory((E + 2) * B * p.n * N):
        F = ops.zeros(E * B, p.n, N)
        features.stacked(rows, F.reshape(E, B, p.n, N))
        fit = solve_held(F, namespace(rows.y).concatenate([rows.y] * E))
        return [fit.of_matrices(slice(e * B, (e + 1) * B)) for e in range(E)]
    if policy.fits_in_memory(3 * B * p.n * N):
        return [solve_held(F, rows.y) for F in features.tiles(rows)]
    # too many features to hold: they are made twice, tile by tile of neurons
    size = policy.block_rows(TILE_NEURONS, B * p.n)
    tiles = [slice(j, min(j + size, N)) for j in range(0, N, size)]
    gram: dict[int, Array] = defaultdict(partial(ops.zeros, B, p.n, p.n))
    for neurons in tiles:
        for e, F in enumerate(features.tiles(rows, neurons)):
            ops.add_gram(gram[e], F, over_rows=True)
        sampler.tick()
    path = [solve(gram.pop(e), rows.y) for e in range(len(gram))]
    coef = [ops.zeros(B, N, len(ridges)) for _ in path]
    for neurons in tiles:  # the features a second time: n x N was never held
        for a, fit, F in zip(coef, path, features.tiles(rows, neurons), strict=True):
            a[:, neurons] = ops.read_out(transpose(F), ops.cast(fit.coef))
        sampler.tick()
    return [replace(fit, coef=a) for a, fit in zip(coef, path, strict=True)]
