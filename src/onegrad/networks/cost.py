"""What a replicate costs, before it runs: floating-point operations and bytes."""

from __future__ import annotations

from onegrad.arrays import Backend
from onegrad.networks.fits import NEURONS
from onegrad.networks.options import KERNELS, Options
from onegrad.problem import Problem


def flops(problem: Problem, networks: int) -> float:
    """Floating-point operations of one replicate of a network at so many step sizes, one ridge."""
    n, d, N, n_step = problem.n, problem.d, problem.N, problem.rows_of_step
    small = min(n, N)
    rows = n + Options().tests(n)  # ridge and test
    each = 40 * rows * N + n * N * small + small**3 / 3  # activations, Gram matrix, Cholesky
    return 4 * n_step * d * N + 4 * rows * d * N + networks * each


def peak_bytes(
    problem: Problem, networks: int, on: Backend, options: Options | None = None, batch: int = 1
) -> int:
    """Peak memory of one stack of replicates, estimated from its largest arrays."""
    n, d, N = problem.n, problem.d, problem.N
    o = options or Options()
    longest = max(n, problem.rows_of_step, o.tests(n))
    stretch = min(on.stretch(1024, batch * max(N, d)), longest)
    weights = 3 * N * d  # W, G and one temporary
    # X, its scaled copy and its random numbers; products, features and their temporaries
    passing = stretch * (3 * d + 5 * N)
    # the Gram matrix at work, its factor or eigenvectors; of several networks at a time
    factors = (4 if o.leave_one_out else 2) * min(networks, on.threads)
    if o.model in KERNELS:
        held = n * d + (factors + 2) * n * n
        passing += 2 * n * N if o.model == "ntk" else 0
    elif n < N:
        tile = min(on.stretch(NEURONS, batch * n), N)
        held = 2 * n * d + (networks + factors) * n * n + 5 * n * tile
    else:
        kept = networks if o.leave_one_out else 0  # eigenvectors wait for the second pass
        held = (networks + kept + factors) * N * N
    return batch * on.itemsize * (weights + passing + held)
