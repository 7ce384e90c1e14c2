r"""Moments: all that ridge regression needs to know about a set of rows. They add and subtract.

Features and targets are rounded to a binary grid before they are multiplied (`grid_step`,
`round_to_grid`): every product is then a whole number of grid units, and as long as a sum stays
below 2^53 units it is *exact*. The moments of a set of rows therefore do not depend, to the last
bit, on how the rows were cut into blocks, in which order they came or how many workers added them,
and removing rows leaves what would have been there without them. Beyond 2^53 units (tens of
millions of rows), or with weights that are not whole numbers, the sums carry ordinary rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace

from onegrad.arrays import Array, Ops, namespace, ops_of, symmetric
from onegrad.exceptions import InvalidInput

# Grid of a feature: 2^-14 of its root mean square. Rounding adds noise of at most 6e-10 of its mean
# square, below the smallest ridge that estimators try (1e-9); more bits allow fewer rows.
FEATURE_BITS = 14
TARGET_BITS = 18  # grid of a target
MAX_UNITS = 2.0**53  # whole numbers up to it are exact in float64


@dataclass(frozen=True)
class Moments:
    r"""Weighted sums over rows (f_i, y_i, w_i).

    .. math:: n,\ \sum w_i,\ \sum w_i f_i,\ \sum w_i y_i,\ \sum w_i f_i f_i^\top,\
              \sum w_i f_i y_i^\top,\ \sum w_i y_i^2

    Parameters
    ----------
    rows : number of rows.
    weight : sum of the weights.
    F1, y1 : (N,) and (K,) weighted sums of features and targets.
    FtF, Fty, yty : (N, N), (N, K) and (K,) weighted sums of products.

    Leading axes count the matrices of a stack; their FtF is filled in its upper triangle alone.
    """

    rows: int
    weight: float
    F1: Array
    y1: Array
    FtF: Array
    Fty: Array
    yty: Array

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Sums that rows are added to."""
        return self.F1, self.y1, self.FtF, self.Fty, self.yty

    def __add__(self, other: Moments) -> Moments:
        return self._combined(other, 1)

    def __sub__(self, other: Moments) -> Moments:
        if other.rows > self.rows:
            raise InvalidInput("rows", problem=f"cannot remove {other.rows} rows from {self.rows}")
        return self._combined(other, -1)

    def is_exact(self, step: Array, target_step: Array | float) -> bool:
        r"""Return whether the sums for the readout are below 2^53 units of the grid.

        .. math:: \sum |f y| \le \sqrt{\sum f^2\,\sum y^2}
        """
        f = self.FtF.diagonal() ** 0.5 / step
        y = self.yty**0.5 / target_step
        return bool((f * f).max() < MAX_UNITS and f.max() * y.max() < MAX_UNITS)

    def cast(self, ops: Ops) -> Moments:
        """Return the moments in the precision of `ops`."""
        return self._mapped(ops.cast)

    def of_matrices(self, part: slice) -> Moments:
        """Return the moments of some matrices of a stack, as views."""
        return self._mapped(lambda x: x[part])

    def in_units(self, step: Array) -> Moments:
        """Return the moments of the features times `step`: exact for powers of two."""
        FtF = self.FtF * step
        FtF *= step[:, None]
        return replace(self, F1=self.F1 * step, FtF=FtF, Fty=self.Fty * step[:, None])

    def _mapped(self, f: Callable[[Array], Array]) -> Moments:
        return Moments(self.rows, self.weight, *map(f, self.arrays))

    def _combined(self, other: Moments, sign: int) -> Moments:
        if self.Fty.shape != other.Fty.shape:
            shapes = f"{tuple(other.Fty.shape)} features and targets do not match"
            raise InvalidInput("moments", problem=f"{shapes} {tuple(self.Fty.shape)}")
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return Moments(*(a + sign * b for a, b in pairs))


def empty_moments(ops: Ops, stack: int, width: int, expected: int) -> Moments:
    """Return sums of zero for `add_rows`, which is expected to bring `expected` rows.

    They are those of a stack of matrices of features of a width, with one target each.
    """
    one, many = ops.zeros(stack, 1), ops.zeros(stack, width)
    products = ops.zeros(stack, width, width), ops.zeros(stack, width, 1)
    # y^T y stays in float64: the objective at its minimum is a small difference from it
    return Moments(expected, float(expected), many, one, *products, ops.exact.zeros(stack, 1))


def add_rows(ops: Ops, m: Moments, F: Array, y: Array, intercept: bool) -> None:
    """Add rows in place: features F (B, rows, N), labels y (B, rows); means for an intercept."""
    ops.add_gram(m.FtF, F)
    ops.add_weighted_rows(m.Fty[..., 0], y, F)
    m.yty[..., 0] += (y * y).sum(-1, dtype=m.yty.dtype)
    if intercept:
        m.F1[...] += F.sum(-2, dtype=m.F1.dtype)
        m.y1[..., 0] += y.sum(-1)


def sum_moments(blocks: Iterable[tuple[Array, Array | None]], width: int) -> Moments:
    """Return the moments of blocks (A, w): rows A_i = (f_i, y_i, 1), with f_i of length `width`.

    .. math:: \\sum_i w_i A_i A_i^\\top
    """
    rows, C = 0, None
    for A, w in blocks:
        rows += len(A)
        ops = ops_of(A)
        C = ops.zeros(A.shape[1], A.shape[1]) if C is None else C
        if w is None:
            ops.add_gram(C, A)
            continue
        weighted = w != 1
        few = 2 * int(weighted.sum()) < len(A)
        if few:  # a Gram matrix is half the work; what these rows weigh beyond one is added
            ops.add_gram(C, A)
        B, v = (A[weighted], w[weighted] - 1) if few else (A, w)
        if len(v):
            ops.add_product(C, B, B * v[:, None])
    assert C is not None
    f, y = slice(width), slice(width, -1)
    sums, yty = C[:, -1], C[y, y].diagonal()  # columns to the right: in the upper triangle
    return Moments(rows, float(sums[-1]), sums[f], sums[y], symmetric(C[f, f]), C[f, y], yty)


def grid_step(
    values: Array, bits: int, least: float | Array = 0.0, negligible: float | Array = 0.0
) -> Array:
    """Return the grid of each column: the power of two nearest its root mean square, over 2^bits.

    The root mean square counts as `least` where it is less, and as one where it is `negligible`.
    """
    xp = namespace(values)
    rms = xp.sqrt((values * values).mean(0))
    rms = xp.maximum(rms, least + xp.zeros_like(rms))
    rms = xp.where(rms > negligible, rms, xp.ones_like(rms))
    return 2.0 ** (xp.round(xp.log2(rms)) - bits)


def round_to_grid(values: Array, step: Array) -> Array:
    """Round the values in place to the nearest multiple of step, column by column."""
    xp = namespace(values)
    values *= 1.0 / step  # exact: steps are powers of two
    xp.round(values, out=values)  # halves to even, on every backend
    values *= step
    return values
