"""The cost of a run before it begins: operations, bytes, memory, and seconds on this machine."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec

import numpy as np

from onegrad.arrays import ExecutionPolicy, Ops
from onegrad.functions.function import Function
from onegrad.networks.plan import (
    DEFAULT_OPTIONS,
    GradientGroup,
    SimulateOptions,
    make_plan,
    repeat_plan,
)
from onegrad.networks.simulation import simulate
from onegrad.networks.streams import GAUSSIAN, Purpose, Streams
from onegrad.parallel.threads import pool_map, thread_pool
from onegrad.problem import Problem
from onegrad.ridge.shifted import MAX_CHOLESKY_SHIFTS, solve_shifted

GRAM_RATE = 0.8  # of the rate of full products, where half a product is computed
# Fitted to the runs on sixteen cores in docs/performance.md: with both, every estimate there is
# within a factor of 1.5. The loss is per thread, where threads share products instead of rows.
SHARING_LOSS, THREAD_START_SECONDS = 0.08, 0.01


@dataclass(frozen=True)
class ReplicateWork:
    r"""Work of one replicate at E step sizes and R penalties, with m = min(n, N), n' test rows.

    products : :math:`4n_sdN` for the gradient, :math:`2(n+n')dN` for the features, twice that for
        several step sizes; further steps take a gradient each.
    gram : :math:`E\,nNm`.
    factors : :math:`E\,Rm^3/3`, or :math:`4Em^3/3` for more than four penalties.
    normals : random numbers, :math:`(n_s+n+n'+N)d`; ridge on the rows of the step draws them again.
    activations : :math:`(n_s + E(n+n'))N`.
    """

    products: float
    gram: float
    factors: float
    normals: float
    activations: float

    @property
    def flops(self) -> float:
        return self.products + self.gram + self.factors

    @property
    def bytes(self) -> float:
        """Bytes of rows and features in float64, written and read once each."""
        return 16 * (self.normals + self.activations)


def count_work(group: GradientGroup, options: SimulateOptions = DEFAULT_OPTIONS) -> ReplicateWork:
    """Count the work of one replicate of a network; other models cost about the same or less."""
    p = group.problem
    n, d, N, n_step, tests = p.n, p.d, p.N, p.rows_of_step, options.test_rows(p.n)
    E, R, m = len(group.etas), len(group.ridges), min(p.n, p.N)
    gradients = (1 + (p.steps - 1) * E) * any(group.etas)
    maps = 1 if E == 1 else 2 if p.steps == 1 else E
    full = 2 if p.output_scale else 1
    return ReplicateWork(
        products=gradients * 4.0 * n_step * d * N + maps * 2.0 * (n + tests) * d * N,
        gram=float(E * n * N * m),
        factors=E * min(R, MAX_CHOLESKY_SHIFTS) * m**3 / 3,
        normals=float((gradients * n_step + n + tests + N) * d),
        activations=float((gradients * full * n_step + E * (n + tests)) * N),
    )


def replicate_flops(problem: Problem, step_sizes: int = 1) -> float:
    """Return the operations of one replicate at one ridge, those of sigma and of drawing included.

    At `network_rate` operations per second they give its seconds.
    """
    w = count_work(GradientGroup(problem, tuple(range(1, step_sizes + 1)), (problem.ridge,)))
    return w.flops + 20 * w.activations + 20 * w.normals  # 20 operations each


# -- seconds ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rates:
    """Work per second of this machine, with all its cores or on its device."""

    products: float  # operations of a matrix product
    factors: float  # operations of a Cholesky factor and its solution
    normals: float
    activations: float

    @classmethod
    def measured(cls, ops: Ops, policy: ExecutionPolicy, f: Function, on_device: bool) -> Rates:
        """Measure the rates in a fraction of a second, at sizes that fill the machine."""
        with ops.queue(), thread_pool(policy.threads, policy.blas_threads):
            # on a device 32 at a time: one product of this size leaves most of it idle; not tuned
            k = policy.threads if ops.device == "cpu" else 32
            streams = Streams(tuple(range(k)), ops, on_device)
            draw = partial(streams.entries, GAUSSIAN, (Purpose.TEST, 0), 0, 1024, 512)
            X = draw()
            P = ops.product(X, X)
            C, b = ops.exact.cast(P / 512), ops.exact.cast(X[..., 0])
            products = _seconds(ops, lambda i: ops.product(X[i], X[i]), k)
            factors = _seconds(ops, lambda i: solve_shifted(1.0 * C[i], [1.0], b[i]), k)
            drawing = _seconds(ops, lambda _: draw())
            activating = _seconds(ops, lambda i: ops.apply(f, P[i], out=P[i]), k)
        return cls(
            k * 2 * 1024**2 * 512 / products,
            k * 1024**3 / 3 / factors,
            k * 1024 * 512 / drawing,
            k * 1024**2 / activating,
        )

    def seconds(self, w: ReplicateWork) -> float:
        """Return the seconds that some work takes at these rates."""
        return (
            (w.products + w.gram / GRAM_RATE) / self.products
            + w.factors / self.factors
            + w.normals / self.normals
            + w.activations / self.activations
        )


def product_rate(size: int = 512, repeats: int = 3) -> float:
    """Measure the floating-point operations per second of float64 matrix products here."""
    A = np.random.default_rng(0).standard_normal((size, size))
    A @ A  # the first product pays for waking the threads
    began = time.perf_counter()
    for _ in range(repeats):
        A @ A
    return repeats * 2 * size**3 / (time.perf_counter() - began)


def network_rate() -> float:
    """Measure briefly how many of the operations of `replicate_flops` take a second here."""
    # random numbers, activations and solves run well below the rate of products
    return 0.5 * product_rate()


def _seconds(ops: Ops, f: Callable[[Any], Any], parts: int = 1) -> float:
    """Return the shortest of three calls, for all parts at a time by threads or on a device."""
    times = []
    for _ in range(4):  # the first pays for memory and kernels that are not there yet
        ops.wait()
        began = time.perf_counter()
        if ops.device == "cpu" and parts > 1:
            pool_map(f, [slice(i, i + 1) for i in range(parts)])
        else:
            f(slice(None))
        ops.wait()
        times.append(time.perf_counter() - began)
    return float(np.min(times[1:]))


@dataclass(frozen=True)
class Cost:
    """Resources of a run: operations, bytes written, bytes held at most, seconds here."""

    flops: float
    bytes: float
    memory: int
    seconds: float


P = ParamSpec("P")


def with_arguments_of(
    model: Callable[P, Any],
) -> Callable[[Callable[..., Cost]], Callable[P, Cost]]:
    """Give a function the arguments of another, for `help` and for type checkers."""

    def decorate(function: Callable[..., Cost]) -> Callable[P, Cost]:
        vars(function)["__signature__"] = inspect.signature(model).replace(return_annotation="Cost")
        return function

    return decorate


@with_arguments_of(simulate)
def cost(problem: Problem, seeds: int | Sequence[int] = 20, **arguments: Any) -> Cost:
    """Estimate the cost of `simulate` with the same arguments on this machine.

    Nothing is simulated: the rates of products, factors, random numbers and the activation are
    measured in a fraction of a second.

    Returns
    -------
    Cost : floating-point operations (`flops`), bytes of rows and features written and read
        (`bytes`), peak memory in bytes (`memory`), and seconds on this machine (`seconds`).

    Examples
    --------
    >>> import onegrad as og
    >>> cost = og.cost(og.Problem(n=10_000, d=500, N=1000), seeds=2)
    >>> f"{cost.flops:.2g} operations, {cost.memory / 1e6:.0f} MB or more"
    '4.6e+10 operations, ... MB or more'
    """
    arguments.pop("progress", None)  # of `simulate`, whose arguments are taken as they are
    plans = [make_plan(problem, seeds, **arguments)]
    if plans[0].ops.exact is not plans[0].ops:
        plans.append(repeat_plan(plans[0]))  # in float64: how far the run is from it
    flops = bytes_made = seconds = 0.0
    for plan in plans:
        policy, sigma, host = plan.policy, plan.points[0].sigma, plan.ops.device == "cpu"
        rates = Rates.measured(plan.ops, policy, sigma, plan.options.random == "device")
        for group in plan.groups:
            work = count_work(group, plan.options)
            seconds_each = rates.seconds(work)
            if host and policy.threads > 1 and group.workers == 1:
                seconds_each = _on_all_threads(seconds_each, group, policy)
            flops += len(plan.seeds) * work.flops
            bytes_made += len(plan.seeds) * work.bytes
            seconds += len(plan.seeds) * seconds_each
    return Cost(flops, bytes_made, max(g.peak_bytes for p in plans for g in p.groups), seconds)


def _on_all_threads(seconds: float, g: GradientGroup, policy: ExecutionPolicy) -> float:
    """Return the seconds of a replicate that all threads share, from those without any loss."""
    p = g.problem
    sums = max(p.N * p.d, g.networks_at_once * p.N * p.N)
    shares_products = p.n < p.N or policy.row_workers(p.n, sums) == 1
    loss = 1 + shares_products * SHARING_LOSS * policy.threads
    return seconds * loss + THREAD_START_SECONDS * policy.threads
