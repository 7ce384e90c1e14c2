"""A curve as figures draw it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from onegrad.arrays import Floats


@dataclass(frozen=True)
class Curve:
    """A quantity along an axis: positions, means, standard errors, and a theory's accuracy."""

    x: Floats
    y: Floats
    se: Floats
    band: Floats | None = None

    def divided(self, by: float) -> Curve:
        """The same curve with positions in units of `by`."""
        return replace(self, x=self.x / by)
