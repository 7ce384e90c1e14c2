"""A layer whose arrays are on another device: the same features, the same exact sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onegrad.arrays.backend import Array, Backend, namespace
from onegrad.layers.layer import Layer
from onegrad.layers.rows import row_blocks
from onegrad.layers.scaling import Scaling


class DeviceLayer(Layer):
    """Whole expressions instead of loops over memory that is warm already."""

    @classmethod
    def of(cls, layer: Layer, there: Backend) -> DeviceLayer:
        """The layer, on a device."""
        scaling, put = layer.scaling, there.asarray
        return cls(
            Scaling(put(scaling.centre), put(scaling.scale), scaling.bound),
            put(layer.W),
            put(layer.b),
            layer.activation,
            layer.skip,
            layer.bound,
            put(layer.step),
        )

    def of_scaled(self, z: Array) -> Array:
        h = self.activation(self.preactivations(z))
        return namespace(z).concatenate([z, h], 1) if self.skip else h

    def _blocks(self, z: Callable[[slice], Array], y: Array) -> Iterator[tuple[slice, Array]]:
        xp = namespace(y)
        for rows in row_blocks(len(y)):
            f = xp.round(self.of_scaled(z(rows)) / self.step)
            yield rows, xp.concatenate([f, y[rows], xp.ones_like(y[rows][:, :1])], 1)
