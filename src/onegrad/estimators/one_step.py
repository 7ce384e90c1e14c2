r"""One gradient step on the first layer with a random readout, as in the papers.

.. math:: W = W_0 + \eta\,G, \qquad
          G = \frac1n \sum_i \big[(A\,r_i)\odot\sigma'(W_0 z_i + b)\big] z_i^\top,
          \qquad A_{jk} \sim N(0, 1/N)

with the residual r = y, or y minus the initial output. The step is eta itself, c n^alpha, or chosen
on held-out rows among multiples of |W_0| / |G|.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from onegrad.arrays import Floats
from onegrad.estimators.lesson import Draw, Lesson, Trial, data_biases, try_layer
from onegrad.functions.function import Function
from onegrad.layers.layer import BLOCK_ROWS, Layer, Scaling, clipped

RELATIVE_STEPS = (0.0, 0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True)
class Recipe:
    """What is fixed before the step: the draw, the readout A (N, K), how features are made."""

    draw: Draw
    readout: Floats
    scaling: Scaling
    activation: Function
    bound: float
    skip: bool
    biases: bool
    residual: str
    intercept: bool

    def layer(self, lesson: Lesson, W: Floats) -> Layer:
        b = data_biases(W, lesson, self.draw.place, self.bound) if self.biases else np.zeros(len(W))
        return Layer(self.scaling, W, b, self.activation, self.skip, self.bound)

    def untrained(self, lesson: Lesson) -> Layer:
        """Rows N(0, I/d)."""
        return self.layer(lesson, self.draw.W0 / np.sqrt(self.draw.W0.shape[1]))


def gradient(lesson: Lesson, recipe: Recipe, layer: Layer) -> Floats:
    """(N, d) minus the gradient of half the mean squared loss."""
    w = lesson.update.w
    offset = (w @ lesson.update.t) / w.sum() if recipe.intercept else 0.0
    G: Floats = np.zeros_like(layer.W)
    for rows in lesson.update.blocks():
        h = layer.preactivations(rows.z)
        r = rows.t - offset
        if recipe.residual == "full":
            r = r - layer.activation(h) @ recipe.readout
        slopes = layer.activation.derivative(h)
        G += ((r * rows.w[:, None]) @ recipe.readout.T * slopes).T @ clipped(rows.z, layer.bound)
    G /= w.sum()
    return G


def learn(lesson: Lesson, recipe: Recipe, eta: float | None, ridge: float | None) -> list[Trial]:
    """A trial for each step that is tried: eta where given, else multiples of |W_0| / |G|."""
    layer = recipe.untrained(lesson)
    G = gradient(lesson, recipe, layer)
    length = float(np.linalg.norm(G))
    unit = float(np.linalg.norm(layer.W)) / length if length > 0 else 0.0
    if eta is not None:
        etas = [eta]
    elif len(lesson.held) and unit > 0:
        etas = [step * unit for step in RELATIVE_STEPS]
    else:
        etas = [unit]
    trials: list[Trial] = []
    for step in etas:
        moved = layer if step == 0 else recipe.layer(lesson, layer.W + step * G)
        trials.append(
            try_layer(
                lesson,
                moved,
                intercept=recipe.intercept,
                ridge=ridge,
                start=trials[-1].ridge if trials else 1e-3,
                label={
                    "eta": step,
                    "relative_step": step / unit if unit > 0 else 0.0,
                    "step_rows": len(lesson.update),
                },
            )
        )
    return trials


def shown(lesson: Lesson, untrained: Layer, like: Trial) -> Trial:
    """The untrained layer in the clothes of a trial, for the spectrum."""
    return replace(like, layer=untrained.with_grid(untrained.of_scaled(lesson.fit.z[:BLOCK_ROWS])))
