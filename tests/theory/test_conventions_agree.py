"""One physical problem in each paper's parameters gives the same predictions."""

import numpy as np
import pytest

import onegrad as og
from onegrad.theory import evaluate_theory

ACTIVATIONS = ["tanh", "relu", "H1 + 0.4*H2 + 0.2*H3"]
ARRAYS = ("train", "test", "risk", "squared_loss", "eta", "ridge", "kernel_bound")


@pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
@pytest.mark.parametrize("theory", ["random-features", "small-step", "staircase"])
@pytest.mark.parametrize("seed", range(8))
def test_same_problem_same_prediction(seed, theory):
    rng = np.random.default_rng(seed)
    psi1, psi2 = rng.choice([0.5, 1.0, 2.0, 4.0]), rng.choice([0.5, 1.0, 1.5, 3.0])
    d, eta, noise = int(rng.integers(20, 400)), rng.uniform(0.05, 20), rng.uniform(0, 2)
    lam, activation = 10 ** rng.uniform(-4, 1), str(rng.choice(ACTIVATIONS))
    teacher = str(rng.choice(["H1", "H1 + H2/sqrt(2)", "relu:unit"]))
    shared = {"activation": activation, "teacher": teacher}
    ba = og.Problem.ba(d=2 * d, psi1=psi1, psi2=psi2, eta=eta, lam=lam, sigma_eps=noise, **shared)
    n, N = ba.n, ba.N
    moniri = og.Problem.moniri(
        n=n, phi=2 * d / n, psi=2 * d / N, c=eta, lam=lam, sigma_eps=noise,
        residual="labels", weights="gaussian", **shared,
    )  # fmt: skip
    # their step is eta/sqrt(p), their ridge lam n/p; the readout does not matter to these formulas
    cui = og.Problem.cui(
        d=2 * d, p=N, n0=n, n=n, eta=eta / N**0.5, lam=lam * n / N, sigma_eps=noise, **shared
    ).replace(readout="gaussian")  # fmt: skip
    plain = og.Problem(n=n, d=2 * d, N=N, ridge=lam, noise=noise, eta=eta, **shared)
    expected = evaluate_theory(plain, theory)
    for problem in (ba, moniri, cui):
        prediction = evaluate_theory(problem, theory)
        for name in ARRAYS:
            assert getattr(prediction, name) == pytest.approx(getattr(expected, name), rel=1e-9)


def test_wrong_conversions_would_be_seen():
    """The ridge and the step matter: were a factor lost, the numbers above would differ."""
    p = og.Problem(n=800, d=400, N=600, activation="relu", eta=2.0, noise=0.3)
    base = og.predict(p, theory="small-step").test
    for change in ({"ridge": 2e-2}, {"eta": 2.1}, {"noise": 0.31}, {"d": 410}, {"N": 610}):
        assert abs(og.predict(p.replace(**change), theory="small-step").test / base - 1) > 1e-3


def test_moniris_step_is_c_times_n_to_the_alpha():
    p = og.Problem.moniri(n=1000, phi=0.5, psi=0.625, c=2.0, alpha=0.3)
    assert p.eta == pytest.approx(2.0 * 1000**0.3)
    assert (p.d, p.N, p.residual, p.weights) == (500, 800, "full", "sphere")
