"""Width, searches, members and rounds that nobody asked for follow the rows and the budget."""

import numpy as np
import pytest

import onegrad as og
from naive import moments
from onegrad.parallel.cores import blas_threads
from onegrad.ridge import NormalEquations
from onegrad.tables.first_layer.alternating import SEARCH_ROWS, SEARCH_WIDTH, plan

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 3))
Y = np.abs(X[:, 0] - X[:, 1]) + 0.05 * RNG.standard_normal(150)


def sized(rows, budget="default", classes=0, **parameters):
    kind = og.AlternatingClassifier if classes else og.AlternatingRegressor
    return plan(kind(budget=budget, **parameters), rows, classes)


def test_width_follows_rows_and_classes():
    assert (sized(20).width, sized(20).searches) == (120, 1)
    assert sized(3000).width == 3 * SEARCH_WIDTH < sized(20_000).width
    for rows in (3000, 20_000):
        assert sized(rows, classes=2).width < sized(rows, classes=10).width
    assert sized(3000, "fast", classes=10) == sized(3000, "fast", classes=2)


def test_budgets_are_in_order_and_what_is_asked_for_is_given():
    fast, default, best = (sized(3000, budget) for budget in ("fast", "default", "best"))
    assert fast.width < default.width and fast.further < default.further
    assert best.members > default.members > fast.members == 1
    assert sized(500).members == 3
    assert sized(500, "fast").members == sized(500, width=100).members == 1
    for classes in (0, 2):
        size = sized(3000, classes=classes, width=1000, members=1, rounds=32)
        assert (size.width, size.searches, size.members) == (1000, 1, 1)
        assert size.rounds == 32
    assert sized(50, width=2000).width == 2000


def test_a_wide_layer_is_made_of_several_searches(monkeypatch):
    for name, width in (("SEARCH_WIDTH", 60), ("MAX_SINGLE_SEARCH", 100)):
        monkeypatch.setattr(f"onegrad.tables.first_layer.alternating.{name}", width)
    with blas_threads(1):  # searches one after the other
        model = og.AlternatingRegressor(130, rounds=1, random_state=0).fit(X, Y)
    (member,) = model.fitted_.members
    assert member.layer.W.shape == (130, 3)
    with blas_threads(2):
        again = og.AlternatingRegressor(130, rounds=1, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(again.fitted_.layers[0].W, member.layer.W)
    trials = model.fitted_.statistics.trials
    assert {t.get("search") for t in trials} == {0, 1, 2, None}
    first = next(t for t in trials if "search" not in t)
    assert len(first["round"]) == 3
    pooled = [t["score"] for t in trials if "search" not in t]
    assert model.held_out_loss_ == min(pooled)
    assert "130 neurons" in str(model.report())
    spectrum = model.spectrum_
    assert len(spectrum.learned) == 133
    assert (np.diff(spectrum.untrained) <= 0).all()


@pytest.mark.full
def test_noiseless_targets_are_searched_on_at_full_width():
    """As long as the error falls: more often than the rounds of a search with noise would allow."""
    model = og.AlternatingRegressor(1100, rounds=6, random_state=0)
    model.fit(X, X[:, 0] + X[:, 1] * X[:, 2])
    assert model.choice_["relative_ridge"] <= 1e-5
    pooled = [t for t in model.fitted_.statistics.trials if "search" not in t]
    assert len(pooled) > 1 + 6 // 2
    assert model.held_out_loss_ == min(t["score"] for t in pooled)


def test_leading_eigenvalues_are_the_leading_ones():
    F = RNG.standard_normal((300, 60)) * np.linspace(1, 3, 60)
    equations = NormalEquations.of(moments(F, Y[:, None].repeat(2, 0)[:300]))
    np.testing.assert_allclose(equations.eigenvalues(5), equations.eigenvalues()[:5], rtol=1e-9)


def test_patience_ends_rounds_that_do_not_help():
    """Noise: rounds do not help, and the sooner they end the fewer trials there are."""
    noise = RNG.standard_normal(150)
    settings = {"width": 30, "rounds": 12, "random_state": 0}
    models = [og.AlternatingRegressor(patience=patience, **settings) for patience in (1, 12)]
    few, many = (len(model.fit(X, noise).fitted_.statistics.trials) for model in models)
    assert few < many


@pytest.mark.full
def test_rounds_on_fewer_rows_than_the_sample(monkeypatch):
    """The search sees some rows of the sample, parts all of them."""
    X = RNG.standard_normal((1500, 6))
    parity = (X[:, 0] * X[:, 1] * X[:, 2] > 0).astype(int)
    monkeypatch.setitem(SEARCH_ROWS, "fast", 600)
    model = og.AlternatingClassifier(budget="fast", rounds=2, random_state=0).fit(
        X[:1200], parity[:1200]
    )
    assert model.choice_["held_out_rows"] == 240
    assert model.score(X[1200:], parity[1200:]) > 0.7
