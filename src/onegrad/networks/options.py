"""What a run is asked for: seeds, what is fitted and measured, and what it may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onegrad.arrays import Floats, Ops
from onegrad.exceptions import InvalidInput, check_choice
from onegrad.networks.sampling import rows_before
from onegrad.networks.streams import DEVICE_LAWS, Role
from onegrad.problem import Problem

TRAINED = ("trained", "spiked", "spiked-printed", "gaussian-equivalent")
KERNELS = ("ntk", "inner-product-kernel", "rbf-kernel")
PLAIN = ("trained", "random-features")  # models whose features are made without temporaries
MODELS = (*TRAINED, "random-features", "linear", *KERNELS)  # in those not TRAINED eta plays no part


@dataclass(frozen=True)
class Options:
    """What is fitted and measured.

    model : one of MODELS.
    n_test : fresh rows that measure the test error (None: max(1024, n/4)).
    leave_one_out : whether its error is measured too.
    rows : a user's rows instead of random inputs.
    device_random : random numbers from the device's own generator.
    """

    model: str = "trained"
    n_test: int | None = None
    leave_one_out: bool = False
    rows: Floats | None = None
    device_random: bool = False

    def __post_init__(self) -> None:
        check_choice("model", self.model, MODELS)
        _whole("n_test", self.n_test)

    @property
    def trained(self) -> bool:
        """Whether eta plays a part."""
        return self.model in TRAINED

    def tests(self, n: int) -> int:
        """Test rows beside n rows of the ridge fit."""
        return self.n_test or max(1024, n // 4)

    def repeatable(self, problem: Problem) -> bool:
        """Whether stacks differ in what the device draws alone, and nothing asks it meanwhile."""
        drawn = self.device_random and self.rows is None
        direct = self.model in PLAIN and problem.update == "gradient" and not self.leave_one_out
        return drawn and direct

    def checked(self, problem: Problem) -> Options:
        """The same with rows that suit a problem."""
        if self.rows is None:
            return self
        return replace(self, rows=_user_rows(self.rows, problem, self.tests(problem.n)))


@dataclass(frozen=True)
class Limits:
    """Replicates in a stack, cores, bytes: each chosen where it is None."""

    batch: int | None = None
    threads: int | None = None
    memory: float | None = None

    def __post_init__(self) -> None:
        _whole("batch", self.batch)
        _whole("threads", self.threads)


def random_source(asked: str | None, ops: Ops, problems: Sequence[Problem]) -> str:
    """Where random numbers are drawn: as asked, else on a GPU where it can draw them."""
    if asked not in (None, "host", "device"):
        raise InvalidInput("random", asked, "host or device")
    if asked == "device" and not ops.can_draw:
        raise InvalidInput("random", asked, problem="needs device 'torch' or 'cuda'")
    laws = (law.name for p in problems for law in (p.input_law, p.noise_distribution))
    drawn = ops.prefers_to_draw and all(name in DEVICE_LAWS for name in laws)
    return asked or ("device" if drawn else "host")


def _whole(name: str, value: Any) -> None:
    if value is not None and (value != int(value) or value < 1):
        raise InvalidInput(name, value, "a whole number >= 1")


def seed_tuple(seeds: Any) -> tuple[int, ...]:
    """A count k as the seeds 0..k-1, or a sequence of distinct whole numbers as it is."""
    complaint = InvalidInput("seeds", seeds, "a count >= 1 or distinct whole numbers >= 0")
    if isinstance(seeds, int | np.integer) and not isinstance(seeds, bool):
        if not 1 <= seeds <= 10**7:
            raise complaint
        return tuple(range(int(seeds)))
    try:
        values = tuple(int(s) for s in seeds)
        exact = all(v == s for v, s in zip(values, seeds, strict=True))
    except (TypeError, ValueError, OverflowError):
        exact, values = False, ()
    if not exact or not values or min(values) < 0 or len(set(values)) < len(values):
        raise complaint
    return values


def _user_rows(data: Any, problem: Problem, n_test: int) -> Floats:
    """A user's array, checked: finite, d columns, enough rows for steps, ridge and test."""
    try:
        X = np.asarray(data, dtype=float)
    except (TypeError, ValueError):
        allowed = "an array of numbers, one row per input"
        raise InvalidInput("rows", allowed=allowed) from None
    if X.ndim != 2 or X.shape[1] != problem.d:
        raise InvalidInput("rows", X.shape, f"an array of shape (m, d) with d = {problem.d}")
    bad = np.flatnonzero(~np.isfinite(X).all(1))
    if len(bad):
        raise InvalidInput("rows", problem=f"row {bad[0]} of {len(X)} has a NaN or infinity")
    needed = rows_before(problem, Role.TEST) + n_test
    if len(X) < needed:
        raise InvalidInput(
            "rows",
            problem=f"the steps, ridge and {n_test} test rows take at least {needed} rows, but "
            f"there are {len(X)}: lower n, n_step or n_test",
        )
    return X
