"""Inputs have the moments their law says; streams do not depend on sizes."""

import re
from pathlib import Path

import numpy as np
import pytest

import onegrad as og
from onegrad.arrays import get_ops
from onegrad.networks.one_network import network_of
from onegrad.networks.sampling import RowSet, Sampler
from onegrad.networks.streams import Purpose
from onegrad.problem import INPUT_LAWS
from onegrad.studies.measures.as_printed import label_direction

D = 6


def rows(n, seed=0, purpose=Purpose.RIDGE, **fields):
    p = og.Problem(**({"n": n, "d": D, "N": 5} | fields))
    network = network_of(p, seed)
    parts = list(network.sampler.blocks(RowSet(purpose, n)))
    X = np.concatenate([r.X[0] for r in parts])
    y = np.concatenate([r.y[0] for r in parts])
    return X, y, network


def test_mean_zero_and_the_covariance_of_the_law():
    n = 40_000
    k = np.arange(1, D + 1) ** -1.5
    expected = {
        **dict.fromkeys(("gaussian", "rademacher", "uniform", "student-t(8)"), np.ones(D)),
        "power-law(1.5)": np.sort(k / k.mean()),
        "spiked(4)": np.array([1, 1, 1, 1, 1, 5.0]),
        "mixture(1.5)": np.array([1, 1, 1, 1, 1, 1 + 1.5**2]),
    }
    for law, eigenvalues in expected.items():
        X, _, _ = rows(n, inputs=law)
        S = X.T @ X / n
        assert np.abs(X.mean(0)).max() < 6 * np.sqrt(S.max() / n), law
        # eigenvalues of a sample spread by 2 sqrt(D/n) = 2.4 %, long tails by half as much more
        np.testing.assert_allclose(np.linalg.eigvalsh(S), eigenvalues, rtol=0.04, err_msg=law)


def test_the_mean_variance_of_every_law_is_the_documented_one():
    """tr(Sigma)/d, as the page about simulations says it."""
    page = (Path(__file__).parents[2] / "docs" / "simulation.md").read_text(encoding="utf-8")
    _, _, table = page.partition("| inputs | law | tr(Σ)/d |\n")
    table = table.partition("\n\n")[0]
    for name, parameter in INPUT_LAWS.items():
        # Student's default has a fourth moment, so that there is an error
        value = None if parameter is None else max(parameter.default, 1.5)
        inputs = name if value is None else f"{name}({value})"
        squares = (rows(10_000, inputs=inputs)[0] ** 2).mean(1)
        se = squares.std(ddof=1) / np.sqrt(len(squares))
        ((letter, formula),) = re.findall(rf"`{name}(?:\((.)\))?`.* \| (\S+.*) \|$", table, re.M)
        expected = eval(formula.replace("²", "**2"), {letter: value, "d": D})
        assert abs(squares.mean() - expected) < 4 * se + 1e-12, inputs


def test_entries_have_the_distribution_of_their_law():
    """Kolmogorov and Smirnov's distance, which a scale off by 5 % takes beyond the limit."""
    import scipy.stats

    for law, exact in {
        "gaussian": scipy.stats.norm(),
        "uniform": scipy.stats.uniform(-np.sqrt(3), 2 * np.sqrt(3)),
        "student-t(8)": scipy.stats.t(8, scale=np.sqrt(6 / 8)),
    }.items():
        x = rows(15_000, inputs=law)[0].ravel()
        limit = 1.95 / np.sqrt(len(x))  # passed by one sample in a thousand
        assert scipy.stats.kstest(x, exact.cdf).statistic < limit, law
        assert scipy.stats.kstest(1.05 * x, exact.cdf).statistic > limit, law
    assert set(np.unique(rows(1000, inputs="rademacher")[0])) == {-1, 1}


def test_the_inputs_direction_has_the_cosine_asked_for():
    for law in ("spiked(30)", "mixture(5)"):
        X, _, network = rows(4000, 1, Purpose.STEP, d=10, inputs=law, input_overlap=0.6)
        top = np.linalg.svd(X, full_matrices=False)[2][0]
        star = network.sampler.beta_star[0, :, 0]
        assert abs(top @ star) == pytest.approx(0.6, abs=0.03), law


def test_a_smaller_n_sees_the_first_rows():
    few, y_few, _ = rows(700, noise=0.5)
    many, y_many, _ = rows(2500, noise=0.5)
    np.testing.assert_array_equal(few, many[:700])
    np.testing.assert_allclose(y_few, y_many[:700], rtol=1e-12)


def test_seeds_and_purposes_are_independent():
    n = 4000
    parts = [
        rows(n, seed, purpose)[0].ravel()
        for seed in (0, 1)
        for purpose in (Purpose.STEP, Purpose.RIDGE)
    ]
    correlation = np.corrcoef(parts)[np.triu_indices(4, 1)]
    assert np.abs(correlation).max() < 5 / np.sqrt(n * D)


def test_label_noise_has_its_variance_and_corruption_its_fraction():
    n = 40_000
    _, clean, _ = rows(n)
    for law in ("gaussian", "student-t(6)"):
        _, noisy, _ = rows(n, noise=0.7, noise_law=law)
        assert np.var(noisy - clean) == pytest.approx(0.49, rel=0.05)
    _, corrupted, _ = rows(n, corrupted=0.2)
    changed = corrupted != clean
    assert changed.mean() == pytest.approx(0.2, abs=0.01)
    assert abs(np.corrcoef(corrupted[changed], clean[changed])[0, 1]) < 0.06
    assert np.var(corrupted) == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize("law", ["gaussian", "student-t(5)", "spiked(8)", "mixture(3)", "rows"])
def test_a_corrupted_label_is_that_of_another_row(law):
    """All quantiles are those of the clean labels, the index of which is not standard normal."""
    n = 20_000
    options = {"n": n, "d": D, "N": 5, "teacher": "x^3"}
    if law != "rows":
        options |= {"inputs": law, "input_overlap": 0.9 * (law[0] in "sm")}
    data = np.random.default_rng(0).exponential(size=(3 * n, D)) if law == "rows" else None
    labels = []
    for q in (0.0, 0.3):
        p = og.Problem(**options, corrupted=q)
        sampler = Sampler.of(p, (0,), get_ops(), data=data)
        labels.append(np.concatenate([b.y[0] for b in sampler.blocks(RowSet(Purpose.RIDGE, n))]))
    clean, corrupted = labels
    changed = corrupted != clean
    assert changed.mean() == pytest.approx(0.3, abs=0.02)
    u = np.cbrt(labels)  # the index
    assert abs(np.corrcoef(u[0][changed], u[1][changed])[0, 1]) < 5 / np.sqrt(changed.sum())
    # Kolmogorov and Smirnov's distance, passed by one pair of samples in a thousand
    import scipy.stats

    limit = 1.95 * np.sqrt(1 / changed.sum() + 1 / n)
    assert scipy.stats.ks_2samp(u[1][changed], u[0]).statistic < limit


def test_the_network_is_scaled_as_documented():
    _, _, network = rows(10, d=500, N=400)
    W, teacher = network.W[0], network.sampler.beta_star[0]
    assert np.mean(W**2) * 500 == pytest.approx(1, abs=4 * np.sqrt(2 / W.size))
    np.testing.assert_allclose(np.linalg.norm(teacher), 1, rtol=1e-12)
    _, _, wide = rows(10, d=2, N=40_000)
    assert np.sum(wide.a[0] ** 2) == pytest.approx(1, abs=4 * np.sqrt(2 / 40_000))
    _, _, sphere = rows(10, d=500, N=400, weights="sphere", readout="rademacher")
    np.testing.assert_allclose(np.linalg.norm(sphere.W[0], axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.abs(sphere.a[0]), 1 / 20, rtol=1e-12)
    _, _, uniform = rows(10, d=2, N=40_000, readout="uniform")
    g = np.sqrt(40_000) * uniform.a[0]
    assert np.abs(g).max() <= np.sqrt(3)
    assert np.mean(g**2) == pytest.approx(1, abs=4 * np.sqrt(0.8 / 40_000))  # E g^4 = 9/5
    _, _, several = rows(10, d=9, teacher="H1@1*H1@3")
    teacher = several.sampler.beta_star[0]
    np.testing.assert_allclose(teacher.T @ teacher, np.eye(3), atol=1e-12)


def test_pairs_cancel():
    _, _, network = rows(10, d=7, N=12, paired=True, readout="uniform", residual="full")
    W, a = network.W[0].reshape(2, 6, 7), network.a[0].reshape(2, 6)
    np.testing.assert_array_equal(W[0], W[1])
    np.testing.assert_array_equal(a[0], -a[1])
    assert len(np.unique(a)) == 12
    # the output is zero: the residual is the label
    np.testing.assert_allclose(network.first.beta, label_direction(network.sampler), atol=1e-15)
    with pytest.raises(og.InvalidInput, match="N must be even with paired neurons; got 13"):
        og.Problem(n=10, d=7, N=13, paired=True)


def test_a_users_rows_are_each_used_once():
    data = np.arange(90 * D, dtype=float).reshape(90, D)
    p = og.Problem(n=30, d=D, N=5, n_step=20, eta=1.0)
    sampler = Sampler.of(p, (0,), get_ops(), data=data)
    seen = [
        r.X[0]
        for purpose, n in ((Purpose.STEP, 20), (Purpose.RIDGE, 30), (Purpose.TEST, 40))
        for r in sampler.blocks(RowSet(purpose, n))
    ]
    np.testing.assert_array_equal(np.sort(np.concatenate(seen)[:, 0]), data[:, 0])
