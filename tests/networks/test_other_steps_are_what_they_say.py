"""Later step sizes, labels without their linear part, other updates, turned input directions."""

from __future__ import annotations

import numpy as np
import pytest

import onegrad as og
from onegrad.networks import one_network
from onegrad.networks.input_rows import RowSet
from onegrad.networks.network import Network
from onegrad.networks.streams import Purpose

SMALL = {"n": 90, "d": 20, "N": 30, "activation": "relu", "teacher": "H1 + H2/2", "noise": 0.1}


def network_of(problem: og.Problem, seed: int = 3) -> Network:
    return one_network.network_of(problem, seed)


def weights_after(network: Network) -> np.ndarray:
    return network.trained_weights(network.sampler.problem.step)[0]


def batch(network: Network, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels of a step as they were drawn."""
    parts = list(
        network.sampler.blocks(RowSet(Purpose.STEP, network.sampler.problem.rows_of_step, index))
    )
    return np.concatenate([r.X[0] for r in parts]), np.concatenate([r.y[0] for r in parts])


def minus_gradient(W: np.ndarray, a: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return that of half the mean square of y alone, for ReLU; one row per neuron."""
    return (a[:, None] * (y[:, None] * (X @ W.T > 0)).T) @ X / len(y)


def test_each_step_has_its_own_size():
    problem = og.Problem(**SMALL, alpha=[0.3, 0.2, 0.4])
    assert (problem.steps, problem.alpha, problem.later_alpha) == (3, 0.3, "0.2,0.4")
    network = network_of(problem)
    W, a = network.W[0], network.a[0]
    for index, alpha in enumerate((0.3, 0.2, 0.4)):
        W = W + 90**alpha * minus_gradient(W, a, *batch(network, index))
    np.testing.assert_allclose(weights_after(network), W, rtol=1e-12, atol=1e-14)


def test_the_last_size_is_kept_on_and_without_any_the_first():
    assert og.Problem(**SMALL, alpha=0.3, later_alpha="0.1", steps=4).later_steps == (90**0.1,) * 3
    assert og.Problem(**SMALL, alpha=0.3, later_alpha=0.1, steps=2).later_alpha == "0.1"
    assert og.Problem(**SMALL, alpha=0.3, steps=3).later_steps == (90**0.3,) * 2


def test_a_later_exponent_that_is_no_number_is_refused():
    with pytest.raises(og.InvalidInput, match="later_alpha must be a finite number"):
        og.Problem(**SMALL, alpha=0.3, steps=2, later_alpha="0.1,x")


def least_squares(X, y):
    """Return constant and coefficients, of least norm where there are fewer rows than inputs."""
    beta = np.linalg.lstsq(X - X.mean(0), y - y.mean(), rcond=None)[0]
    return y.mean() - X.mean(0) @ beta, beta


FITS = {
    "centred": lambda X, y: (y.mean(), 0 * X[0]),
    "residual-linear": lambda X, y: (y.mean(), X.T @ y / len(y)),
    "residual-least-squares": least_squares,
}


@pytest.mark.parametrize("labels", FITS)
@pytest.mark.parametrize("n_step", [90, 12])
def test_all_labels_lose_the_mean_and_linear_fit_of_the_first_step(labels, n_step):
    problem = og.Problem(**SMALL, eta=2.0, n_step=n_step, labels=labels)
    network, plain = network_of(problem), network_of(problem.replace(labels="plain"))
    X, y = batch(plain, 0)
    mean, beta = FITS[labels](X, y)
    G = minus_gradient(network.W[0], network.a[0], X, y - mean - X @ beta)
    np.testing.assert_allclose(network.first.G[0], G, rtol=1e-10, atol=1e-14)
    for purpose in (Purpose.RIDGE, Purpose.TEST):
        rows = RowSet(purpose, 50)
        shifted, drawn = (next(iter(x.sampler.blocks(rows))) for x in (network, plain))
        off = mean + drawn.X[0] @ beta
        np.testing.assert_allclose(shifted.y[0], drawn.y[0] - off, atol=1e-12)
        np.testing.assert_allclose(shifted.clean[0], drawn.clean[0] - off, atol=1e-12)


def test_the_output_in_the_residual_has_its_scale():
    residuals = ("labels", "full", "mean-field")
    labels, full, scaled = (
        network_of(og.Problem(**SMALL, eta=2.0, residual=name)).first.G for name in residuals
    )
    share = 1 / np.sqrt(SMALL["N"])
    np.testing.assert_allclose(scaled, labels + share * (full - labels), rtol=1e-10, atol=1e-14)


def test_preconditioning_divides_by_the_covariance_of_the_rows():
    network = network_of(og.Problem(**SMALL, eta=2.0, update="preconditioned"))
    X, _ = batch(network, 0)
    S, G = X.T @ X / len(X), network.first.G[0]
    direction = G @ np.linalg.inv(S + 0.1 * np.trace(S) / 20 * np.eye(20))
    direction *= np.linalg.norm(G) / np.linalg.norm(direction)
    np.testing.assert_allclose(network.first_update[0], direction, rtol=1e-10, atol=1e-14)


def test_a_spectral_step_has_equal_singular_values_and_the_gradients_length():
    network = network_of(og.Problem(**SMALL, eta=2.0, update="spectral"))
    s = np.linalg.svd(network.first_update[0], compute_uv=False)
    np.testing.assert_allclose(s, s[0], rtol=1e-8)
    assert np.linalg.norm(s) == pytest.approx(np.linalg.norm(network.first.G[0]), rel=1e-12)


def test_the_inputs_direction_has_the_cosine_asked_for():
    for law in ("spiked(30)", "mixture(5)"):
        problem = og.Problem(n=4000, d=10, N=5, teacher="H1", inputs=law, input_overlap=0.6)
        sampler = network_of(problem, 1).sampler
        X = np.concatenate([r.X[0] for r in sampler.blocks(RowSet(Purpose.STEP, 4000))])
        top = np.linalg.svd(X, full_matrices=False)[2][0]
        assert abs(top @ sampler.beta_star[0, :, 0]) == pytest.approx(0.6, abs=0.03)


def test_theories_do_not_answer_for_other_steps_without_a_word():
    for field, value in (("steps", 3), ("update", "spectral")):
        fields = {"n": 400, "d": 200, "N": 300, "activation": "softplus", "alpha": 0.3}
        problem = og.Problem(**fields | {field: value})
        with pytest.raises(og.OutOfScope, match=field):
            og.predict(problem)
        with pytest.warns(og.AssumptionWarning, match=field):
            og.predict(problem, theory="staircase")
