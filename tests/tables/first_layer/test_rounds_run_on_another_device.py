"""The rounds of the alternating family make the same choices on torch as in NumPy."""

import numpy as np
import pytest

import onegrad as og
from onegrad.arrays import get_ops, to_numpy
from onegrad.functions import resolve_activation
from onegrad.ridge import NormalEquations
from onegrad.tables.first_layer.layer import Layer, gradient_outer_product
from onegrad.tables.first_layer.neurons import Neurons, NeuronSampler
from onegrad.tables.first_layer.scaling import ScaledRows, Scaling

pytestmark = pytest.mark.torch

RNG = np.random.default_rng(0)
Z, T = RNG.standard_normal((300, 5)), RNG.standard_normal((300, 2))
ROWS = ScaledRows(Z, T, RNG.uniform(1, 2, 300))


def test_sums_over_rows_are_the_same():
    W, b = RNG.standard_normal((40, 5)), RNG.standard_normal(40)
    host = Layer(Scaling.identity(5), W, b, resolve_activation("relu:raw"), True, 3.0)
    host, ops = host.with_grid(Z), get_ops("torch")
    there, rows = host.on(ops), ROWS.on(ops)
    expected, found = host.scaled_moments(ROWS), there.scaled_moments(rows)
    np.testing.assert_allclose(to_numpy(found.FtF), expected.FtF, rtol=1e-12, atol=1e-12)
    coef = RNG.standard_normal((45, 2))
    M = gradient_outer_product(rows, (there, ops.asarray(coef)))
    np.testing.assert_allclose(to_numpy(M), gradient_outer_product(ROWS, (host, coef)), rtol=1e-12)
    ours, theirs = (NormalEquations.of(m) for m in (expected, found))
    factor, other = ours.factor(0.1), theirs.factor(0.1)
    readout, same = ours.solve(0.1, factor), theirs.solve(0.1, other)
    assert isinstance(same.coef, np.ndarray)
    np.testing.assert_allclose(same.coef, readout.coef, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        theirs.removal_cost(same, other), ours.removal_cost(readout, factor), rtol=1e-9
    )
    np.testing.assert_allclose(theirs.eigenvalues(), ours.eigenvalues(), rtol=1e-9, atol=1e-12)


def test_the_same_entrants_win():
    entrants = Neurons(RNG.standard_normal((80, 5)), RNG.standard_normal(80))
    winners = [
        NeuronSampler(ROWS.z, ROWS.w, get_ops(device)).best_entrants(entrants, ROWS.t, 4)
        for device in ("cpu", "torch")
    ]
    np.testing.assert_array_equal(winners[0].W, winners[1].W)
    assert len(winners[0].W) == 20


def test_a_fit_makes_the_same_choices_up_to_rounding():
    """A kink lies on a row: rounding says on which side of it the row is, and moves the metric."""
    X = RNG.standard_normal((500, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    settings = {"width": 60, "rounds": 2, "members": 1, "random_state": 0}
    ours, theirs = (
        og.AlternatingRegressor(device=device, **settings).fit(X, y) for device in ("cpu", "torch")
    )
    a, b = (model.fitted_.statistics.choice for model in (ours, theirs))
    assert {k: a[k] for k in ("update", "round")} == {k: b[k] for k in ("update", "round")}
    difference = theirs.predict(X) - ours.predict(X)
    assert np.sqrt((difference**2).mean()) < 0.01 * np.std(y)
    assert b["held_out_score"] == pytest.approx(a["held_out_score"], rel=0.1)
