"""Means over networks as numbers with errors: they add, compare, index and convert."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from onegrad.arrays import Floats, standard_error
from onegrad.pictures.result_tables import with_error

MAX_MEANS_SHOWN = 12


@dataclass(frozen=True, eq=False)
class SampleMean(NDArrayOperatorsMixin):
    r"""A mean over seeds, or an array of them, with standard errors: NumPy's functions take it.

    .. math:: \mathrm{se}(f)^2 = \sum_s \delta_s(f)^2,\qquad
        \delta_s(m) = \frac{m_s - m}{\sqrt{k(k-1)}}

    :math:`\delta_s` is what seed s adds to a mean of k values m_s, and to a function of means in
    first order. Different seeds are independent: their errors add in quadrature. Values of one
    seed share random numbers, and are subtracted before they are squared: a difference of two
    errors of one simulation is that of pairs.

    Comparisons, `float` and `np.asarray` use the means alone.

    Attributes
    ----------
    mean, se : floats, or arrays of the grid's shape; the error is NaN for one network.
    values : one value per seed, with a leading axis of seeds.
    seeds : of these values.

    Examples
    --------
    >>> import numpy as np
    >>> import onegrad as og
    >>> test = og.simulate(og.Problem(n=100, d=50, N=80), seeds=5, alpha=[0.1, 0.3]).test
    >>> test[1] - test[0]
    -0.0023 ± 0.0029
    >>> (test < 1).all(), np.asarray(test).shape, f"{test[0]:.2f}"
    (True, (2,), '0.12 ± 0.01')
    """

    mean: Any
    se: Any
    values: Floats
    seeds: tuple[Any, ...]

    @classmethod
    def over_seeds(cls, values: Floats, seeds: tuple[Any, ...]) -> SampleMean:
        """Summarise values whose first axis counts the seeds."""
        return cls(values.mean(0)[()], standard_error(values), values, seeds)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array of means; () for a single one."""
        return np.shape(self.mean)

    def __float__(self) -> float:
        return float(self.mean)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(self.mean, dtype)

    def to_numpy(self) -> Floats:
        """Return the means, as pictures and tables ask for them."""
        return self.__array__()

    def __len__(self) -> int:
        return len(self.mean)

    def __iter__(self) -> Iterator[SampleMean]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> SampleMean:
        axes = index if isinstance(index, tuple) else (index,)
        values = self.values[(slice(None), *axes)]
        return SampleMean(self.mean[index], self.se[index], values, self.seeds)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        if "out" in options:  # an array of plain numbers would lose the error
            return NotImplemented
        return _with_errors(getattr(ufunc, method), args, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return _with_errors(function, args, options)

    def _moved_by(self, seed: Any, sign: int) -> Any:
        """Return the means, plus or minus what this seed adds to them."""
        k = len(self.seeds)
        if seed not in self.seeds:
            return self.mean
        if k == 1:
            return self.mean * math.nan
        value = self.values[self.seeds.index(seed)]
        return self.mean + sign * (value - self.mean) / np.sqrt(k * (k - 1))

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        return f"{float(self.mean):{spec}} ± {float(self.se):{spec}}"

    def __repr__(self) -> str:
        if self.shape == ():
            return with_error(self.mean, self.se)
        pairs = list(zip(np.ravel(self.mean), np.ravel(self.se), strict=True))
        shown = [with_error(*pair) for pair in pairs[:MAX_MEANS_SHOWN]]
        return f"[{', '.join(shown + ['...'] * (len(pairs) > MAX_MEANS_SHOWN))}]"


def _with_errors(function: Callable[..., Any], args: Any, options: Any) -> Any:
    """Return a function of means with its error, or alone where it is no real number."""
    seeds: dict[Any, None] = {}

    def call(replacement: Callable[[SampleMean], Any]) -> Any:
        return function(*_replaced(args, replacement), **_replaced(options, replacement))

    def mean_of(number: SampleMean) -> Any:
        seeds.update(dict.fromkeys(number.seeds))
        return number.mean

    mean = call(mean_of)
    if not isinstance(mean, np.ndarray | np.floating) or not np.issubdtype(mean.dtype, np.floating):
        return mean
    added = np.array(
        [
            (call(lambda m: m._moved_by(s, 1)) - call(lambda m: m._moved_by(s, -1))) / 2  # noqa: B023
            for s in seeds
        ]
    )
    k = len(seeds)
    values = mean + np.sqrt(k * (k - 1)) * added
    return SampleMean(mean, np.sqrt((added**2).sum(0)), values, tuple(seeds))


def _replaced(argument: Any, replacement: Callable[[SampleMean], Any]) -> Any:
    """Return arguments with every number that has an error replaced, those in lists too."""
    match argument:
        case SampleMean():
            return replacement(argument)
        case dict():
            return {name: _replaced(value, replacement) for name, value in argument.items()}
        case list() | tuple():
            return [_replaced(value, replacement) for value in argument]
    return argument
