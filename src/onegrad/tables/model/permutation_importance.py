r"""Importance of columns: how much worse held-out rows are predicted when a column is permuted.

.. math:: I_c = \max\big(0,\ \overline{\ell(f(z_{\pi c}), t)} - \overline{\ell(f(z), t)}\big)

A column that the network uses in vain has none. Permuting the inputs J of a column changes the
preactivations by :math:`\Delta z_J W_J^\top`: all columns together cost as much as one prediction.
"""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from onegrad.arrays import Floats
from onegrad.ridge import Readout
from onegrad.tables.first_layer.layer import Layer
from onegrad.tables.first_layer.scaling import ScaledRows, Scaling, clip
from onegrad.tables.model.targets import NumericTargets, Targets
from onegrad.tables.parts.part import Part
from onegrad.tables.rows.encoding import Encoding

# The diagonal of the metric is no substitute: columns of text without a meaning had 9 % of it each,
# and a real effect 1 %.
MAX_WORK = 1e8  # rows times neurons times permutations that are computed
MAX_PERMUTED_ROWS = 1000  # rows of which each column is permuted
MIN_PERMUTED_ROWS = 30
NUMBERS_PER_NEURON = 25  # of a part that is computed anew, as costly as a neuron that is not
SHIFTS = (1 / 3, 2 / 3)  # rows are in the order of hashes: a shift is a random permutation


def permutation_importances(
    rows: ScaledRows,
    networks: Sequence[tuple[Layer, Readout]],
    columns: Iterable[Sequence[int]],
    targets: Targets,
    parts: Sequence[Part] = (),
    means_of: int = 1,
) -> Floats:
    """Return (columns,) importances that add up to one, or are zero where no column helps.

    Parameters
    ----------
    rows : scaled rows that no readout was fitted on.
    networks : first layers with their readouts, whose mean predicts; `parts` add to it.
    columns : the numbers of the inputs that each column becomes.
    targets : whose loss counts, of labels at the slope that is best for the rows as they are.
    means_of : how many such importances are averaged, each of which does a part of the work.
    """
    inputs = [list(numbers) for numbers in columns]
    neurons = sum(len(layer.W) for layer, _ in networks)
    neurons += sum(part.products_per_row for part in parts) // NUMBERS_PER_NEURON
    work = neurons * len(SHIFTS) * max(len(inputs), 1)
    most = min(MAX_WORK / work, MAX_PERMUTED_ROWS) / means_of
    rows = rows[: int(max(most, MIN_PERMUTED_ROWS))]
    preactivations = [layer.preactivations(rows.z) for layer, _ in networks]

    def predict(z: Floats, changed: list[int]) -> Floats:
        """Return the (m, K) predictions of rows that differ in some inputs alone."""
        predicted = []
        for (layer, readout), before in zip(networks, preactivations, strict=True):
            h = before
            if changed:
                now, then = (clip(each[:, changed], layer.bound) for each in (z, rows.z))
                h = before + (now - then) @ layer.W[:, changed].T
            skip = layer.width - len(layer.W)
            predicted.append(layer.activation(h) @ readout.coef[skip:] + readout.intercept)
            if skip:
                predicted[-1] = predicted[-1] + z[:, :skip] @ readout.coef[:skip]
        return sum((part(z) for part in parts), np.mean(predicted, axis=0))

    unchanged = predict(rows.z, [])
    if isinstance(targets, NumericTargets):
        losses = partial(targets.loss, target=rows.t, _w=rows.w)
    else:
        slope = targets.slope(unchanged, rows.t, rows.w)
        losses = partial(targets.log_loss, target=rows.t, slope=slope)

    def mean_loss(predicted: Floats) -> float:
        return float(rows.w @ losses(predicted) / rows.w.sum())

    loss_before = mean_loss(unchanged)
    importances = np.zeros(len(inputs))
    for column, numbers in enumerate(inputs):
        for share in SHIFTS:
            z = rows.z.copy()
            z[:, numbers] = np.roll(z[:, numbers], max(int(share * len(z)), 1), axis=0)
            importances[column] += max(mean_loss(predict(z, numbers)) - loss_before, 0.0)
    total = importances.sum()
    return importances / total if total > 0 else importances


def inputs_by_column(encoding: Encoding | None, scaling: Scaling) -> list[list[int]]:
    """Return the numbers of the scaled inputs that each column of X becomes, on all scales."""
    sizes = [1] * scaling.columns if encoding is None else [len(c.inputs) for c in encoding.columns]
    ends = np.cumsum(sizes).tolist()
    starts = [scale * scaling.columns for scale in range(scaling.copies)]
    ranges = (range(end - size, end) for size, end in zip(sizes, ends, strict=True))
    return [[start + j for start in starts for j in numbers] for numbers in ranges]
