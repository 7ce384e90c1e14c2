"""Fixed points x = f(x), and those of linear equations x = b + Jx for several b.

Both keep what they have seen of f: it serves again after a small change of f, or of b.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import NotConverged

MEMORY = 12  # differences that are mixed
MAX_GROWTH = 2.0  # of the residual over the smallest one, before a step is taken back
MAX_PLAIN_STEPS = 20  # after that
DAMPING = 1e-8  # of the mixing, relative to the largest difference


@dataclass
class Acceleration:
    """The last differences of iterates and of their residuals.

    plain : half steps before differences are mixed.
    """

    plain: int
    moves: list[Floats] = field(default_factory=list)
    changes: list[Floats] = field(default_factory=list)

    def solve(
        self,
        residual: Callable[[Floats], tuple[Floats, float]],
        x: Floats,
        tolerance: float,
        limit: int,
    ) -> tuple[Floats, float, int]:
        """Return x where the residual vanishes, its size there and the number of evaluations.

        residual returns a vector and its size. Where it grows, the iteration goes back to the best
        point and on from there in shorter steps.
        """
        best, best_value, smallest, plain_steps = x, np.zeros_like(x), np.inf, self.plain
        before: tuple[Floats, Floats] | None = None
        for count in range(1, limit + 1):
            with np.errstate(all="ignore"):  # a step too far is taken back
                value, size = residual(x)
            if size < tolerance:
                return x, size, count
            if not size < MAX_GROWTH * smallest:
                if not np.isfinite(smallest):
                    break
                x, before, self.moves, self.changes = best + best_value / 2, None, [], []
                self.plain = plain_steps = min(2 * plain_steps + 2, MAX_PLAIN_STEPS)
                smallest = MAX_GROWTH * smallest
                continue
            if size < smallest:
                best, best_value, smallest = x, value, size
            if before is not None:
                self.moves = [*self.moves[1 - MEMORY :], x - before[0]]
                self.changes = [*self.changes[1 - MEMORY :], value - before[1]]
            before = x, value
            self.plain -= 1
            if self.plain >= 0:
                x = x + value / 2
            elif len(self.changes) < 2:
                x = x + value
            else:
                x = x + value - self._mixed(value)
        return best, smallest, count

    def _mixed(self, value: Floats) -> Floats:
        """Return the combination of differences that takes most of the residual away."""
        dF, dx = np.array(self.changes), np.array(self.moves)
        damping = DAMPING * (float(np.abs(dF).max()) or 1.0)
        matrix = np.vstack([dF.T, damping * np.eye(len(dF))])
        side = np.concatenate([value, np.zeros(len(dF))])
        return np.linalg.lstsq(matrix, side, rcond=None)[0] @ (dx + dF)


@dataclass
class LinearEquations:
    """Minimal residuals of x = b + Jx over all directions that any x has moved in.

    apply : x - Jx of a vector.
    directions, images : vectors and what `apply` makes of them, orthonormal.
    """

    apply: Callable[[Floats], Floats]
    directions: list[Floats] = field(default_factory=list)
    images: list[Floats] = field(default_factory=list)

    def solve(self, xs: Floats, residuals: Floats, tolerance: float, limit: int) -> Floats:
        """Return solutions from xs, (P, n), with residuals b + Jx - x.

        tolerance : of residuals, relative to the solutions, each in its largest component.
        """
        xs, residuals = xs.copy(), residuals.copy()
        if self.images:
            self._project(xs, residuals, np.array(self.directions), np.array(self.images))
        for _ in range(limit):
            sizes = np.abs(residuals).max(1) / np.maximum(np.abs(xs).max(1), 1e-300)
            worst = int(sizes.argmax())
            if sizes[worst] < tolerance:
                return xs
            direction = residuals[worst]
            image = self.apply(direction)
            if self.images:
                directions, images = np.array(self.directions), np.array(self.images)
                for _ in range(2):
                    share = images @ image
                    image, direction = image - share @ images, direction - share @ directions
            norm = float(np.linalg.norm(image))
            self.directions.append(direction / norm)
            self.images.append(image / norm)
            self._project(xs, residuals, self.directions[-1][None], self.images[-1][None])
        raise NotConverged(f"linear response of the uniform theory: off by {sizes[worst]:.1e}")

    def _project(self, xs: Floats, residuals: Floats, directions: Floats, images: Floats) -> None:
        """Take the images off the residuals, in place."""
        share = residuals @ images.T
        xs += share @ directions
        residuals -= share @ images
