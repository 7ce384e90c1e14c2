"""The memory that replicates take, and how many therefore run at a time."""

from __future__ import annotations

from dataclasses import dataclass

from onegrad.arrays import Ops
from onegrad.exceptions import InvalidInput
from onegrad.networks.fits import NEURONS
from onegrad.networks.options import KERNELS, PLAIN, Limits, Options
from onegrad.networks.replicate import Group
from onegrad.problem import Problem

SHARE = 0.8  # of the free memory that a run may take


def peak_bytes(
    problem: Problem, networks: int, ops: Ops, options: Options | None = None, batch: int = 1
) -> int:
    """Peak memory of one stack of replicates by all threads of `on`, from its largest arrays."""
    n, d, N, team = problem.n, problem.d, problem.N, ops.threads
    o = options or Options()
    longest = max(n, problem.rows_of_step, o.tests(n))
    weights = 3 * N * d  # W, G and one temporary
    # X, its scaled copy and, by a team, the next; products with W and with G, features
    inputs = (2 if team == 1 else 3) * d
    entries = inputs + (1 if networks == 1 else 3) * N if o.model in PLAIN else 3 * d + 5 * N
    entries += 3 * N if o.leave_one_out else 0
    passing = min(ops.stretch(1024, batch * max(N, d), team), longest) * entries
    # the Gram matrix at work, its factor or eigenvectors; of several networks at a time
    factors = (4 if o.leave_one_out else 2) * min(networks, team)
    if o.model in KERNELS:
        held = n * d + (factors + 2) * n * n
        passing += 2 * n * N if o.model == "ntk" else 0
    elif n < N and ops.may_hold(3 * batch * n * N, team):
        held = 2 * n * d + (1 + factors) * n * n + (2 if networks == 1 else 4) * n * N
    elif n < N:
        tile = min(ops.stretch(NEURONS, batch * n, team), N)
        held = 2 * n * d + (networks + factors) * n * n + 5 * n * tile
    else:
        kept = networks if o.leave_one_out else 0  # eigenvectors wait for the second pass
        held = (networks + kept + factors) * N * N
    sums = max(N * d, networks * N * N)
    takers = ops.takers(longest, sums, team) if n >= N else 1
    if takers > 1:
        passing = takers * (min(1024, longest) * entries + sums)
    return batch * ops.itemsize * (weights + passing + held)


@dataclass(frozen=True)
class Arrangement:
    """Replicates in a stack, stacks side by side, networks (etas) that share their products."""

    batch: int
    workers: int
    at_once: int


def arrange(
    group: Group, replicates: int, options: Options, ops: Ops, limits: Limits
) -> Arrangement:
    """The largest arrangement that fits: fewer workers first, then fewer networks at once.

    Raises InvalidInput where one replicate of one network does not fit.
    """
    problem, networks = group.problem, len(group.etas) if options.trained else 1
    limit = SHARE * ops.free_bytes() if limits.memory is None else float(limits.memory)

    def need(stack: int, at_once: int) -> int:
        return peak_bytes(problem, at_once, ops, options, stack)

    side_by_side, alone = ops.side_by_side()

    stack = min(limits.batch or ops.preferred_batch(problem.N * problem.d), replicates)
    while limits.batch is None and stack > 1 and need(stack, networks) > limit:
        stack //= 2
    workers = side_by_side if -(-replicates // stack) >= side_by_side else 1
    at_once = networks
    if workers * peak_bytes(problem, at_once, alone, options, stack) > limit:
        workers = 1
    while at_once > 1 and need(stack, at_once) > limit:
        at_once = (at_once + 1) // 2
    if need(stack, at_once) > limit:
        needed = need(stack, at_once) / 2**30
        raise InvalidInput(
            "memory_limit",
            problem=f"this run needs about {needed:.3g} GiB but {limit / 2**30:.3g} GiB may be "
            f"used ({_advice(problem, options.model, stack, ops)})",
        )
    return Arrangement(stack, workers, at_once)


def _advice(problem: Problem, model: str, stack: int, ops: Ops) -> str:
    smaller = "n" if model in KERNELS else "n or N" if problem.n < 2 * problem.N else "N or d"
    ways = [f"lower {smaller}"]
    if stack > 1:
        ways.append("lower batch")
    if ops.itemsize == 8:
        ways.append("dtype float32")
    return ", ".join([*ways, "raise memory_limit"])
