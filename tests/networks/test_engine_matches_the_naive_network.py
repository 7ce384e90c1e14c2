"""The engine against definitions written out row by row, on the engine's own random numbers."""

import numpy as np
import pytest

import naive
import onegrad as og
from onegrad.networks import simulate
from onegrad.networks.one_network import network_of
from onegrad.networks.sampling import RowSet
from onegrad.networks.streams import Purpose

ETAS, RIDGES, N_TEST = (0.7, 2.0), (0.01, 0.5), 37

VARIANTS = {
    "tall": {"n": 41, "d": 7, "N": 12},
    "wide": {"n": 13, "d": 7, "N": 30},
    "full residual": {"n": 40, "d": 6, "N": 11, "residual": "full", "activation": "softplus:raw"},
    "intercept": {"n": 40, "d": 6, "N": 11, "intercept": True, "activation": "relu:raw"},
    "wide intercept": {"n": 14, "d": 6, "N": 25, "intercept": True},
    "own step rows": {"n": 40, "d": 6, "N": 11, "n_step": 23, "readout": "constant"},
    "same rows": {"n": 40, "d": 6, "N": 11, "ridge_rows": "same", "weights": "sphere"},
    "two steps": {"n": 30, "d": 5, "N": 8, "steps": 2, "residual": "full"},
    "two steps, one batch": {"n": 30, "d": 5, "N": 8, "steps": 2, "batches": "same"},
    "several indices": {"n": 40, "d": 6, "N": 11, "teacher": "H1@1*H1@2 + H2@3"},
    "corrupted": {"n": 40, "d": 6, "N": 11, "corrupted": 0.4, "noise_law": "student-t(4)"},
    "steps of several sizes": {"n": 30, "d": 5, "N": 8, "steps": 3, "later_alpha": "0.1,0.3"},
    "part of the output": {"n": 40, "d": 6, "N": 11, "residual": "mean-field"},
    "preconditioned": {"n": 40, "d": 6, "N": 11, "update": "preconditioned", "steps": 2},
    "spectral": {"n": 40, "d": 6, "N": 11, "update": "spectral"},
    "less the mean": {"n": 40, "d": 6, "N": 11, "labels": "centred"},
    "less moments": {"n": 40, "d": 6, "N": 11, "labels": "residual-linear", "activation": "relu"},
    "less a fit": {"n": 40, "d": 6, "N": 11, "labels": "residual-least-squares"},
    "of least norm": {"n": 40, "d": 16, "N": 11, "n_step": 9, "labels": "residual-least-squares"},
    "mixture": {"n": 40, "d": 6, "N": 11, "inputs": "mixture(2)", "readout": "rademacher"},
    "other rows' labels": {"n": 40, "d": 6, "N": 11, "inputs": "student-t(5)", "corrupted": 0.4},
    "decay": {"n": 40, "d": 6, "N": 11, "weight_decay": 0.3, "readout": "uniform"},
    "pairs": {"n": 30, "d": 5, "N": 8, "paired": True, "residual": "full"},
    "pairs, steps that decay": {"n": 30, "d": 5, "N": 8, "paired": True, "residual": "full"}
    | {"steps": 2, "weight_decay": 0.1},
}


def problem_of(name):
    return og.Problem(**({"noise": 0.3, "teacher": "H1 + H2/2", "eta": 1.0} | VARIANTS[name]))


def data(problem, purpose, n, index=0):
    parts = list(network_of(problem, 3).sampler.blocks(RowSet(purpose, n, index)))
    return [np.concatenate([getattr(r, k)[0] for r in parts]) for k in ("X", "y", "clean")]


def assert_same_errors(errors, at, p, lam, F, y, F_test, clean, rel):
    """Check the errors of seed 3 at a position of the grid against ridge by least squares."""
    a_hat, c = naive.ridge(F, y, lam, p.intercept)
    train, loss = naive.objective(F, y, lam, a_hat, c)
    risk = np.mean((clean - F_test @ a_hat - c) ** 2)
    loo = naive.leave_one_out(F, y, lam, p.intercept)
    expected = {"train": train, "squared_loss": loss, "risk": risk, "leave_one_out": loo}
    for name, value in (expected | {"test": risk + p.noise**2}).items():
        # differences of nearly equal numbers lose a digit more
        loses_digits = name in ("squared_loss", "leave_one_out")
        tolerance = max(rel, 1e-8) if loses_digits else rel
        assert getattr(errors, name).values[(0, *at)] == pytest.approx(value, rel=tolerance), name


@pytest.mark.parametrize("name", VARIANTS)
def test_errors_match(name):
    p = problem_of(name)
    network = network_of(p, 3)
    W_0, a = network.W[0], network.a[0]
    errors = simulate(p, [3], n_test=N_TEST, leave_one_out=True, eta=ETAS, ridge=RIDGES)
    purpose = Purpose.STEP if p.ridge_rows == "same" else Purpose.RIDGE
    drawn = p.replace(labels="plain")
    X, y, _ = data(drawn, Purpose.STEP, p.n_step)
    mean, beta = naive.fit_of_labels(X, y, p.labels)
    X_tilde, y_tilde, _ = data(drawn, purpose, p.n)
    X_test, _, clean = data(drawn, Purpose.TEST, N_TEST)
    y_tilde, clean = y_tilde - mean - X_tilde @ beta, clean - mean - X_test @ beta
    scale = {"labels": 0.0, "full": 1.0, "mean-field": p.N**-0.5}[p.residual]
    for i, eta in enumerate(ETAS):
        W, sizes = W_0, (eta, *p.replace(eta=eta).later_sizes)
        for step in range(p.steps):
            size = sizes[min(step, len(sizes) - 1)]
            batch = step if p.batches == "fresh" else 0
            X, y, _ = data(drawn, Purpose.STEP, p.n_step, batch)
            y = y - mean - X @ beta
            G = naive.gradient(X, y, W, a, p.sigma, p.sigma.derivative, scale)
            W = (1 - p.weight_decay) * W + size * naive.direction(G, X, p.update)
        F, F_test = p.sigma(X_tilde @ W.T), p.sigma(X_test @ W.T)
        for j, lam in enumerate(RIDGES):
            assert_same_errors(errors, (i, j), p, lam, F, y_tilde, F_test, clean, rel=1e-9)


def test_each_step_has_its_own_size_and_the_last_is_kept():
    small = {"n": 90, "d": 20, "N": 30}
    problem = og.Problem(**small, alpha=[0.3, 0.2, 0.4])
    assert (problem.steps, problem.alpha, problem.later_alpha) == (3, 0.3, "0.2,0.4")
    assert problem.later_sizes == (90**0.2, 90**0.4)
    assert problem.replace(steps=2).later_sizes == (90**0.2,)
    assert problem.replace(steps=1).later_sizes == ()
    assert og.Problem(**small, alpha=0.3, later_alpha="0.1", steps=4).later_sizes == (90**0.1,)
    assert og.Problem(**small, alpha=0.3, later_alpha=0.1, steps=2).later_alpha == "0.1"
    assert og.Problem(**small, alpha=0.3, steps=3).later_sizes == (90**0.3,)
    with pytest.raises(og.InvalidInput, match="later_alpha must be a finite number"):
        og.Problem(**small, alpha=0.3, steps=2, later_alpha="0.1,x")


def test_the_gradient_is_minus_the_derivative_of_the_loss():
    p = og.Problem(n=9, d=4, N=5, activation="erf", residual="full", eta=1.0)
    network = network_of(p, 0)
    G = network.first.G[0]
    (rows,) = network.sampler.blocks(RowSet(Purpose.STEP, p.n))
    X, y, a = rows.X[0], rows.y[0], network.a[0]

    def loss(W):
        return np.sum((y - p.sigma(X @ W.T) @ a) ** 2) / (2 * p.n)

    step = 1e-6
    for j, k in ((0, 0), (3, 2), (4, 3)):
        E = np.zeros((p.N, p.d))
        E[j, k] = step
        W = network.W[0]
        assert G[j, k] == pytest.approx(-(loss(W + E) - loss(W - E)) / (2 * step), rel=1e-6)


def test_overlap_is_the_part_of_the_learned_direction_in_the_teachers_span():
    p = og.Problem(n=50, d=8, N=10, noise=0.2, eta=1.0, teacher="H1@1 + H2@2")
    sampler = network_of(p, 1).sampler
    (rows,) = sampler.blocks(RowSet(Purpose.STEP, p.n))
    beta = rows.X[0].T @ rows.y[0]
    inside = sampler.beta_star[0].T @ beta
    expected = np.linalg.norm(inside) / np.linalg.norm(beta)
    assert simulate(p, [1]).overlap.values[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("sizes", "intercept"),
    [({"n": 40, "d": 6, "N": 11}, False), ({"n": 12, "d": 6, "N": 25}, True)],
)
@pytest.mark.parametrize("model", ["ntk", "inner-product-kernel", "rbf-kernel", "linear"])
def test_kernels_match(model, sizes, intercept):
    p = og.Problem(**sizes, noise=0.3, intercept=intercept, activation="relu")
    network = network_of(p, 3)
    W, a = network.W[0], network.a[0]
    X, y, _ = data(p, Purpose.RIDGE, p.n)
    Y, _, clean = data(p, Purpose.TEST, N_TEST)
    Z = np.concatenate([X, Y])
    if model == "ntk":  # the tangent features themselves, scaled by sqrt(N/d)
        tangent = [(a[:, None] * p.sigma.derivative(W @ z)[:, None] * z).ravel() for z in Z]
        F = np.sqrt(p.N / p.d) * np.array(tangent)
    elif model == "linear":
        F = Z
    else:
        terms = np.cumprod([1.0, *range(1, 12)]) * p.sigma.c[:12] ** 2
        series = [p.sigma.second_moment - terms.sum(), *terms[::-1]]  # the tail in one power

        def k(u, v):
            if model == "rbf-kernel":
                return np.exp(-np.sum((u - v) ** 2) / (2 * p.d))
            return np.polyval(series, u @ v / p.d)

        F = naive.kernel_features(p.N * np.array([[k(u, v) for v in Z] for u in Z]))
    F, F_test = F[: p.n], F[p.n :]
    errors = simulate(p, [3], model=model, n_test=N_TEST, leave_one_out=True, ridge=RIDGES)
    for j, lam in enumerate(RIDGES):
        assert_same_errors(errors, (j,), p, lam, F, y, F_test, clean, rel=1e-6)
