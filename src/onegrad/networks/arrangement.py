"""What a run needs, before it starts: how many replicates and networks fit at a time."""

from __future__ import annotations

from dataclasses import dataclass

from onegrad.arrays.backend import Backend
from onegrad.errors import InvalidInput
from onegrad.networks.fits import NEURONS
from onegrad.networks.kernels import KERNELS
from onegrad.networks.replicate import default_test
from onegrad.problem import Problem

SHARE = 0.8  # of the free memory that a run may take


@dataclass(frozen=True)
class Plan:
    """Replicates in a stack, stacks side by side, networks (etas) that share their products."""

    batch: int
    workers: int
    at_once: int
    bytes: int


def cell_bytes(
    problem: Problem, model: str, networks: int, batch: int, on: Backend, leave_one_out: bool
) -> int:
    """Peak memory of one stack of replicates, estimated from its largest arrays."""
    n, d, N = problem.n, problem.d, problem.N
    longest = max(n, problem.rows_of_step, default_test(n))
    stretch = min(on.stretch(1024, batch * max(N, d)), longest)
    weights = 3 * N * d  # W, G and one temporary
    # X, its scaled copy and its random numbers; products, features and their temporaries
    passing = stretch * (3 * d + 5 * N)
    # the Gram matrix at work, its factor or eigenvectors; of several networks at a time
    factors = (4 if leave_one_out else 2) * min(networks, on.threads)
    if model in KERNELS:
        held = n * d + (factors + 2) * n * n
        passing += 2 * n * N if model == "ntk" else 0
    elif n < N:
        tile = min(on.stretch(NEURONS, batch * n), N)
        held = 2 * n * d + (networks + factors) * n * n + 5 * n * tile
    else:
        kept = networks if leave_one_out else 0  # eigenvectors wait for the second pass
        held = (networks + kept + factors) * N * N
    return batch * on.itemsize * (weights + passing + held)


def plan(
    problem: Problem,
    model: str,
    networks: int,
    replicates: int,
    workers: int,
    on: Backend,
    batch: int | None = None,
    memory_limit: float | None = None,
    leave_one_out: bool = False,
) -> Plan:
    """The largest arrangement that fits: fewer workers first, then fewer networks at once.

    Raises InvalidInput where one replicate of one network does not fit.
    """
    limit = SHARE * on.free_bytes() if memory_limit is None else float(memory_limit)

    def need(stack: int, at_once: int) -> int:
        return cell_bytes(problem, model, at_once, stack, on, leave_one_out)

    stack = min(batch or on.preferred_batch(problem.N * problem.d), replicates)
    while batch is None and stack > 1 and need(stack, networks) > limit:
        stack //= 2
    stacks = -(-replicates // stack)
    workers = workers if stacks >= workers else 1
    at_once = networks
    if workers * need(stack, at_once) > limit:
        workers = 1
    while at_once > 1 and need(stack, at_once) > limit:
        at_once = (at_once + 1) // 2
    if need(stack, at_once) > limit:
        raise InvalidInput(
            f"this run needs about {need(stack, at_once) / 2**30:.3g} GiB but "
            f"{limit / 2**30:.3g} GiB may be used ({_advice(problem, model, stack, on)})"
        )
    return Plan(stack, workers, at_once, workers * need(stack, at_once))


def _advice(problem: Problem, model: str, stack: int, on: Backend) -> str:
    smaller = "n" if model in KERNELS else "n or N" if problem.n < 2 * problem.N else "N or d"
    ways = [f"lower {smaller}"]
    if stack > 1:
        ways.append("lower batch")
    if on.itemsize == 8:
        ways.append("dtype float32")
    return ", ".join([*ways, "raise memory_limit"])
