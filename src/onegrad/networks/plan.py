"""A run before it begins: what was asked for, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from onegrad.arrays import Ops, get_ops
from onegrad.networks.options import Limits, Options, random_source, seed_tuple
from onegrad.networks.replicate import Group
from onegrad.parallel import thread_count
from onegrad.problem import Problem


@dataclass(frozen=True)
class Plan:
    """The points of a grid, the groups that share their gradients, and where they are computed."""

    seeds: tuple[int, ...]
    points: tuple[Problem, ...]
    shape: tuple[int, ...]
    groups: tuple[Group, ...]
    options: Options
    limits: Limits
    ops: Ops
    random: str  # host or device: where random numbers are drawn


def plan(
    problem: Problem,
    seeds: int | Sequence[int],
    place: tuple[str, str, str | None] = ("cpu", "float64", None),
    options: Options | None = None,
    limits: Limits | None = None,
    **axes: Any,
) -> Plan:
    """As of `simulate`, whose arguments are gathered in `options` and `limits`.

    place : device, dtype, and where random numbers are drawn (None: chosen).
    """
    device, dtype, random = place
    chosen, o, allowed = seed_tuple(seeds), options or Options(), limits or Limits()
    points, shape = problem.grid(**axes)
    groups = tuple(Group.of(points))
    ops = get_ops(device, dtype, allowed.threads or thread_count())
    source = random_source(random, ops, [group.problem for group in groups])
    o = replace(o, device_random=source == "device")
    for group in groups:
        o = o.checked(group.problem)
    return Plan(chosen, tuple(points), shape, groups, o, allowed, ops, source)
