"""Inputs have the moments their law says; streams do not depend on sizes."""

import numpy as np
import pytest

import onegrad as og
from onegrad.arrays import backend
from onegrad.networks.network import Network
from onegrad.networks.sampling import Role, Sampler

D = 6


def rows(n, seed=0, role=Role.RIDGE, **fields):
    p = og.Problem(**({"n": n, "d": D, "N": 5} | fields))
    sampler = Sampler(p, (seed,), backend())
    network = Network.of(sampler)
    parts = list(sampler.rows(role, n))
    X = np.concatenate([r.X[0] for r in parts])
    y = np.concatenate([r.y[0] for r in parts])
    return X, y, network


LAWS = ["gaussian", "rademacher", "uniform", "student-t(8)", "power-law(1.5)", "spiked(4)"]


@pytest.mark.parametrize("law", [*LAWS, "mixture(1.5)"])
def test_mean_zero_and_the_covariance_of_the_law(law):
    n = 40_000
    X, _, _ = rows(n, inputs=law)
    S = X.T @ X / n
    assert np.abs(X.mean(0)).max() < 6 * np.sqrt(S.max() / n)
    values = np.linalg.eigvalsh(S)
    k = np.arange(1, D + 1) ** -1.5
    expected = {
        "power-law(1.5)": np.sort(k / k.mean()),
        "spiked(4)": np.array([1, 1, 1, 1, 1, 5.0]),
        "mixture(1.5)": np.array([1, 1, 1, 1, 1, 1 + 1.5**2]),
    }.get(law, np.ones(D))
    np.testing.assert_allclose(values, expected, rtol=0.08)


def test_laws_have_their_own_shapes():
    kurtosis = {law: np.mean(rows(40_000, inputs=law)[0][:, 0] ** 4) for law in LAWS[:4]}
    assert kurtosis["rademacher"] == 1
    assert kurtosis["uniform"] == pytest.approx(1.8, abs=0.05)
    assert kurtosis["gaussian"] == pytest.approx(3, abs=0.2)
    assert kurtosis["student-t(8)"] > 3.6  # 4.5 in the limit


def test_a_smaller_n_sees_the_first_rows():
    few, y_few, _ = rows(700, noise=0.5)
    many, y_many, _ = rows(2500, noise=0.5)
    np.testing.assert_array_equal(few, many[:700])
    np.testing.assert_allclose(y_few, y_many[:700], rtol=1e-12)


def test_seeds_and_roles_are_independent():
    n = 4000
    parts = [rows(n, seed, role)[0].ravel() for seed in (0, 1) for role in (Role.STEP, Role.RIDGE)]
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


def test_the_network_is_scaled_as_documented():
    _, _, network = rows(10, d=500, N=400)
    W, a, teacher = network.W[0], network.a[0], network.sampler.teacher[0]
    assert np.mean(W**2) * 500 == pytest.approx(1, rel=0.02)
    assert np.sum(a**2) == pytest.approx(1, rel=0.3)
    np.testing.assert_allclose(np.linalg.norm(teacher), 1, rtol=1e-12)
    _, _, sphere = rows(10, d=500, N=400, weights="sphere", readout="rademacher")
    np.testing.assert_allclose(np.linalg.norm(sphere.W[0], axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.abs(sphere.a[0]), 1 / 20, rtol=1e-12)
    _, _, several = rows(10, d=9, teacher="H1@1*H1@3")
    teacher = several.sampler.teacher[0]
    np.testing.assert_allclose(teacher.T @ teacher, np.eye(3), atol=1e-12)


def test_a_users_rows_are_each_used_once():
    data = np.arange(90 * D, dtype=float).reshape(90, D)
    p = og.Problem(n=30, d=D, N=5, n_step=20, eta=1.0)
    sampler = Sampler(p, (0,), backend(), data)
    seen = [
        r.X[0]
        for role, n in ((Role.STEP, 20), (Role.RIDGE, 30), (Role.TEST, 40))
        for r in sampler.rows(role, n)
    ]
    np.testing.assert_array_equal(np.sort(np.concatenate(seen)[:, 0]), data[:, 0])
