"""The quadratic part of the labels singles out a direction: neurons that start along it are types.

Means and standard errors of (train, test) over 24 networks are those of settings 168, 72 and 132 of
benchmarks/settings/strong_settings.json, over 256 of 2036 of held_out_same.json, over 48 of two
steps (`og.simulate`). Allowed are 2 % and two standard errors.
"""

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.uniform.discretise import Nodes
from onegrad.theory.uniform.laws import neurons
from uniform_point import uniform_point

pytestmark = pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
STRONG = {
    "equal readouts": (
        og.Problem(n=1224, d=102, N=291, activation="silu", teacher="H2", noise=0.4, ridge=0.000598,
                   readout="constant", intercept=True, alpha=0.8),
        (0.705214, 1.26597), (0.0136, 0.0239),
    ),
    "normal readouts": (
        og.Problem(n=1572, d=131, N=313, activation="relu", teacher="H2", noise=0.4, ridge=0.0678,
                   alpha=0.56),
        (1.421, 1.85763), (0.0325, 0.0394),
    ),
    "same rows": (
        og.Problem(n=1416, d=118, N=331, activation="gelu", teacher="H2", noise=0.4, ridge=0.00495,
                   readout="rademacher", intercept=True, ridge_rows="same", alpha=0.69),
        (0.645973, 1.339), (0.013, 0.0297),
    ),
    "two steps": (
        og.Problem(n=600, d=100, N=150, activation="relu", teacher="H2", noise=0.3, ridge=0.02,
                   readout="rademacher", weights="sphere", alpha=0.45, steps=2, batches="same"),
        (1.2287, 2.0219), (0.0227, 0.0305),
    ),
    "two steps, same rows": (
        og.Problem(n=600, d=100, N=150, activation="gelu", teacher="H2", noise=0.3, ridge=0.02,
                   readout="constant", weights="sphere", ridge_rows="same", alpha=0.5, steps=2,
                   later_alpha="0.3", batches="same"),
        (0.8659, 2.0998), (0.0160, 0.0287),
    ),
}  # fmt: skip


@pytest.fixture
def types(monkeypatch):
    def allow(share):
        for name in ("MIN_SHARE_OFF_V", "MIN_SHARE_WITH_COVARIANCE"):
            monkeypatch.setattr(neurons, name, dict.fromkeys((True, False), share))
        monkeypatch.setattr(neurons, "MIN_SECOND_SHARE", -1.0)
        monkeypatch.setattr(neurons, "MIN_PART_OFF_V", -1.0)

    return allow


@pytest.mark.parametrize(
    "case", [pytest.param(k, marks=pytest.mark.full if "same" in k else ()) for k in STRONG]
)
def test_strong_steps_with_quadratic_labels_are_those_of_networks(case, types):
    problem, mean, se = STRONG[case]
    mean, allowed = np.array(mean), 2 * np.array(se) + 0.02 * np.array(mean)

    def off():
        prediction = og.predict(problem)
        return np.abs([prediction.train - mean[0], prediction.test - mean[1]])

    assert (off() < allowed).all()
    types(np.inf)
    assert (off() > 1.2 * allowed).any()


@pytest.mark.parametrize("readout", ["constant", "rademacher", "gaussian"])
@pytest.mark.parametrize("weights", ["sphere", "gaussian"])
@pytest.mark.parametrize("rows", ["fresh", "same"])
def test_types_change_nothing_without_a_step(readout, weights, rows, types):
    """Of order 1/d: nodes of the initial weight along any direction say what products of it do."""
    problem = og.Problem(
        n=1200, d=400, N=300, activation="silu", teacher="H2", noise=0.4, ridge=0.01, alpha=-3.0,
        readout=readout, weights=weights, ridge_rows=rows,
    )  # fmt: skip
    few = Nodes(residual=6, bins=6, index=1.3)
    types(np.inf)
    plain = uniform_point(problem, nodes=few)
    types(-1.0)
    with_types = uniform_point(problem, nodes=few)
    assert with_types.nodes[1] > plain.nodes[1]
    for kind in ("train", "test"):
        assert getattr(with_types, kind) == pytest.approx(getattr(plain, kind), rel=4e-3)


def test_large_readouts_may_turn_a_neuron_around():
    """What a row reads of a length had a pole where a neuron's own part vanishes: 43 % in train."""
    problem = og.Problem(
        n=1500, d=290, N=157, activation="H1 + H2/2", teacher="H1 + H2/2 + H3/6", noise=1.0,
        ridge=0.005460214251032638, weights="gaussian", residual="full", ridge_rows="same",
        alpha=0.5,
    )  # fmt: skip
    prediction = og.predict(problem)
    assert abs(prediction.train - 1.31262) < 3 * 0.00467
    assert abs(prediction.test - 2.32159) < 3 * 0.01196
