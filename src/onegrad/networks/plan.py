"""A run before it begins: its grid, seeds and options checked, its memory counted.

Stacks of replicates are computed in one array, several stacks side by side, and all step sizes of
a problem share one gradient: a plan says how many of each, so that nothing is left to decide.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from onegrad.arrays import ExecutionPolicy, Floats, Ops, get_ops
from onegrad.exceptions import InvalidInput, check_choice
from onegrad.networks.fits import STACKED_ROWS, TILE_NEURONS
from onegrad.networks.sampling import RowSet, rows_before
from onegrad.networks.streams import DEVICE_LAWS, Purpose
from onegrad.parallel.cores import thread_count
from onegrad.problem import FIELDS, Problem

STEP_MODELS = ("trained", "spiked", "gaussian-equivalent")
KERNEL_MODELS = ("ntk", "inner-product-kernel", "rbf-kernel")
MODELS = (*STEP_MODELS, "random-features", "linear", *KERNEL_MODELS)
NETWORK_MODELS = ("trained", "random-features")  # their features are made without temporaries

MAX_SEED_COUNT = 10**7
MIN_REPEATED, REPEATED_PART = 2, 64  # networks that are repeated in float64: two, or one in 64
MEMORY_FRACTION = 0.8  # of the free memory that a run may take; the rest is for others; not tuned


@dataclass(frozen=True)
class SimulateOptions:
    """The keyword arguments of `simulate`, which documents them, checked."""

    device: str = "cpu"
    dtype: str = "float64"
    precision: str | None = None
    rows: Any = None
    model: str = "trained"
    n_test: int | None = None
    leave_one_out: bool = False
    random: str | None = None
    batch: int | None = None
    threads: int | None = None
    memory_limit: float | None = None

    def __post_init__(self) -> None:
        check_choice("model", self.model, MODELS)
        for name in ("n_test", "batch", "threads"):
            value = getattr(self, name)
            if value is not None and not (_is_positive(value) and value % 1 == 0):
                raise InvalidInput(name, value, "a whole number >= 1")
        if self.memory_limit is not None and not _is_positive(self.memory_limit):
            raise InvalidInput("memory_limit", allowed="a number > 0")

    def test_rows(self, n: int) -> int:
        """Return the number of test rows beside n rows of the ridge fit."""
        return self.n_test or max(1024, n // 4)


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and float(value) > 0  # which NaN is not


DEFAULT_OPTIONS = SimulateOptions()
OPTION_NAMES = tuple(vars(DEFAULT_OPTIONS))


@dataclass(frozen=True)
class GradientGroup:
    """One problem at several step sizes and penalties, for which one gradient per seed suffices.

    positions : (3, points) the number of each point in the grid, of its eta and of its ridge.
    stack_size : replicates in one array.
    workers : stacks that run side by side.
    networks_at_once : step sizes whose networks share their matrix products.
    peak_bytes : memory of all stacks that run at a time.
    """

    problem: Problem
    etas: tuple[float, ...]
    ridges: tuple[float, ...]
    positions: Any = None
    stack_size: int = 1
    workers: int = 1
    networks_at_once: int = 1
    peak_bytes: int = 0


def group_points(points: Sequence[Problem], model: str = "trained") -> tuple[GradientGroup, ...]:
    """Return the points of a grid as groups that differ in step size and penalty only.

    Models that take no step have the step size zero.
    """
    shared_fields = [name for name in FIELDS if name not in ("alpha", "eta", "ridge")]
    members: dict[tuple[Any, ...], list[int]] = {}
    for i, p in enumerate(points):
        members.setdefault(tuple(getattr(p, name) for name in shared_fields), []).append(i)
    groups = []
    for indices in members.values():
        steps = [points[i].step if model in STEP_MODELS else 0.0 for i in indices]
        etas = tuple(dict.fromkeys(steps))
        ridges = tuple(dict.fromkeys(points[i].ridge for i in indices))
        eta = [etas.index(step) for step in steps]
        ridge = [ridges.index(points[i].ridge) for i in indices]
        positions = np.array([indices, eta, ridge])
        groups.append(GradientGroup(points[indices[0]], etas, ridges, positions))
    return tuple(groups)


# -- memory ----------------------------------------------------------------------------------


def usable_bytes(ops: Ops) -> float:
    """Return the memory that a run may take by default."""
    return MEMORY_FRACTION * ops.free_bytes()


def peak_bytes(
    problem: Problem,
    networks: int,
    options: SimulateOptions = DEFAULT_OPTIONS,
    *,
    policy: ExecutionPolicy | None = None,
    stack_size: int = 1,
    itemsize: int = 8,
) -> int:
    """Return the peak memory of one stack on all threads of a policy, from its largest arrays.

    networks : step sizes whose networks share their matrix products.
    policy : how much is done at a time; None means one thread on the host.
    itemsize : bytes of a number.
    """
    o, policy = options, policy or ExecutionPolicy()
    n, d, N, threads = problem.n, problem.d, problem.N, policy.threads
    max_rows = max(n, problem.rows_of_step, o.test_rows(n))
    weights = 3 * N * d  # W, G and one temporary
    # X, its scaled copy and, by several threads, the next; products with W and with G, features
    inputs = (2 if threads == 1 else 3) * d
    direct = o.model in NETWORK_MODELS
    row_entries = inputs + (1 if networks == 1 else 3) * N if direct else 3 * d + 5 * N
    row_entries += 3 * N if o.leave_one_out else 0
    block = min(policy.block_rows(1024, stack_size * max(N, d)), max_rows) * row_entries
    if networks > 1 and threads > 1:  # features of all networks at a time
        block += min(STACKED_ROWS, max_rows) * networks * N
    # the Gram matrix at work, its factor or eigenvectors; of several networks at a time
    factors = (4 if o.leave_one_out else 2) * min(networks, threads)
    if o.model in KERNEL_MODELS:
        held = n * d + (factors + 2) * n * n
        block += 2 * n * N if o.model == "ntk" else 0
    elif n < N and policy.fits_in_memory(3 * stack_size * n * N):
        held = 2 * n * d + (1 + factors) * n * n + (2 if networks == 1 else 4) * n * N
    elif n < N:
        tile = min(policy.block_rows(TILE_NEURONS, stack_size * n), N)
        held = 2 * n * d + (networks + factors) * n * n + 5 * n * tile
    else:
        waiting = networks if o.leave_one_out else 0  # eigenvectors, for the second pass
        held = (networks + waiting + factors) * N * N
    sums = max(N * d, networks * N * N)
    row_workers = policy.row_workers(max_rows, sums) if n >= N else 1
    if row_workers > 1:
        block = row_workers * (min(1024, max_rows) * row_entries + sums)
    return stack_size * itemsize * (weights + block + held)


def plan_group(
    group: GradientGroup,
    replicates: int,
    options: SimulateOptions,
    ops: Ops,
    policy: ExecutionPolicy,
) -> GradientGroup:
    """Return the group in the largest arrangement that fits.

    Fewer workers first, then fewer networks at once; raises InvalidInput where one replicate of one
    network does not fit.
    """
    problem, networks = group.problem, len(group.etas)
    limit = usable_bytes(ops) if options.memory_limit is None else float(options.memory_limit)
    stack_size = min(options.batch or policy.stack_size(problem.N * problem.d), replicates)

    def peak_of_stack(policy: ExecutionPolicy) -> int:
        sizes = {"stack_size": stack_size, "itemsize": ops.working_bytes}
        return peak_bytes(problem, networks, options, policy=policy, **sizes)

    # a batch that was asked for is never made smaller
    peak = peak_of_stack(policy)
    while options.batch is None and stack_size > 1 and peak > limit:
        stack_size //= 2
        peak = peak_of_stack(policy)
    # with fewer stacks than workers some cores would idle: then all threads share each stack
    side_by_side = policy.stacks_at_once
    workers = side_by_side if -(-replicates // stack_size) >= side_by_side else 1
    if workers > 1 and workers * peak_of_stack(policy.worker) > limit:
        workers = 1
    # last: networks that are computed apart make the products with the weights once more
    while networks > 1 and peak > limit:
        networks = (networks + 1) // 2
        peak = peak_of_stack(policy)
    if peak > limit:
        needed = f"this run needs about {peak / 2**30:.3g} GiB but {limit / 2**30:.3g} GiB may be"
        advice = "lower n, d, N or batch, use dtype float32, or give a higher limit"
        raise InvalidInput("memory_limit", problem=f"{needed} used ({advice})")
    if workers > 1:
        peak = workers * peak_of_stack(policy.worker)
    return replace(
        group, stack_size=stack_size, workers=workers, networks_at_once=networks, peak_bytes=peak
    )


# -- the plan --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """A complete run: the points of a grid, what is measured, and how it is computed."""

    points: tuple[Problem, ...]
    shape: tuple[int, ...]
    seeds: tuple[int, ...]
    options: SimulateOptions  # with the user's rows as an array, and where random numbers are drawn
    ops: Ops
    policy: ExecutionPolicy
    groups: tuple[GradientGroup, ...]


def make_plan(problem: Problem, seeds: int | Sequence[int], **arguments: Any) -> Plan:
    """Check the arguments of `simulate` and decide how its networks are computed.

    arguments : SimulateOptions by name, and axes.
    """
    names = [name for name in OPTION_NAMES if name in arguments]
    options = SimulateOptions(**{name: arguments.pop(name) for name in names})
    seed_numbers = seed_tuple(seeds)
    points, shape = problem.grid(**arguments)
    groups = group_points(points, options.model)
    problems = [group.problem for group in groups]
    ops = get_ops(options.device, options.dtype, options.precision)
    policy = ops.policy(options.threads or thread_count())
    source = random_source(options.random, ops, problems)
    options = replace(options, random=source, rows=_user_rows(options, problems))
    arranged = (plan_group(group, len(seed_numbers), options, ops, policy) for group in groups)
    return Plan(tuple(points), shape, seed_numbers, options, ops, policy, tuple(arranged))


def repeat_plan(plan: Plan) -> Plan:
    """Return the plan that repeats some networks of a plan in float64, on the same numbers."""
    ops, seeds = plan.ops.exact, plan.seeds[: max(MIN_REPEATED, len(plan.seeds) // REPEATED_PART)]
    policy = ops.policy(plan.policy.threads)
    # batch and limit were chosen for the precision of the run, whose arrays may be half as large
    options = replace(plan.options, batch=None, memory_limit=None)
    groups = tuple(plan_group(g, len(seeds), options, ops, policy) for g in plan.groups)
    return replace(plan, ops=ops, seeds=seeds, policy=policy, options=options, groups=groups)


def seed_tuple(seeds: Any) -> tuple[int, ...]:
    """Return a count k as the seeds 0..k-1, and distinct whole numbers as they are."""
    error = InvalidInput("seeds", seeds, "a count >= 1 or distinct whole numbers >= 0")
    if isinstance(seeds, int | np.integer) and not isinstance(seeds, bool):
        if not 1 <= seeds <= MAX_SEED_COUNT:
            raise error
        return tuple(range(int(seeds)))
    try:
        values = tuple(int(s) for s in seeds)
        exact = all(v == s for v, s in zip(values, seeds, strict=True))
    except (TypeError, ValueError, OverflowError):
        exact, values = False, ()
    if not exact or not values or min(values) < 0 or len(set(values)) < len(values):
        raise error
    return values


def random_source(random: str | None, ops: Ops, problems: Iterable[Problem]) -> str:
    """Return where random numbers are drawn: by default on a GPU where it can draw them."""
    if random not in (None, "host", "device"):
        raise InvalidInput("random", random, "host or device")
    if random == "device" and not ops.can_draw:
        raise InvalidInput("random", random, problem="needs device 'torch' or 'cuda'")
    laws = (law.name for p in problems for law in (p.input_law, p.noise_distribution))
    drawn = ops.prefers_to_draw and all(name in DEVICE_LAWS for name in laws)
    return random or ("device" if drawn else "host")


def _user_rows(options: SimulateOptions, problems: Iterable[Problem]) -> Floats | None:
    """Return a user's rows if they are finite, have d columns and are enough for every problem."""
    if options.rows is None:
        return None
    try:
        X = np.asarray(options.rows, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput("rows", allowed="an array of numbers, one row per input") from None
    for problem in problems:
        if X.ndim != 2 or X.shape[1] != problem.d:
            raise InvalidInput("rows", X.shape, f"an array of shape (m, d) with d = {problem.d}")
        tests = options.test_rows(problem.n)
        needed = rows_before(problem, RowSet(Purpose.TEST, tests)) + tests
        if len(X) < needed:
            raise InvalidInput(
                "rows",
                problem=f"the steps, ridge and {tests} test rows take at least {needed} rows, but "
                f"there are {len(X)}: lower n, n_step or n_test",
            )
    bad = np.flatnonzero(~np.isfinite(X).all(1))
    if len(bad):
        raise InvalidInput("rows", problem=f"row {bad[0]} of {len(X)} has a NaN or infinity")
    return X
