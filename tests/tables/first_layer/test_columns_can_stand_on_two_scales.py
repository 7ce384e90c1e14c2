"""Standard and robust scales, side by side; gradients by column count what all copies do."""

import numpy as np

from onegrad.functions import resolve_activation
from onegrad.tables.first_layer.layer import Layer, gradient_outer_product
from onegrad.tables.first_layer.scaling import SQUASH, ScaledRows, Scaling, weighted_quantiles

RNG = np.random.default_rng(0)
X = RNG.standard_normal((500, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1000.0]
ONES = np.ones(len(X))


def test_values_far_outside_do_not_set_the_scale():
    far = X.copy()
    far[:3, 0] = 1e9
    standard, robust = Scaling.standard(far, ONES, 20.0), Scaling.robust(far, ONES)
    inside = slice(3, None)
    assert standard(far)[inside, 0].std() < 1e-3
    np.testing.assert_allclose(robust(far)[inside, 0], Scaling.robust(X, ONES)(X)[inside, 0], 0.1)
    assert np.abs(robust(far)).max() <= SQUASH


def test_the_bulk_is_on_both_scales_alike():
    z, u = Scaling.standard(X, ONES, 20.0)(X), Scaling.robust(X, ONES)(X)
    middle = np.abs(z) < 0.5
    np.testing.assert_allclose(u[middle], z[middle], atol=0.15)


def test_a_weight_is_as_good_as_repeating_the_row():
    w = RNG.integers(1, 4, len(X)).astype(float)
    repeated = Scaling.robust(X.repeat(w.astype(int), 0), np.ones(int(w.sum())))
    for a, b in zip(Scaling.robust(X, w).arrays, repeated.arrays, strict=True):
        np.testing.assert_array_equal(a, b)
    quantiles = weighted_quantiles(X, ONES, (0.5,))
    np.testing.assert_array_equal(quantiles[0], np.sort(X, 0)[249])


def test_constants_and_extremes_are_numbers():
    for size in (1e-200, 1e290):
        x = np.column_stack([X[:, 0] * size, np.ones(len(X)), (X[:, 1] > 20) * 1.0])
        z = Scaling.robust(x, ONES)(x)
        assert np.isfinite(z).all() and (z[:, 1] == 0).all()
        assert z[:, 0].std() > 0.5
        assert len(np.unique(z[:, 2])) == len(np.unique(x[:, 2]))


def test_copies_are_the_scales_they_came_from():
    parts = Scaling.standard(X, ONES, 20.0), Scaling.robust(X, ONES)
    both = parts[0] + parts[1]
    assert (both.columns, both.copies) == (3, 2)
    np.testing.assert_array_equal(both(X), np.concatenate([p(X) for p in parts], 1))
    for number, part in enumerate(parts):
        np.testing.assert_array_equal(both.copy_number(number)(X), part(X))


def test_slopes_and_the_metric_by_column_are_those_of_finite_differences():
    both = Scaling.standard(X, ONES, 20.0) + Scaling.robust(X, ONES)
    h = 1e-6 * both.scale[:3]
    change = (both(X + h) - both(X - h)) / 2e-6
    np.testing.assert_allclose(both.slopes(both(X)), change, rtol=1e-4, atol=1e-6)

    W, b = RNG.standard_normal((20, 6)), RNG.standard_normal(20)
    layer = Layer(both, W, b, resolve_activation("tanh"), True)
    a = RNG.standard_normal((26, 2))
    rows = ScaledRows(both(X), np.zeros((len(X), 2)), ONES)
    M = gradient_outer_product(rows, (layer, a), by_column=True)
    g = np.stack([(layer(X + e) - layer(X - e)) @ a / 2e-6 for e in np.diag(h)], 2)
    np.testing.assert_allclose(M, np.einsum("nki,nkj->ij", g, g) / len(X), rtol=1e-3)
