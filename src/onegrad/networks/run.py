"""Networks trained and measured: stacks of replicates, their progress and their interruption."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain

import numpy as np

from onegrad.arrays import (
    Array,
    ExecutionPolicy,
    Floats,
    namespace,
    one_line_memory_errors,
    to_numpy,
)
from onegrad.exceptions import NotConverged
from onegrad.networks.fits import TILE_NEURONS, fits
from onegrad.networks.models import features_of, kernel_fit
from onegrad.networks.network import FeatureMap, Network
from onegrad.networks.plan import KERNEL_MODELS, GradientGroup, Plan
from onegrad.networks.sampling import RowSet, SampleBlock, Sampler, Tick, sum_over_rows
from onegrad.networks.streams import Purpose
from onegrad.parallel.threads import WorkCancelled, thread_map, thread_pool
from onegrad.ridge import Fit


def run_plan(plan: Plan, progress: Callable[[int, int], None] | None = None) -> dict[str, Floats]:
    """Train the networks of a plan and return every quantity as an array (seeds, points).

    Stacks side by side on one core each keep all cores busy; those that remain when the cores no
    longer come out even have all cores in turn.
    """
    counter = ProgressCounter(sum(block_count(plan, g) for g in plan.groups), progress)
    values: dict[str, Floats] = {}
    with one_line_memory_errors("lower n, N or batch, list fewer etas, or use dtype float32"):
        for g in plan.groups:
            starts = range(0, len(plan.seeds), g.stack_size)
            stacks = [plan.seeds[i : i + g.stack_size] for i in starts]
            run = partial(run_stack, plan, g, counter)
            even = len(stacks) // g.workers * g.workers if g.workers > 1 else 0
            side_by_side = thread_map(
                partial(run, plan.policy.worker), stacks[:even], g.workers, stop=counter.stop
            )
            in_turn = map(partial(run, plan.policy), stacks[even:])
            point, eta, ridge = g.positions
            for i, errors in zip(starts, chain(side_by_side, in_turn), strict=True):
                for name, array in errors.items():
                    column = values.setdefault(name, np.empty((len(plan.seeds), len(plan.points))))
                    column[i : i + len(array), point] = array[:, eta, ridge]
    counter.finish()
    return values


class ProgressCounter:
    """Counts blocks of rows over all threads, and stops the threads when it is told to."""

    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self.done, self.total, self.progress = 0, total, progress
        self.stop = threading.Event()
        self._lock = threading.Lock()

    def tick(self) -> None:
        """Count one block; raise WorkCancelled if the run is to stop."""
        if self.stop.is_set():
            raise WorkCancelled
        if self.progress:
            with self._lock:
                # again: another thread may have failed while this one waited for the lock
                if self.stop.is_set():
                    raise WorkCancelled
                self.done = min(self.done + 1, self.total - 1)  # the estimate may be short
                try:
                    self.progress(self.done, self.total)
                except BaseException:
                    self.stop.set()  # before another thread is let in
                    raise

    def finish(self) -> None:
        if self.progress:
            self.progress(self.total, self.total)


def block_count(plan: Plan, group: GradientGroup) -> int:
    """Return about how many blocks of rows and tiles of neurons all stacks of a group pass."""
    p, etas, block = group.problem, group.etas, 1024
    steps = any(etas) * (1 + (p.steps - 1) * len(etas)) * -(-p.rows_of_step // block)
    ridge = -(-p.n // block)
    if p.n < p.N and plan.options.model not in KERNEL_MODELS:
        ridge += 2 * -(-p.N // TILE_NEURONS)
    test = -(-plan.options.test_rows(p.n) // block)
    rounds = -(-len(etas) // group.networks_at_once)
    stacks = -(-len(plan.seeds) // group.stack_size)
    return stacks * (steps + rounds * (ridge + test))


# -- one stack -------------------------------------------------------------------------------


def run_stack(
    plan: Plan,
    group: GradientGroup,
    counter: ProgressCounter,
    policy: ExecutionPolicy,
    seeds: tuple[int, ...],
) -> dict[str, Floats]:
    """Train the networks of several seeds together, on all threads of the policy.

    Returns every quantity as an array (seeds, etas, ridges).
    """
    with plan.ops.queue(), thread_pool(policy.threads, policy.blas_threads, counter.stop):
        on_device = stack_errors(plan, group, policy, seeds, counter.tick)
        errors = {name: to_numpy(x) for name, x in on_device.items()}
    # an indefinite matrix has a solution of NaN, so that no device waits for a check in between
    if not np.isfinite(errors["train"]).all():
        raise NotConverged(
            "ridge failed: the penalty is lost in rounding; use a larger ridge or dtype float64"
        )
    errors["test"] = errors["risk"] + group.problem.noise**2
    overlap = errors.get("overlap", np.full(len(seeds), np.nan))
    errors["overlap"] = np.reshape(overlap, (len(seeds), 1, 1))
    shape = (len(seeds), len(group.etas), len(group.ridges))
    return {name: np.broadcast_to(array, shape) for name, array in errors.items()}


def stack_errors(
    plan: Plan, group: GradientGroup, policy: ExecutionPolicy, seeds: tuple[int, ...], tick: Tick
) -> dict[str, Array]:
    """Return errors (B, etas, ridges) and overlaps (B,) on the device, without waiting for it.

    One gradient per seed serves every eta, and one Gram matrix per eta serves every ridge.
    """
    options, networks = plan.options, group.networks_at_once
    p, etas, ridges, loo = group.problem, group.etas, group.ridges, options.leave_one_out
    sampler = Sampler.of(
        p,
        seeds,
        plan.ops,
        policy=policy,
        data=options.rows,
        device_random=options.random == "device",
        tick=tick,
    )
    network, n_test = Network.of(sampler), options.test_rows(p.n)
    all_fits: list[Fit] = []
    test_errors: list[Array] = []
    if options.model in KERNEL_MODELS:
        fit, risk = kernel_fit(options.model, network, ridges, n_test, loo)
        all_fits, test_errors = [fit], [risk[:, None]]
    else:
        for i in range(0, len(etas), networks):
            features = features_of(options.model, network, etas[i : i + networks])
            fits_at_once = fits(sampler, features, ridges, loo)
            test_errors.append(risks(sampler, features, fits_at_once, n_test))
            all_fits += fits_at_once
    xp = namespace(all_fits[0].train)
    names = ["train", "squared_loss", *(["leave_one_out"] if loo else [])]
    errors = {name: xp.stack([getattr(fit, name) for fit in all_fits], 1) for name in names}
    one_round = len(test_errors) == 1
    errors["risk"] = test_errors[0] if one_round else xp.concatenate(test_errors, 1)
    if any(etas):
        errors["overlap"] = plan.ops.exact.cast(_overlap(network))
    return errors


def risks(sampler: Sampler, features: FeatureMap, path: Sequence[Fit], n_test: int) -> Array:
    """Return E (sigma_star - f_hat)^2 over fresh rows, (B, E, R); label noise is added exactly."""
    ops, coef = sampler.ops, [sampler.ops.cast(fit.coef) for fit in path]
    shape = (sampler.stack_size, len(path), int(coef[0].shape[-1]))

    def add(squares: Array, block: SampleBlock) -> None:
        for e, F in enumerate(features.tiles(block)):
            r = block.clean[..., None] - ops.read_out(F, coef[e]) - path[e].intercept[:, None]
            squares[:, e] += (r * r).sum(-2)

    tests = RowSet(Purpose.TEST, n_test)
    squares = sum_over_rows(sampler, tests, lambda: ops.exact.zeros(*shape), add, lambda x: [x])
    return squares / n_test


def _overlap(network: Network) -> Array:
    """Return |P beta| / |beta|, P onto the teacher's directions, beta = X^T r/n what was learned.

    The part of the learned direction that is signal, shape (B,).
    """
    beta = network.first.beta
    inside = (beta[:, None, :] @ network.sampler.beta_star)[:, 0]
    return ((inside * inside).sum(-1) / (beta * beta).sum(-1)) ** 0.5
